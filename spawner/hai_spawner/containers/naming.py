"""Names of users as names of files."""

from __future__ import annotations

import hashlib
from typing import Final
from urllib.parse import quote

#: Bytes that a file name may have on common file systems, less room for an ending such as `.log`.
_LONGEST: Final = 200


def file_name(user: str) -> str:
    """A file name for a user name: the same for the same user, different for different ones, never a path.

    Names of letters, digits and `._-@` stay as they are; all else is percent-encoded, as is a leading dot.
    """
    name = quote(user, safe="@")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 33]}-{hashlib.sha256(user.encode()).hexdigest()[:32]}"
