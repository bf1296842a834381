"""Find the environment of a notebook's kernel, for the task that the notebook becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def variables(notebook: Path, specs: Any) -> dict[str, str]:
    """Return the variables with which a task runs in the environment of the notebook's kernel: HAI_VENV, or none.

    A kernel of this server's own environment is nothing that the user has chosen, and one outside of any environment
    can be called by its name alone.

    Args:
        notebook: The file.
        specs: Jupyter's KernelSpecManager.
    """
    try:
        name = json.loads(notebook.read_text(encoding="utf-8"))["metadata"]["kernelspec"]["name"]
        program = Path(specs.get_kernel_spec(name).argv[0])
    # Jupyter says that there is no such kernel with a KeyError of its own.
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return {}
    folder = program.parent.parent
    if not program.is_absolute() or not _is_environment(folder) or (program.parent / "jupyterhub-singleuser").exists():
        return {}
    conda = {"CONDA_PREFIX": str(folder)} if (folder / "conda-meta").is_dir() else {}
    return {"HAI_VENV": str(folder), **conda}


def _is_environment(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").exists() or (folder / "conda-meta").is_dir()
