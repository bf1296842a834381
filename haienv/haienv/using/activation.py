"""What makes a process use an environment: variables, for shells, runs and kernels."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Mapping

from haienv.store.manifest import Manifest

#: The full name and the generation of the active environment: `users/ann/vision@7`.
ACTIVE = "HAIENV"
#: The variables of the original's haienv.
ORIGINAL_NAME, ORIGINAL_OWNER = "HF_ENV_NAME", "HF_ENV_OWNER"
#: Variables that are for another Python.
_FOREIGN = ("PYTHONHOME", "PYTHONPATH", "CONDA_PREFIX", "CONDA_DEFAULT_ENV")


def variables(prefix: Path, manifest: Manifest, path: str, *, draft: bool = False) -> dict[str, str]:
    """Return the variables to set.

    Args:
        prefix: The Python environment: that of a generation, or of the draft.
        manifest: The manifest of the generation; of a draft, that of the generation that it was opened from.
        path: PATH as it is.
        draft: Whether it is the draft.
    """
    first = str(prefix / "bin")
    others = [part for part in path.split(os.pathsep) if part and part != first]
    name = manifest.name.rpartition("/")[2]
    return {
        **manifest.variables,
        "PATH": os.pathsep.join([first, *others]),
        "VIRTUAL_ENV": str(prefix),
        "VIRTUAL_ENV_PROMPT": name,
        ACTIVE: f"{manifest.name}@{'draft' if draft else manifest.generation}",
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
