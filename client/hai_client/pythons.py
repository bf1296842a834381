"""The user's own Python: the folder of a venv or conda environment, which the task's variable HAI_VENV names.

Only the task's command finds it, on PATH: the supervisor itself starts no program of the user.
"""
# ruff: noqa: PTH110, PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: The variable with the folder's absolute path.
VENV = "HAI_VENV"


def chosen(env: Mapping[str, str]) -> str | None:
    """Return the folder that HAI_VENV names; None if it is unset or not absolute."""
    folder = env.get(VENV, "")
    return folder if folder.startswith("/") else None


def programs(folder: str) -> str:
    """Return the folder of an environment's programs, its Python among them."""
    return os.path.join(folder, "bin")


def activated(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that `activate` sets beside PATH; conda's scripts in `etc/conda/activate.d` are not run."""
    folder = chosen(env)
    return {} if folder is None or "CONDA_PREFIX" in env else {"VIRTUAL_ENV": folder}


def doubt(env: Mapping[str, str]) -> str | None:
    """Return a warning for the user if this node does not have that Python; else None."""
    folder = chosen(env)
    if folder is None or os.path.exists(os.path.join(programs(folder), "python")):
        return None
    return (
        f"{folder} has no Python on this node, so the next one on PATH is used; submit with --no-venv, or with --venv "
        "and a folder that the nodes see"
    )
