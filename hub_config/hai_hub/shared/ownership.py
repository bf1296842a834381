"""Check whether a folder is, or may become, the state folder of `hai up`: folders of other users are never changed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Final

from hai_hub.shared.errors import wrong_input

#: Files that `hai up`, the scheduler service and `hai restore` make: one of them marks a state folder.
_MARKS: Final = ("hai.sqlite", "jupyterhub.sqlite", "service_secret")
#: Names that a start leaves behind if it fails before it has made such a file.
_BEGUN: Final = frozenset({"home", "hub", "lock", "logs", "secrets"})
_ELSEWHERE: Final = "name a folder that is yours alone, or a new one, with --state-dir"


def is_ours(path: Path) -> bool:
    """Return whether a folder has been a state folder before."""
    try:
        plain = json.loads((path / "state.json").read_text(encoding="utf-8"))
        # `StateDir` refuses the file of a newer version, with a better message.
        if "hub_port" in plain or int(plain["format"]) > 1:
            return True
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError):
        # The file is damaged: `StateDir` says so.
        return True
    if any((path / name).is_file() for name in _MARKS):
        return True
    names = {entry.name for entry in path.iterdir()}
    return "lock" in names and names <= _BEGUN


def require_usable(path: Path, owner: int | None = None) -> bool:
    """Check the folder that `--state-dir` names, without changing it.

    Args:
        path: The folder.
        owner: Number of the account that uses it; None: that of this process.

    Returns:
        Whether the folder has been a state folder before; False if it is missing or empty.

    Raises:
        UpError: The folder belongs to another user, all users may write to it, it holds other files, or it is a link.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise wrong_input(f"--state-dir {path}: cannot be looked at: {error.strerror}; {_ELSEWHERE}") from error
    if stat.S_ISLNK(found.st_mode):
        message = f"--state-dir {path}: is a link to {os.path.realpath(path)}; name that folder itself with --state-dir"
        raise wrong_input(message)
    if not stat.S_ISDIR(found.st_mode):
        raise wrong_input(f"{path} is not a folder; choose another with --state-dir")
    _require_owner(path, found.st_uid, owner)
    if found.st_mode & stat.S_IWOTH:
        mode = stat.S_IMODE(found.st_mode)
        raise wrong_input(
            f"--state-dir {path}: everybody may write there (mode {mode:04o}); {_ELSEWHERE}. If it is a state folder, "
            f"look for what others have left in it, then: chmod 700 {path}"
        )
    try:
        if is_ours(path):
            return True
        strange = sorted(entry.name for entry in path.iterdir())
    except OSError as error:
        raise wrong_input(f"--state-dir {path}: cannot be read: {error.strerror}; {_ELSEWHERE}") from error
    if strange:
        some = ", ".join(strange[:3]) + (", ..." if len(strange) > 3 else "")
        message = f"--state-dir {path}: holds other things ({some!r}) and has never been a state folder; {_ELSEWHERE}"
        raise wrong_input(message)
    return False


def _require_owner(path: Path, found: int, wanted: int | None) -> None:
    if wanted is None and found != os.geteuid():
        said = f"user id {found}, you are {os.geteuid()}"
        raise wrong_input(f"--state-dir {path}: belongs to another account ({said}); {_ELSEWHERE}")
    if wanted is not None and found != wanted:
        raise wrong_input(
            f"--state-dir {path}: belongs to the account with user id {found}, not to the one that the service runs "
            "as; name its account with --service-user, or another folder with --state-dir"
        )
