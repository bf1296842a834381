"""Network traffic: of the network namespace of this process, and of the InfiniBand ports of the node."""
# ruff: noqa: PTH118, PTH123, PTH208
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os

from hai_client.metrics.rates import Rates

DEVICES = "/proc/self/net/dev"
INFINIBAND = "/sys/class/infiniband"
#: The data counters of InfiniBand count words of four bytes (`Documentation/ABI/stable/sysfs-class-infiniband`).
WORD_BYTES = 4


class NetworkReader:
    """Bytes by second that came in and went out.

    Use it only where the network is the rank's alone, as in a pod: on a machine that ranks share it is everybody's.
    The InfiniBand ports are the node's, also in a container.

    Args:
        devices: The file with the counters of the network devices.
        infiniband: The folder of the InfiniBand devices.
    """

    def __init__(self, devices: str = DEVICES, infiniband: str = INFINIBAND) -> None:
        self._devices = devices
        self._infiniband = infiniband
        self._rates = Rates()

    def read(self, now: float) -> dict[str, float]:
        """Return the metrics of this moment (seconds of a clock that never steps)."""
        return self._rates.of({**self._of_devices(), **self._of_ports()}, now)

    def _of_devices(self) -> dict[str, float]:
        try:
            with open(self._devices, encoding="ascii", errors="replace") as file:
                lines = file.read().splitlines()[2:]
        except OSError:
            return {}
        came, went = 0, 0
        for line in lines:
            name, _, rest = line.partition(":")
            fields = rest.split()
            if name.strip() != "lo" and len(fields) >= 9 and fields[0].isdigit() and fields[8].isdigit():
                came, went = came + int(fields[0]), went + int(fields[8])
        return {"net_received": came, "net_sent": went}

    def _of_ports(self) -> dict[str, float]:
        came, went, found = 0, 0, False
        for device in _names(self._infiniband):
            ports = os.path.join(self._infiniband, device, "ports")
            for port in _names(ports):
                received = _number(os.path.join(ports, port, "counters", "port_rcv_data"))
                sent = _number(os.path.join(ports, port, "counters", "port_xmit_data"))
                if received is not None and sent is not None:
                    came, went, found = came + received * WORD_BYTES, went + sent * WORD_BYTES, True
        return {"ib_received": came, "ib_sent": went} if found else {}


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            text = file.read().strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdigit() else None
