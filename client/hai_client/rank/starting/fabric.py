"""Whether a rank can use the fast network that its fabric gives it: NCCL falls back to TCP without a word.

Looked at before the command starts. Importing pathlib costs milliseconds at every start.
"""
# ruff: noqa: PTH118, PTH123, PTH208

from __future__ import annotations

import os
import resource
from decimal import Decimal

from hai_client.quantity import format_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: The RDMA devices that the kernel shows, and the files by which programs use them.
DEVICES = "/sys/class/infiniband"
DOORS = "/dev/infiniband"
#: How the kernel says that a port is up (`Documentation/ABI/stable/sysfs-class-infiniband`).
_ACTIVE = "ACTIVE"
_OFF = "RDMA will fall back to TCP: "


class Obstacle:
    """What keeps a rank from RDMA: a word for the service, and a sentence for the log."""

    def __init__(self, why: str, sentence: str) -> None:
        self.why = why
        self.sentence = _OFF + sentence


def look(
    memlock_bytes: int, env: Mapping[str, str], node: str, *, devices: str = DEVICES, doors: str = DOORS
) -> list[Obstacle]:
    """Return what keeps a rank from RDMA; an empty list: nothing that can be seen.

    Args:
        memlock_bytes: How much memory it must be able to lock.
        env: The variables of its command.
        node: The name of its node, for the sentences.
        devices: The folder of the devices in the kernel.
        doors: The folder of their files in the container.
    """
    found = [*_memlock(memlock_bytes, node)]
    there = _devices(devices)
    if not there or not _names(doors):
        words = "no RDMA device is in the container: look at the device plugin of"
        found.append(Obstacle("no_device", f"{words} {node}, and at the share of devices that few GPUs get"))
    else:
        active = [name for name, up in there.items() if up]
        if active:
            found += _variables(env, active)
        else:
            names = ", ".join(there)
            found.append(Obstacle("no_port", f"no port of {names} is active: look at the links of {node}"))
    return found


def _memlock(needed: int, node: str) -> list[Obstacle]:
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return []
    may, must = format_bytes(Decimal(limit)), format_bytes(Decimal(needed))
    words = f"a rank may lock {may} of memory and needs {must}: raise LimitMEMLOCK of the container runtime on {node}"
    return [Obstacle("memlock", words)]


def _devices(folder: str) -> dict[str, bool]:
    """Return the devices by name, and whether a port of each is active."""
    found = {}
    for name in _names(folder):
        ports = os.path.join(folder, name, "ports")
        found[name] = any(_ACTIVE in _text(os.path.join(ports, port, "state")) for port in _names(ports))
    return found


def _variables(env: Mapping[str, str], devices: list[str]) -> list[Obstacle]:
    """Return what variables of NCCL do to RDMA, as its documentation has it."""
    if env.get("NCCL_IB_DISABLE", "0").strip() not in ("", "0"):
        return [Obstacle("variable", "NCCL_IB_DISABLE turns it off: take the variable away, or set it to 0")]
    if env.get("NCCL_NET", "").strip().lower() == "socket":
        return [Obstacle("variable", "NCCL_NET=Socket turns it off: take the variable away")]
    wanted = env.get("NCCL_IB_HCA", "").strip()
    if wanted and not any(_meant(wanted, name) for name in devices):
        there = ", ".join(devices)
        return [Obstacle("variable", f"NCCL_IB_HCA={wanted[:80]} leaves none of {there}: name one of these")]
    return []


def _meant(wanted: str, device: str) -> bool:
    """Return whether a value of NCCL_IB_HCA leaves a device: it has beginnings of names; `^` before leaves them out."""
    without, wanted = wanted[:1] == "^", wanted.lstrip("^")
    exact, wanted = wanted[:1] == "=", wanted.lstrip("=")
    names = [part.partition(":")[0].strip() for part in wanted.split(",")]
    named = any(device == name if exact else device.startswith(name) for name in names if name)
    return named is not without


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(100)
    except OSError:
        return ""
