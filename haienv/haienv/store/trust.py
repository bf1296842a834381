"""Whether an environment can only have been written by those whose name it has: file permissions tell."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

from haienv.shared.errors import Wrong
from haienv.store.layout import EnvFolder, folder_of
from haienv.store.names import USERS


def check(env: EnvFolder) -> None:
    """Refuse an environment that somebody else may have put there.

    No folder on the way may be writable by all, unless it is sticky as /tmp is. The environments of a user who has a
    Unix account must belong to that account, to root, or to the one who asks (a platform on which all is one account).

    Raises:
        Wrong: The environment must not be used; the message names the folder.
    """
    owner = env.name.owner
    place = folder_of(env.root, owner)
    for folder in (env.root, env.root / owner.level, place, env.folder):
        mode = _facts(folder).st_mode
        if mode & stat.S_IWOTH and (folder == env.folder or not mode & stat.S_ISVTX):
            raise Wrong(f"environment: {env.name} is not safe to use: everybody can write {folder}; chmod o-w {folder}")
    if closed(env):
        raise _closed(env.folder)
    if owner.level != USERS:
        return
    try:
        account = pwd.getpwnam(owner.name).pw_uid
    except KeyError:
        return
    for folder in (place, env.folder):
        found = _facts(folder).st_uid
        if found not in (account, 0, os.geteuid()):
            raise Wrong(
                f"environment: {env.name} is not safe to use: {folder} belongs to the account {_name_of(found)},"
                " and not"
                f" to {owner.name}; an admin should look at it"
            )


def closed(env: EnvFolder) -> bool:
    """Return whether the folder of an environment is there, and the caller has no right to read it."""
    return os.path.isdir(env.folder) and not os.access(env.folder, os.R_OK | os.X_OK)


def _facts(folder: Path) -> os.stat_result:
    try:
        return os.stat(folder)
    except PermissionError:
        raise _closed(folder) from None


def _closed(folder: Path) -> Wrong:
    return Wrong(f"environment: no right to read {folder}; its owner can share it with you")


def _name_of(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
