"""Environments of other users that the caller may use, and their kernels in the caller's Launcher.

Nobody keeps a list of what is shared: the file rights of an environment's folder say it, and they are looked at. The
kernel of a shared environment is a link in the caller's own folder, made by the caller:
`users/bob/.jupyter/kernels/haienv-users-ann-vision -> ../../../ann/vision/current/kernel/others`. It follows `current`
as soon as that moves, and leads nowhere as soon as the right is taken back.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Iterator

from haienv.shared.errors import Wrong
from haienv.shared.files import link_atomically
from haienv.store import kernels, trust
from haienv.store.layout import KERNEL, EnvFolder, folder_of
from haienv.store.names import NAME, USERS, EnvName, Owner
from haienv.store.registry import Caller

#: Environments of others that are looked at, and users: one look each, at most.
MOST_ENVIRONMENTS, MOST_USERS = 5000, 2000
_EVERYBODY = stat.S_IROTH | stat.S_IXOTH
#: What the links to kernels of others begin with.
_UP = os.path.join("..", "..", "..")


def environments(root: Path, caller: Caller) -> list[EnvName]:
    """Return the environments of other users that are shared with the caller, in order of names.

    Where all users are one account, rights tell them apart no more than by the mode for everybody. The same counts for
    root, who may read all.
    """
    found = []
    for at, name in enumerate(_of_others(root, caller)):
        if at >= MOST_ENVIRONMENTS:
            break
        env = EnvFolder(root, name)
        if _is_shared(env):
            found.append(name)
    return found


def _of_others(root: Path, caller: Caller) -> Iterator[EnvName]:
    for user in _names(root / USERS)[:MOST_USERS]:
        if user != caller.name:
            owner = Owner(USERS, user)
            for name in _names(folder_of(root, owner)):
                yield EnvName(owner, name)


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(one.name for one in entries if NAME.fullmatch(one.name) and one.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _is_shared(env: EnvFolder) -> bool:
    try:
        facts = os.stat(env.folder)
        if facts.st_uid == os.geteuid() or os.geteuid() == 0:
            if facts.st_mode & _EVERYBODY != _EVERYBODY:
                return False
        elif not os.access(env.folder, os.R_OK | os.X_OK):
            return False
        if not env.current_link.is_symlink():
            return False
        # A kernel of what somebody else may have put there is not offered.
        trust.check(env)
    except (OSError, Wrong):
        return False
    return True


def offer(root: Path, caller: Caller) -> list[EnvName]:
    """Let Jupyter list the kernels of what is shared with the caller, and no others of other users.

    Returns:
        What is shared.

    Raises:
        OSError: The caller's own folder cannot be written.
    """
    found = environments(root, caller)
    folder = kernels.jupyter_folder(folder_of(root, caller.own)) / "kernels"
    wanted = {name.kernel: _target(name) for name in found if _has_kernel(EnvFolder(root, name))}
    for link in _links(folder):
        if link not in wanted:
            with contextlib.suppress(FileNotFoundError):
                (folder / link).unlink()
    for kernel, target in wanted.items():
        if _read(folder / kernel) != target:
            folder.mkdir(parents=True, exist_ok=True)
            link_atomically(folder / kernel, target)
    return found


def _target(name: EnvName) -> str:
    return os.path.join(_UP, name.owner.name, name.name, "current", KERNEL, kernels.OTHERS)


def _has_kernel(env: EnvFolder) -> bool:
    return (env.current_link / KERNEL / kernels.OTHERS / "kernel.json").is_file()


def _links(folder: Path) -> list[str]:
    """Return the names of the links to kernels of other users."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [name for name in names if _read(folder / name).startswith(_UP + os.sep)]


def _read(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""
