"""Turn a file of the file browser into a task: a name, a folder and a command."""

from __future__ import annotations

import posixpath
from pathlib import Path

from hai_lab.problem import invalid, not_found
from hai_lab.task_names import task_name

COMMANDS: dict[str, tuple[str, ...]] = {
    ".py": ("python", "-u"),
    ".sh": ("bash",),
    ".ipynb": ("python", "-m", "hai_client.notebook"),
}


def submit_defaults(root: Path, path: str) -> dict[str, object]:
    """Turn a contents path into the first values of the submit form.

    Args:
        root: The folder that the file browser shows; absolute.
        path: The path as the file browser has it, with `/`, relative to the root. Empty: no file.

    Returns:
        `name`, `cwd` (absolute) and `command` (argument list; empty without a file).

    Raises:
        Problem: The path leaves the root, is not a file, or is of a kind that cannot be run.
    """
    if not path:
        return {"name": "", "cwd": str(root), "command": []}
    clean = path.strip("/")
    if "\x00" in path or "\\" in path or posixpath.normpath(f"/{clean}") != f"/{clean}":
        raise invalid(f"The path {path!r} is not one below the file browser's folder.")
    file = root.joinpath(*clean.split("/"))
    command = COMMANDS.get(file.suffix.lower())
    if command is None:
        raise invalid(f"{file.name!r} cannot be submitted: only .py, .sh and .ipynb files can.")
    if not file.is_file():
        raise not_found(f"There is no file {path!r}; save it first or choose another.")
    # A name that starts with a dash would be read as an option.
    argument = f"./{file.name}" if file.name.startswith("-") else file.name
    return {"name": task_name(file.stem), "cwd": str(file.parent), "command": [*command, argument]}
