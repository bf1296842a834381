"""Finds and checks the Unix account of a rank's command, or of a user's server, and switches to it.

It is used only on a platform that may change its user (`hai up --unix-users`).
"""
# ruff: noqa: PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import ctypes
import errno
import os

from hai_client.linux.processes import PR_SET_PDEATHSIG, prctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: In a template of account names, stands for the user's name at the Hub.
USERNAME = "{username}"
#: Capabilities that the platform needs, by their numbers (capabilities(7)).
NEEDED = {0: "CAP_CHOWN", 5: "CAP_KILL", 6: "CAP_SETGID", 7: "CAP_SETUID"}
#: The umask of started processes: other users may not read or write their files.
UMASK = 0o077
_PR_GET_PDEATHSIG = 2
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_NOBODY = 0xFFFFFFFF

_libc = ctypes.CDLL(None, use_errno=True)


class NoAccount(Exception):
    """A user has no Unix account for their processes; the message says why, and what to do."""


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
    """Return the account of a user.

    Args:
        template: Template of account names; `{username}` stands for the user.
        user: The user's name at the Hub.

    Raises:
        NoAccount: There is no such account, or it is root's or the platform's own.
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
            f"the user {user!r} would run as {name!r}, which is root: use a user with an account of their own"
        )
    if account.uid == os.geteuid():
        raise NoAccount(f"the user {user!r} would run as {name!r}, the platform's own account: use another one")
    return account


def account_named(name: str) -> Account | None:
    """Return the account of that name; None if there is none."""
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
    """Return the names of the capabilities that this process lacks to run programs as other users."""
    held = 0
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status", encoding="ascii") as file:
        held = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    return [name for number, name in NEEDED.items() if not held >> number & 1]


def closed_folder(path: str) -> str | None:
    """Return the first folder on the way to a path, from the root, that other users cannot enter; None: no such folder.

    Other users cannot reach anything below that folder.
    """
    # The kernel passes by a link, and then by what it leads to: the Python of a venv may lie where all may read it.
    for here in (os.path.realpath(os.path.dirname(path)), os.path.realpath(path)):  # noqa: PTH120
        way = [here]
        while os.path.dirname(way[-1]) != way[-1]:  # noqa: PTH120
            way.append(os.path.dirname(way[-1]))  # noqa: PTH120
        for folder in reversed(way):
            with contextlib.suppress(OSError):
                if not os.stat(folder).st_mode & 0o001:  # noqa: PTH116
                    return folder
    return None


def become(account: Account, *, no_new_privs: bool) -> None:
    """Switch this process, which is about to execute a program, to the account for good. Raises OSError.

    The groups are changed first, because a process may not change them after its user. The program does not inherit
    the right to change users.

    Args:
        account: The account to switch to.
        no_new_privs: Whether the program can gain no rights by set-user-id or file capabilities (`sudo`).
    """
    os.setgroups(account.groups)
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)
    if os.getresuid() != (account.uid,) * 3 or os.getresgid() != (account.gid,) * 3:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    # The program would inherit ambient capabilities of a platform that is not root. Kernels before 4.3 have none.
    with contextlib.suppress(OSError):
        prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    os.umask(UMASK)
    if no_new_privs:
        prctl(_PR_SET_NO_NEW_PRIVS, 1)


@contextlib.contextmanager
def acting_as(account: Account | None) -> Iterator[None]:
    """Access files as the account while the block lasts, in this thread only; None changes nothing. Raises OSError.

    Files that a job may change are accessed with the job's own rights only: a link that the job has made leads only to
    files that the job itself could reach. Only the user for files changes (setfsuid), so the job cannot send signals to
    this process.
    """
    if account is None:
        yield
        return
    # A change of the user for files clears the parent-death signal: set it again afterwards.
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
    """Call setfsuid(2) or setfsgid(2), and raise OSError if it failed: the calls themselves do not report failure."""
    call = getattr(_libc, function)
    call(ctypes.c_uint32(number))
    # No user has this number: the call changes nothing and returns the present one.
    if call(ctypes.c_uint32(_NOBODY)) & _NOBODY != number:
        raise OSError(errno.EPERM, f"{function}: {os.strerror(errno.EPERM)}")
