"""Whether a folder may become, or is, the state folder of `hai up`: somebody else's must not be changed in any way."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Final

from hai_hub.shared.errors import wrong_input

#: What `hai up`, the scheduler service and `hai restore` make, so that each marks a folder as theirs.
_MARKS: Final = ("hai.sqlite", "jupyterhub.sqlite", "service_secret")
#: What a start leaves that has failed before it has written its mark.
_BEGUN: Final = frozenset({"home", "hub", "lock", "logs", "secrets"})
_ELSEWHERE: Final = "name a folder that is yours alone, or a new one, with --state-dir"


def is_ours(path: Path) -> bool:
    """Whether a folder has been a state folder before."""
    try:
        plain = json.loads((path / "state.json").read_text(encoding="utf-8"))
        # A newer version's is refused by who reads it, with a better word.
        if "hub_port" in plain or int(plain["format"]) > 1:
            return True
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError):
        # It is damaged, and who reads it says so.
        return True
    if any((path / name).is_file() for name in _MARKS):
        return True
    names = {entry.name for entry in path.iterdir()}
    return "lock" in names and names <= _BEGUN


def require_usable(path: Path) -> bool:
    """Look at what `--state-dir` names, and change nothing.

    Returns:
        Whether it has been a state folder before. One that is not there, or empty, has not.

    Raises:
        UpError: It is somebody else's, everybody's, full of other things, or stands for another folder.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        message = f"--state-dir {path}: cannot be looked at: {error.strerror}; {_ELSEWHERE}"
        raise wrong_input(message) from error
    if stat.S_ISLNK(found.st_mode):
        message = f"--state-dir {path}: is a link to {os.path.realpath(path)}; name that folder itself with --state-dir"
        raise wrong_input(message)
    if not stat.S_ISDIR(found.st_mode):
        message = f"{path} is not a folder; choose another with --state-dir"
        raise wrong_input(message)
    if found.st_uid != os.geteuid():
        owner = f"user id {found.st_uid}, you are {os.geteuid()}"
        message = f"--state-dir {path}: belongs to somebody else ({owner}); {_ELSEWHERE}"
        raise wrong_input(message)
    if found.st_mode & stat.S_IWOTH:
        mode = stat.S_IMODE(found.st_mode)
        message = (
            f"--state-dir {path}: everybody may write there (mode {mode:04o}); {_ELSEWHERE}. If it is a state folder, "
            f"look for what others have left in it, then: chmod 700 {path}"
        )
        raise wrong_input(message)
    try:
        if is_ours(path):
            return True
        strange = sorted(entry.name for entry in path.iterdir())
    except OSError as error:
        message = f"--state-dir {path}: cannot be read: {error.strerror}; {_ELSEWHERE}"
        raise wrong_input(message) from error
    if strange:
        some = ", ".join(strange[:3]) + (", ..." if len(strange) > 3 else "")
        message = f"--state-dir {path}: holds other things ({some!r}) and has never been a state folder; {_ELSEWHERE}"
        raise wrong_input(message)
    return False
