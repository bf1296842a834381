"""Chooses and makes the kernel of a notebook that runs as a task."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: The kernel's name in every installation of ipykernel: it does not say which Python is meant.
NATIVE = "python3"
#: How the name of the kernel of an environment begins, and the variable with the generation that a task is pinned to.
OF_HAIENV = "haienv-"
PINNED = "HAIENV"
#: What another Python must have to run a notebook on behalf of this one.
_NEEDED = "import hai_client.notebook, nbclient, nbformat"


class NoKernel(Exception):
    """Nothing here can run the notebook; the message says why."""


def manager(metadata: Mapping[str, Any], folder: str, python: str | None) -> Any:
    """Return the manager of the notebook's kernel, with Unix sockets that other users cannot open.

    The kernel is the one that the notebook names, if it is installed. For `python3`, and for a kernel that is not
    installed here, it is a Python kernel.

    Args:
        metadata: The metadata of the notebook.
        folder: Folder for the sockets, with a short path, closed to other users.
        python: The Python program of the kernel; None: that of this process.

    Raises:
        NoKernel: The notebook is in another language than Python, and its kernel is not installed.
    """
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    native = KernelSpec(
        argv=[python or sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        display_name="Python",
        language="python",
    )

    class Specs(KernelSpecManager):
        """Those that are installed, and this Python."""

        def get_kernel_spec(self, kernel_name: str) -> Any:
            return native if kernel_name == NATIVE else super().get_kernel_spec(kernel_name)

    specs = Specs()
    name = str(metadata.get("kernelspec", {}).get("name") or NATIVE)
    if name != NATIVE and name not in specs.find_kernel_specs():
        language = _language(metadata)
        if language != "python":
            raise NoKernel(
                f"there is no kernel {name!r} here, and the notebook is not in Python but in {language}; install it"
            )
        said = _instead(name, native.argv[0])
        if said is not None:
            print(f"hai: {said}", flush=True)
        name = NATIVE
    # A path of a socket may have 107 characters, which Jupyter's own folder may exceed.
    return AsyncKernelManager(
        kernel_name=name,
        kernel_spec_manager=specs,
        transport="ipc",
        connection_file=str(Path(folder) / "kernel.json"),
    )


def _instead(name: str, program: str) -> str | None:
    """Return what to say about a kernel that is not installed here; None: the notebook runs in its environment.

    Args:
        name: The name of the kernel: that of an environment begins with `haienv-`.
        program: The Python that is taken instead.
    """
    pinned = os.environ.get(PINNED, "")
    if not name.startswith(OF_HAIENV):
        return f"the notebook names the kernel {name!r}, which is not installed here; it runs with {program}"
    if not pinned:
        return (
            f"the notebook names the kernel {name!r} of an environment, which this task does not use; it runs with"
            f" {program} (submit it with --environment NAME to run it there)"
        )
    # The name is that of the environment or, where that would be ambiguous, has a part of a digest at its end.
    plain = re.escape(pinned.partition("@")[0].replace("/", "-").lower())
    if re.fullmatch(rf"{OF_HAIENV}{plain}(-[0-9a-f]{{8}})?", name):
        return None
    return f"the notebook names the kernel {name!r}, and this task is pinned to {pinned}, which it runs with"


def _language(metadata: Mapping[str, Any]) -> str:
    said = metadata.get("kernelspec", {}).get("language") or metadata.get("language_info", {}).get("name")
    return str(said or "python").lower()


def run_elsewhere(arguments: Sequence[str]) -> None:
    """Become another Python of PATH that can run notebooks, and have it start this one as the kernel.

    Returns only where there is none: then nothing has happened.
    """
    seen = {os.path.normpath(sys.executable)}
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for name in ("python", "python3"):
            program = os.path.normpath(Path(folder) / name)
            if program in seen or not os.access(program, os.X_OK):
                continue
            seen.add(program)
            asked = subprocess.run([program, "-c", _NEEDED], stderr=subprocess.DEVNULL, check=False)
            if asked.returncode == 0:
                command = [program, "-m", "hai_client.notebook", *arguments, "--python", sys.executable]
                os.execv(program, command)  # noqa: S606 -- no shell is wanted
