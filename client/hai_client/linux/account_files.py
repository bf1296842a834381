"""The texts of /etc/passwd and /etc/group in a pod that runs as a user's own account.

Programs look names up there: `whoami`, `git`, `ssh`, and Python's `getpass`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Accounts that programs expect.
_ROOT = "root:x:0:0:root:/root:/bin/sh"
_NOBODY = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin"


def passwd_text(name: str, uid: int, gid: int, home: str, shell: str) -> str:
    """Return /etc/passwd: root, nobody, and the account."""
    return "\n".join([_ROOT, f"{name}:x:{uid}:{gid}:{name}:{home}:{shell}", _NOBODY, ""])


def group_text(name: str, groups: Sequence[tuple[int, str]]) -> str:
    """Return /etc/group: root's group, nobody's, and the account's.

    Args:
        name: The name of the account.
        groups: Number and name of each of its groups. One without a name is called by its number, the first by the
            name of the account.
    """
    lines = ["root:x:0:", "nogroup:x:65534:"]
    taken = {"root", "nogroup"}
    for at, (gid, called) in enumerate(groups):
        wanted = called or (str(gid) if at else name)
        said = wanted if wanted not in taken else str(gid)
        taken.add(said)
        lines.insert(-1, f"{said}:x:{gid}:{name if at else ''}")
    return "\n".join([*lines, ""])
