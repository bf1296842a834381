"""Who else may use an environment: an access list of its folder. Nobody but its owner may change it."""

from __future__ import annotations

import errno
import grp
import os
import pwd
from dataclasses import dataclass

from haienv.shared import acl
from haienv.shared.errors import Missing, Wrong
from haienv.shared.masking import quoted
from haienv.store.layout import EnvFolder
from haienv.store.names import GROUPS
from haienv.store.registry import MOST_NAMED


@dataclass(frozen=True)
class Sharing:
    """Who may use an environment beside its owner."""

    everyone: bool
    groups: tuple[str, ...]
    users: tuple[str, ...]


def shared_with(env: EnvFolder) -> Sharing:
    """Return who may use an environment. Raises OSError."""
    found = acl.read(env.folder)
    groups = {_group_name(number) for number, rights in found.groups.items() if rights}
    if found.owning_group and not found.other:
        groups.add(_group_name(os.stat(env.folder).st_gid))
    users = {_user_name(number) for number, rights in found.users.items() if rights}
    return Sharing(bool(found.other), tuple(sorted(groups)), tuple(sorted(users)))


def share(env: EnvFolder, *, groups: list[str], users: list[str], everyone: bool, take: bool = False) -> Sharing:
    """Let groups, users or everybody use an environment, or no longer; return who may now.

    Only the folder of the environment changes, by one call: what is inside can be read by all who get in, and be
    written by nobody. Its owner's and the groups' own folders must let people pass (`haienv init` makes them so).

    Args:
        env: The environment.
        groups: Unix groups.
        users: Unix accounts.
        everyone: Everybody.
        take: Take the right away instead.

    Raises:
        Missing: There is no such environment, group or user.
        Wrong: The caller may not, or the file system cannot.
    """
    if not env.folder.is_dir():
        raise Missing(f"environment: there is no {env.name}; `haienv list` shows what there is")
    found = acl.read(env.folder)
    owning = os.stat(env.folder).st_gid
    for number in [_group(name) for name in groups]:
        if number == owning and (take or found.owning_group):
            found.owning_group = 0 if take else acl.READ
        elif take:
            found.groups.pop(number, None)
        else:
            found.groups[number] = acl.READ
    for number in [_user(name) for name in users]:
        if take:
            found.users.pop(number, None)
        else:
            found.users[number] = acl.READ
    if everyone:
        found.other = 0 if take else acl.READ
        # The kernel asks the rights of the folder's group first: who is in it would not be among all. In pods of
        # Kubernetes that is everybody.
        if env.name.owner.level != GROUPS:
            found.owning_group = found.other
    try:
        _write(env, found)
    except PermissionError:
        raise Wrong(f"environment: {env.name} is not yours to share: {env.folder} belongs to another account") from None
    return shared_with(env)


def _write(env: EnvFolder, wanted: acl.Access) -> None:
    try:
        acl.write(env.folder, wanted)
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        # Where all may read, so may those of the folder's own group when it gets another one.
        if wanted.users or len(wanted.groups) != 1 or (wanted.owning_group and not wanted.other):
            raise Wrong(
                f"share: the file system of {env.folder} has no access lists, and so knows one group only: share it"
                " with"
                " one group, or --all, or ask an admin to mount it with ACLs"
            ) from None
        [number] = wanted.groups
        try:
            os.chown(env.folder, -1, number)
        except PermissionError:
            raise Wrong(
                f"share: {_group_name(number)!r} is no group of yours, and the file system of {env.folder} has no"
                " access"
                " lists: an admin can do it"
            ) from None
        acl.write(env.folder, acl.Access(wanted.owner, acl.READ, wanted.other))


def _group(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        own = sorted({_group_name(number) for number in os.getgroups() if number != 0})
        yours = f"yours are {', '.join(own[:MOST_NAMED])}" if own else "you are in none"
        raise Missing(
            f"group: there is no Unix group {quoted(name)} here: {yours}; `getent group` lists all of this machine"
        ) from None


def _user(name: str) -> int:
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        raise Missing(f"user: there is no Unix account {quoted(name)} here; `getent passwd` lists them") from None


def _group_name(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
