"""What this machine has that compiled files need: where the service starts ranks itself they run here, in no image."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from hai_client.linux import abi
from hai_scheduler.core.workspace.abi import Machine

#: The first line of what NVIDIA's kernel module says of itself: `NVRM version: ... Kernel Module  535.104.05  ...`.
_DRIVER: Final = Path("/proc/driver/nvidia/version")
_VERSION: Final = re.compile(r"Kernel Module[^\n]*?\s(\d+\.\d+(?:\.\d+)?)\s")


def this_machine(driver: Path = _DRIVER) -> Machine:
    """Return it; what cannot be found out is left empty."""
    return Machine(machine=abi.machine(), glibc=abi.glibc(), driver=_driver(driver))


def _driver(path: Path) -> str:
    try:
        found = _VERSION.search(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""
    return found[1] if found else ""
