"""Reads secrets of a process: from an environment variable NAME, or from the file that the variable NAME_FILE names.

A file is not inherited by child processes, and is not shown by tools that print an environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from hai_client.errors import Invalid

#: Added to the name of a variable, for the variable that names a file instead.
SUFFIX = "_FILE"


def secret_of(name: str, environ: Mapping[str, str]) -> str:
    """Return the secret of that name, without white space around it; empty if there is none. The variable wins.

    Args:
        name: Name of the variable, such as `HAI_SERVICE_SECRET`.
        environ: The environment.

    Raises:
        Invalid: The file cannot be read, or is empty. The message does not show its content.
    """
    text = environ.get(name, "").strip()
    file = environ.get(name + SUFFIX, "")
    if text or not file:
        return text
    try:
        text = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
        raise Invalid(
            f"{name}{SUFFIX}: {file} cannot be read ({why}): name a file that this process may read"
        ) from None
    if not text:
        raise Invalid(f"{name}{SUFFIX}: {file} is empty: write the secret into it")
    return text


def address_of(name: str, password_name: str, environ: Mapping[str, str], *, default: str = "") -> str:
    """Return an address such as `postgresql://USER@HOST/NAME`, with a password from a separate secret put into it.

    Args:
        name: Name of the secret with the address, for `secret_of`.
        password_name: Name of the secret with the password alone.
        environ: The environment.
        default: The address where `name` is not set.

    Raises:
        Invalid: A file cannot be read, the address has no host for a password, or there are two passwords. The
            message does not show a password.
    """
    address = secret_of(name, environ) or default
    password = secret_of(password_name, environ)
    if not address or not password:
        return address
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    if ":" in user:
        raise Invalid(f"{password_name}: {name} holds a password already: write it in one of the two")
    if not host:
        raise Invalid(f"{password_name}: the address in {name} names no host: leave the password out")
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{host}"))
