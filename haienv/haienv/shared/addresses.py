"""Addresses of package indexes, and of what else builds fetch from: they are checked, and hold no secret."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from haienv.shared.errors import Wrong
from haienv.shared.masking import masked, quoted

SCHEMES = ("https", "http", "file")


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
        raise Wrong(f"{field}: {quoted(text, 200)} is not an address; write for example https://pypi.example/simple")
    if masked(text) != text:
        raise Wrong(
            f"{field}: {quoted(text, 200)} has a user, a password or a token in it, and everybody who uses the"
            f" environment could read it; write the address alone, and the password into ~/.netrc (machine {host}"
            " login ... password ...)"
        )
    return text.strip()
