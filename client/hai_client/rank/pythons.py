"""The user's own Python: the folder of a venv or conda environment, which the variable HAI_VENV of his task names.

Only what the task's own command finds depends on it: the supervisor starts no program of the user's by itself.
"""
# ruff: noqa: PTH110, PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: The variable that names the folder, absolute.
VENV = "HAI_VENV"


def chosen(env: Mapping[str, str]) -> str | None:
    """The folder that the variables name; None: there is none, or it is not absolute."""
    folder = env.get(VENV, "")
    return folder if folder.startswith("/") else None


def programs(folder: str) -> str:
    """Where the programs of an environment are, its Python among them."""
    return os.path.join(folder, "bin")


def activated(env: Mapping[str, str]) -> dict[str, str]:
    """What `activate` sets beside PATH; conda's scripts in `etc/conda/activate.d` are not run."""
    folder = chosen(env)
    if folder is None or "CONDA_PREFIX" in env:
        return {}
    return {"VIRTUAL_ENV": folder}


def doubt(env: Mapping[str, str]) -> str | None:
    """What to tell the user where this node has no such Python, so that the next one on PATH is found; else None."""
    folder = chosen(env)
    if folder is None or os.path.exists(os.path.join(programs(folder), "python")):
        return None
    return (
        f"{folder} has no Python on this node, so the next one on PATH is used; submit with --no-venv, or with --venv "
        "and a folder that the nodes see"
    )
