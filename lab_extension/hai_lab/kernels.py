"""Find the environment of a notebook's kernel, for the task that the notebook becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hai_lab.environments.actions import FULL_NAME


def submission(notebook: Path, specs: Any) -> dict[str, Any]:
    """Return the fields of a task that runs in the environment of the notebook's kernel: `environment`, `env`, or none.

    The kernel of an environment of haienv says which one it is. For another kernel the variable HAI_VENV names the
    folder. A kernel of this server's own environment is nothing that the user has chosen, and one outside of any
    environment can be called by its name alone.

    Args:
        notebook: The file.
        specs: Jupyter's KernelSpecManager.
    """
    try:
        name = json.loads(notebook.read_text(encoding="utf-8"))["metadata"]["kernelspec"]["name"]
        spec = specs.get_kernel_spec(name)
        program = Path(spec.argv[0])
    # Jupyter says that there is no such kernel with a KeyError of its own.
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return {}
    if environment := _haienv(spec.metadata):
        return {"environment": environment}
    folder = program.parent.parent
    if draft := _of_draft(folder):
        # A draft may change under the task: the form freezes it, and the task gets the generation.
        return {"environment": draft}
    if not program.is_absolute() or not _is_environment(folder) or (program.parent / "jupyterhub-singleuser").exists():
        return {}
    conda = {"CONDA_PREFIX": str(folder)} if (folder / "conda-meta").is_dir() else {}
    return {"env": {"HAI_VENV": str(folder), **conda}}


def _haienv(metadata: Any) -> str | None:
    """Return the full name of the environment of haienv whose kernel this is, with the generation that it has now."""
    said = metadata.get("haienv") if isinstance(metadata, dict) else None
    name, generation = (said.get("environment"), said.get("generation")) if isinstance(said, dict) else (None, None)
    if not isinstance(name, str) or not FULL_NAME.fullmatch(name) or not isinstance(generation, int):
        return None
    return f"{name}@{generation}"


def _of_draft(folder: Path) -> str | None:
    """Return the full name of the environment of a draft's folder; None: the folder is no draft."""
    if folder.parts[-2:] != ("draft", "prefix") or not (folder.parent / "from").is_file():
        return None
    named = ["/".join(folder.parts[-2 - depth : -2]) for depth in (3, 2)]
    return next((one for one in named if FULL_NAME.fullmatch(one)), None)


def _is_environment(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").exists() or (folder / "conda-meta").is_dir()
