"""Addresses of package indexes, and of what else builds fetch from: they are checked, and hold no secret."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from haienv.shared.errors import Wrong

SCHEMES = ("https", "http", "file")
#: A user or a password in an address, as it may stand in the output of a program.
_SECRET = re.compile(r"(?<=://)[^\s/@'\"]+@")


def checked_index(text: str, field: str = "index") -> str:
    """Return the address of an index or a channel.

    Args:
        text: The address.
        field: What it is called in a message.

    Raises:
        Wrong: It is none, or has a password in it, which all who read the environment would read.
    """
    try:
        parts = urlsplit(text.strip())
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in SCHEMES or not (host or parts.scheme == "file") or re.search(r"\s", text.strip()):
        raise Wrong(
            f"{field}: {redacted(text)[:200]!r} is not an address; write for example https://pypi.example/simple"
        )
    if parts.username is not None or parts.password is not None:
        raise Wrong(
            f"{field}: {redacted(text)[:200]!r} has a user or a password in it, and everybody who uses the environment"
            f" could read it; write the address alone, and the password into ~/.netrc (machine {host} login ..."
            " password ...)"
        )
    return text.strip()


def redacted(text: str) -> str:
    """Return a text with `***` for each user and password in an address."""
    return _SECRET.sub("***@", text)
