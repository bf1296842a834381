"""Checks, before a task is queued, that the files it names exist: its ranks see the same files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from hai_client.pythons import VENV, programs
from hai_scheduler.core.workspace.mounts import Mount
from hai_scheduler.ports.files import PathFault
from hai_scheduler.ports.reading import in_reader

#: Programs whose first argument that is not an option is a script.
_INTERPRETERS: Final = ("python", "python3", "bash", "sh", "zsh")
_SCRIPTS: Final = (".py", ".sh", ".bash")
#: Options after which no script comes.
_INLINE: Final = ("-c", "-m", "-")


class LocalFiles:
    """The Files port on this machine.

    Args:
        unix_users: Whether tasks run as accounts of their own, and not as this process's user.
    """

    def __init__(self, *, unix_users: bool = False) -> None:
        self._unix_users = unix_users

    async def fault(
        self,
        command: Sequence[str],
        cwd: str,
        checkpoint_dir: str | None,
        python: str | None = None,
        own_python: str | None = None,
    ) -> PathFault | None:
        """Return the first path that no rank could use, else None. With accounts of users, nothing is looked at.

        This process may see files that the user may not: an answer would tell the user whether they exist.
        """
        if self._unix_users:
            return None
        return await in_reader(lambda: _fault(command, cwd, checkpoint_dir, python, own_python))

    async def unseen(self, folder: str, mounts: Sequence[Mount]) -> str | None:
        """Return None: `fault` refuses files that are not on this machine."""
        del folder, mounts
        return None


def _fault(
    command: Sequence[str], cwd: str, checkpoint_dir: str | None, python: str | None, own_python: str | None
) -> PathFault | None:
    try:
        files = _of_folder(cwd) or _of_command(command, Path(cwd)) or _of_checkpoints(checkpoint_dir)
        return files or _of_python(python) or _of_own_python(own_python)
    except (OSError, ValueError):  # too long, or not ours to read: the rank will say more
        return None


def _of_folder(cwd: str) -> PathFault | None:
    if Path(cwd).is_dir():
        return None
    return PathFault(field="cwd", value=cwd, message=f"there is no folder {cwd!r}: correct it, or create it first")


def _of_command(command: Sequence[str], cwd: Path) -> PathFault | None:
    for word in _files(command):
        if not (cwd / word).is_file():
            message = f"there is no file {word!r} in {str(cwd)!r}: correct the path, or cwd"
            return PathFault(field="command", value=word, message=message)
    return None


def _files(command: Sequence[str]) -> Iterable[str]:
    """Yield the words of a command that must be files."""
    program = command[0]
    if "/" in program:
        yield program
    if Path(program).name not in _INTERPRETERS:
        return
    for word in command[1:]:
        if word in _INLINE:
            return
        if not word.startswith(("-", "+")):
            if word.endswith(_SCRIPTS):
                yield word
            return


def _of_checkpoints(folder: str | None) -> PathFault | None:
    if folder is None:
        return None
    there = Path(folder)
    while not there.exists() and there != there.parent:
        there = there.parent
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return None
    why = "cannot be written to" if there.is_dir() else "is not a folder"
    message = f"{str(there)!r} {why}: choose a folder that the platform may write to"
    return PathFault(field="checkpoint_dir", value=folder, message=message)


def _of_python(python: str | None) -> PathFault | None:
    if python is None or os.access(python, os.X_OK):
        return None
    message = (
        f"the Python of this environment, {python!r}, is not on this machine: choose another one, or tell an admin"
    )
    return PathFault(field="environment", value=python, message=message)


def _of_own_python(folder: str | None) -> PathFault | None:
    if folder is None or (Path(programs(folder)) / "python").exists():
        return None
    message = (
        f"there is no Python in {folder!r} on the platform's machine, which all nodes share: correct --venv, create the"
        " environment first, or say --no-venv for the platform's Python"
    )
    return PathFault(field=f"env.{VENV}", value=folder, message=message)
