"""Whether a client and the service are on one machine, and see the same files."""

from __future__ import annotations

import hashlib
import os


def machine_id() -> str:
    """Return a text that is the same for all processes that run on this machine and have its root folder.

    A container, another machine, and the same machine after it has started again have another one. It tells nothing of
    the machine.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        boot = ""
    root = os.stat("/")
    known = f"hai:{boot}:{os.uname().nodename}:{root.st_dev}:{root.st_ino}"
    return hashlib.sha256(known.encode()).hexdigest()[:32]
