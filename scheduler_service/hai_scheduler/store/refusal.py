"""Recognises databases that cannot become usable by waiting: wrong settings, and files that cannot be written."""

from __future__ import annotations

import re
from typing import Final

from sqlalchemy.engine import URL

#: Messages of PostgreSQL for a client that it will never let in. A server that is away, starts, stops or is full sends
#: other messages.
_NOT_LET_IN: Final = (
    "password authentication failed",
    "no password supplied",
    "no pg_hba.conf entry",
    "authentication method",
    "is not permitted to log in",
    "permission denied for",
)
_MISSING: Final = re.compile(r'(database|role) ".*" does not exist')
#: Messages of SQLite for a file or a folder that it cannot write.
_NOT_WRITABLE: Final = ("readonly database", "unable to open database file")


class StateUnusable(Exception):
    """The state database cannot be used as it is set up; the message says what to do, and shows no password."""


def refusal(url: URL, error: object) -> StateUnusable | None:
    """Return the error to report if a database's message means that it is useless to try again; else None.

    The driver gives no code for errors while it connects, so the message is matched. With a server that sends messages
    in another language than English the service goes on waiting, and the log shows the message.
    """
    words = str(error)
    if url.get_backend_name() == "sqlite":
        if any(said in words for said in _NOT_WRITABLE):
            return not_writable(url, words)
        return None
    if _MISSING.search(words) or any(said in words for said in _NOT_LET_IN):
        shown = url.set(drivername="postgresql").render_as_string(hide_password=True)
        return StateUnusable(
            f"The state database {shown} does not let the service in ({_line(words)}): correct the user, the password "
            "or the name of the database in HAI_DB_URL, or create what is missing."
        )
    return None


def not_writable(url: URL, why: str) -> StateUnusable:
    """Return the error for a file of SQLite that cannot be written."""
    return StateUnusable(
        f"The state database {url.database} cannot be written ({_line(why)}): let the service's user write the file "
        "and its folder, or name another one in HaiScheduler.db_url."
    )


def _line(words: str) -> str:
    """Return the line that says why: the last one, because PostgreSQL may report several attempts."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it does not say why"
