"""Warnings about several users, or root, on one machine: shown at each start, and when a user is added."""

from __future__ import annotations

from typing import Final

from hai_client.linux.identity import USERNAME, NoAccount, find_account

OTHERS: Final = (
    "All users of this platform run as one Unix user: their tasks can read one another's files and the platform's "
    "secrets, and so can act as any other user, even as the admin. Invite only people whom you trust with all of it. "
    "`hai up --unix-users` runs each user's servers and tasks under the account of that name."
)
ROOT: Final = (
    "`hai up` runs as root, and so does every task that a user submits here: a task can read and change every file of "
    "this machine. Start it as an ordinary user, or with `--unix-users`, which runs each user's servers and tasks "
    "under the account of that name."
)


def caution(*, root: bool, others: int, apart: bool = False) -> str | None:
    """Return a warning of one paragraph; None: there is nothing to warn of.

    Args:
        root: Whether `hai up` runs as root.
        others: Number of users beside the admin.
        apart: Whether each user's servers and tasks run as a Unix account of the user's own.
    """
    if apart or not (root or others):
        return None
    if not others:
        return ROOT
    return f"{ROOT} {others} other{' user' if others == 1 else ' users'} may log in." if root else OTHERS


def when_invited(user: str, unix_users: str) -> str | None:
    """Return the warning that an admin sees beside a user's new password; None: there is nothing to warn of.

    Args:
        user: Name of the user at the Hub.
        unix_users: Pattern for the names of Unix accounts (`hai up --unix-users`); empty: all users run as the
            platform's own account.
    """
    said = [] if USERNAME in unix_users else [OTHERS]
    if unix_users:
        try:
            find_account(unix_users, user)
        except NoAccount as error:
            said.append(f"{user} can log in, and not run anything yet: {error}")
    return " ".join(said) or None
