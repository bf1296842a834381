"""What makes a process use an environment: variables, for shells, runs and kernels."""

from __future__ import annotations

import os
import shlex
from typing import Mapping

from haienv.store.layout import Generation
from haienv.store.manifest import Manifest

#: The full name and the generation of the active environment: `users/ann/vision@7`.
ACTIVE = "HAIENV"
#: The variables of the original's haienv.
ORIGINAL_NAME, ORIGINAL_OWNER = "HF_ENV_NAME", "HF_ENV_OWNER"
#: Variables that are for another Python.
_FOREIGN = ("PYTHONHOME", "PYTHONPATH", "CONDA_PREFIX", "CONDA_DEFAULT_ENV")


def variables(generation: Generation, manifest: Manifest, own: Mapping[str, str], path: str) -> dict[str, str]:
    """Return the variables to set.

    Args:
        generation: The generation to use.
        manifest: Its manifest.
        own: The environment's own variables.
        path: PATH as it is.
    """
    first = str(generation.prefix / "bin")
    others = [part for part in path.split(os.pathsep) if part and part != first]
    name = manifest.name.rpartition("/")[2]
    return {
        **own,
        "PATH": os.pathsep.join([first, *others]),
        "VIRTUAL_ENV": str(generation.prefix),
        "VIRTUAL_ENV_PROMPT": name,
        ACTIVE: f"{manifest.name}@{manifest.generation}",
        ORIGINAL_NAME: name,
    }


def applied(environ: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a process in the environment."""
    return {**{name: value for name, value in environ.items() if name not in _FOREIGN}, **added}


def script(added: Mapping[str, str]) -> str:
    """Return lines for `eval` in bash, zsh or dash. Values are quoted; nothing of them is executed."""
    lines: list[str] = [f"unset {name}" for name in _FOREIGN]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in added.items()]
    return "\n".join([*lines, "hash -r 2>/dev/null || true"]) + "\n"
