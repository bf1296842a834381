"""Turn names of users into names of files."""

from __future__ import annotations

import hashlib
from typing import Final
from urllib.parse import quote

#: Bytes that a file name may have on common file systems, less room for an ending such as `.log`.
_LONGEST: Final = 200


def file_name(user: str) -> str:
    """Return a file name for a user's name: unique for each user, and never a path.

    Letters, digits and `._-@` stay as they are; other characters and a leading dot are percent-encoded.
    """
    name = quote(user, safe="@")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 33]}-{hashlib.sha256(user.encode()).hexdigest()[:32]}"
