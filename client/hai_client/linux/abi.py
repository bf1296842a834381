"""What the image or the machine of this process has that compiled files need."""
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os


def machine() -> str:
    """Return the architecture, such as x86_64."""
    return os.uname().machine


def glibc() -> str:
    """Return the version of glibc, such as 2.31; an empty text where there is another C library."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (OSError, ValueError):
        return ""
    return version if name == "glibc" else ""
