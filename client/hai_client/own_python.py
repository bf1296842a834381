"""Finds the Python of a submission: an activated venv, conda environment or haienv, or the kernel of a notebook.

The variable HAI_VENV tells the platform its folder (`hai_client.pythons`). No program of it is started here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from hai_client.pythons import VENV, programs

#: The variable in which the haienv of the original HAI has the environment's name.
HAIENV = "HF_ENV_NAME"
#: A word in the command line of every Python kernel.
_KERNEL = b"ipykernel"
#: Most ancestors to look at: a shell in a cell is only a few processes below its kernel.
_MOST_ANCESTORS = 20


def variables(folder: str, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that make a task run in the environment of this folder."""
    env = os.environ if environ is None else environ
    told = {VENV: folder}
    if (Path(folder) / "conda-meta").is_dir():
        here = env.get("CONDA_DEFAULT_ENV", "") if env.get("CONDA_PREFIX") == folder else ""
        told.update(CONDA_PREFIX=folder, CONDA_DEFAULT_ENV=here or Path(folder).name)
    return told


def noticed(environ: Mapping[str, str] | None = None) -> str | None:
    """Return the folder of the environment that this process was called from; None for none, or the platform's.

    In a notebook (`!hai submit ...`) that is the environment of the kernel, elsewhere the activated one.
    """
    env = os.environ if environ is None else environ
    kernel = _python_of_kernel()
    if kernel is None:
        return active(env)
    return None if _is_platforms(kernel, env) else kernel


def active(environ: Mapping[str, str]) -> str | None:
    """Return the folder of the activated environment: of several, the one whose programs come first on PATH."""
    path = [os.path.normpath(part) for part in environ.get("PATH", "").split(os.pathsep) if part]
    named = [environ.get("VIRTUAL_ENV"), environ.get("CONDA_PREFIX")]
    if environ.get(HAIENV):
        named += [str(Path(part).parent) for part in path if (Path(part) / "python").exists()][:1]
    found = [folder for folder in named if folder and folder.startswith("/") and is_environment(folder)]
    # Ignore a variable whose folder is not on PATH: `python` is not the environment's then.
    places = {folder: os.path.normpath(programs(folder)) for folder in found}
    there = [folder for folder in found if places[folder] in path]
    return min(there, key=lambda folder: path.index(places[folder]), default=None)


def of_this_kernel() -> str | None:
    """Return the folder of this process's environment if this process is a notebook's kernel in one; else None."""
    if "ipykernel.kernelapp" not in sys.modules or not is_environment(sys.prefix):
        return None
    return None if _is_platforms(sys.prefix, os.environ) else sys.prefix


def is_environment(folder: str) -> bool:
    """Return whether a folder is a venv or a conda environment with a Python."""
    place = Path(folder)
    made = (place / "pyvenv.cfg").exists() or (place / "conda-meta").is_dir()
    return made and (Path(programs(folder)) / "python").exists()


def _is_platforms(folder: str, environ: Mapping[str, str]) -> bool:
    """Return whether the Hub has started the user's server from this environment: the user has not chosen it then."""
    return "JUPYTERHUB_SERVICE_PREFIX" in environ and (Path(programs(folder)) / "jupyterhub-singleuser").exists()


def _python_of_kernel() -> str | None:
    """Return the environment of the kernel among this process's ancestors; None: there is no such kernel."""
    pid = os.getppid()
    for _ in range(_MOST_ANCESTORS):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        if any(_KERNEL in word for word in words[1:4]):
            folder = str(Path(os.fsdecode(words[0])).parent.parent)
            return folder if folder.startswith("/") and is_environment(folder) else None
        # The program's name, in brackets, may hold brackets and spaces itself.
        pid = int(stat.rpartition(")")[2].split()[1])
        if pid <= 1:
            return None
    return None
