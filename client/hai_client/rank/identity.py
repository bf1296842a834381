"""The Unix account that a rank's command, or a user's server, runs as: found, checked and taken on.

Everything here is for a platform that may change its user (`hai up --unix-users`); without that nothing of it is used.
"""
# ruff: noqa: PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import ctypes
import errno
import os

from hai_client.rank.processes import PR_SET_PDEATHSIG, prctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: In a template of account names: the user as the Hub spells him.
USERNAME = "{username}"
#: What the platform must be allowed to do, by the numbers of capabilities(7).
NEEDED = {0: "CAP_CHOWN", 5: "CAP_KILL", 6: "CAP_SETGID", 7: "CAP_SETUID"}
#: What a started process may read and write of others' by default: nothing.
UMASK = 0o077
_PR_GET_PDEATHSIG = 2
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_NOBODY = 0xFFFFFFFF

_libc = ctypes.CDLL(None, use_errno=True)


class NoAccount(Exception):
    """A user has no Unix account that his processes could run as; the message says why, and what to do."""


class Account:
    """A Unix account: its name and numbers, all of its groups, its home folder and its shell."""

    __slots__ = ("gid", "groups", "home", "name", "shell", "uid")

    def __init__(self, *, name: str, uid: int, gid: int, groups: list[int], home: str, shell: str) -> None:
        self.name = name
        self.uid = uid
        self.gid = gid
        self.groups = groups
        self.home = home
        self.shell = shell


def find_account(template: str, user: str) -> Account:
    """The account of a user.

    Args:
        template: How accounts are named; `{username}` stands for the user.
        user: The user as the Hub spells him.

    Raises:
        NoAccount: There is none, or it is one that no user may have.
    """
    name = template.replace(USERNAME, user)
    account = account_named(name)
    if account is None:
        raise NoAccount(
            f"there is no Unix account {name!r} for the user {user!r} on this machine: an admin makes one with "
            f"`useradd --create-home {name}`, or chooses another template of names (--unix-users)"
        )
    if account.uid == 0:
        raise NoAccount(
            f"the user {user!r} would run as {name!r}, which is root: use a user with an account of his own"
        )
    if account.uid == os.geteuid():
        raise NoAccount(f"the user {user!r} would run as {name!r}, the platform's own account: use another one")
    return account


def account_named(name: str) -> Account | None:
    """The account of that name; None if there is none."""
    import pwd

    try:
        entry = pwd.getpwnam(name)
    except (KeyError, ValueError):
        return None
    return Account(
        name=entry.pw_name,
        uid=entry.pw_uid,
        gid=entry.pw_gid,
        groups=os.getgrouplist(entry.pw_name, entry.pw_gid),
        home=entry.pw_dir or "/",
        shell=entry.pw_shell or "/bin/sh",
    )


def lacking_rights() -> list[str]:
    """Names of the capabilities that this process lacks to run others as other users; root has all of them."""
    held = 0
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status", encoding="ascii") as file:
        held = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    return [name for number, name in NEEDED.items() if not held >> number & 1]


def closed_folder(path: str) -> str | None:
    """The first folder on the way to a path, from the root, that other users cannot pass through; None: there is none.

    What lies behind it might as well not be there for them.
    """
    # realpath: the way that the kernel goes.
    here = os.path.realpath(path)
    way = [here]
    while os.path.dirname(way[-1]) != way[-1]:  # noqa: PTH120
        way.append(os.path.dirname(way[-1]))  # noqa: PTH120
    for folder in reversed(way):
        with contextlib.suppress(OSError):
            if not os.stat(folder).st_mode & 0o001:  # noqa: PTH116
                return folder
    return None


def become(account: Account, *, no_new_privs: bool) -> None:
    """Turn this process, which is about to execute a program, into one of the account, for good. Raises OSError.

    Groups come first: who has given up his user may not change them any more. Whatever it was that let this process
    change its user does not reach the program.

    Args:
        account: Whose it is to be.
        no_new_privs: Whether programs with set-user-id or file capabilities (`sudo`) give it no rights either.
    """
    os.setgroups(account.groups)
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)
    if os.getresuid() != (account.uid,) * 3 or os.getresgid() != (account.gid,) * 3:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    # Of a platform that is not root its capabilities would be handed on. Kernels before 4.3 have none to hand on.
    with contextlib.suppress(OSError):
        prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    os.umask(UMASK)
    if no_new_privs:
        prctl(_PR_SET_NO_NEW_PRIVS, 1)


@contextlib.contextmanager
def acting_as(account: Account | None) -> Iterator[None]:
    """Touch files as the account while the block lasts, in this thread alone; None changes nothing. Raises OSError.

    What a job may change is touched with the job's own rights only: whatever link it has put there leads no further
    than the job itself could go. The process stays out of its reach: only the user for files changes.
    """
    if account is None:
        yield
        return
    # Changing it clears the signal that this process wants when its parent dies.
    signal = ctypes.c_int(0)
    _libc.prctl(_PR_GET_PDEATHSIG, ctypes.byref(signal), 0, 0, 0)
    try:
        _touch_as("setfsgid", account.gid)
        _touch_as("setfsuid", account.uid)
        yield
    finally:
        _touch_as("setfsuid", os.geteuid())
        _touch_as("setfsgid", os.getegid())
        if signal.value:
            prctl(PR_SET_PDEATHSIG, signal.value)


def _touch_as(function: str, number: int) -> None:
    """Call setfsuid(2) or setfsgid(2), which tell nobody whether they have worked. Raises OSError if they have not."""
    call = getattr(_libc, function)
    call(ctypes.c_uint32(number))
    # Nobody has this number: it only asks.
    if call(ctypes.c_uint32(_NOBODY)) & _NOBODY != number:
        raise OSError(errno.EPERM, f"{function}: {os.strerror(errno.EPERM)}")
