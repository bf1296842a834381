"""POSIX access control lists of folders (acl(5)): which users and groups may enter, beyond owner and mode.

The list is the extended attribute `system.posix_acl_access`: a version, then entries of tag, rights and id,
little-endian (include/uapi/linux/posix_acl_xattr.h of Linux). No program and no library is needed to read or write it.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from dataclasses import dataclass, field

_ATTRIBUTE = "system.posix_acl_access"
_VERSION = 2
_HEAD, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_OWNER, _USER, _OWNING_GROUP, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_NO_ID = 0xFFFFFFFF
#: To list a folder and to reach what lies in it.
READ = 5
#: What file systems answer that have no such lists.
_UNKNOWN = (errno.ENOTSUP, errno.ENODATA, errno.EOPNOTSUPP)


@dataclass
class Access:
    """Who may use a folder; rights are those of chmod: 4 read, 2 write, 1 enter."""

    owner: int = 7
    owning_group: int = 0
    other: int = 0
    users: dict[int, int] = field(default_factory=dict)
    groups: dict[int, int] = field(default_factory=dict)


def read(folder: os.PathLike[str]) -> Access:
    """Return who may use a folder. Raises OSError."""
    mode = stat.S_IMODE(os.stat(folder).st_mode)
    found = Access(mode >> 6 & 7, mode >> 3 & 7, mode & 7)
    try:
        data = os.getxattr(folder, _ATTRIBUTE)
    except OSError as error:
        if error.errno in _UNKNOWN:
            return found
        raise
    for tag, rights, number in _ENTRY.iter_unpack(data[_HEAD.size :]):
        if tag == _USER:
            found.users[number] = rights
        elif tag == _GROUP:
            found.groups[number] = rights
        elif tag == _OWNING_GROUP:
            found.owning_group = rights
    return found


def write(folder: os.PathLike[str], access: Access) -> None:
    """Set who may use a folder, all at once.

    Raises:
        OSError: With ENOTSUP where the file system has no lists and one is needed.
    """
    if not access.users and not access.groups:
        _forget(folder)
        special = stat.S_IMODE(os.stat(folder).st_mode) & 0o7000
        os.chmod(folder, special | access.owner << 6 | access.owning_group << 3 | access.other)
        return
    mask = access.owning_group
    for rights in [*access.users.values(), *access.groups.values()]:
        mask |= rights
    entries = [(_OWNER, access.owner, _NO_ID)]
    entries += [(_USER, rights, number) for number, rights in sorted(access.users.items())]
    entries += [(_OWNING_GROUP, access.owning_group, _NO_ID)]
    entries += [(_GROUP, rights, number) for number, rights in sorted(access.groups.items())]
    entries += [(_MASK, mask, _NO_ID), (_OTHER, access.other, _NO_ID)]
    os.setxattr(folder, _ATTRIBUTE, _HEAD.pack(_VERSION) + b"".join(_ENTRY.pack(*one) for one in entries))


def _forget(folder: os.PathLike[str]) -> None:
    try:
        os.removexattr(folder, _ATTRIBUTE)
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
