"""What a container uses: its cgroup of version 2, as the container sees it."""
# ruff: noqa: PTH118, PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os

from hai_client.metrics.rates import Rates

#: Where a container finds its own cgroup.
ROOT = "/sys/fs/cgroup"


class CgroupReader:
    """Cores, memory, throttling and disk traffic of a container (cgroup-v2.rst of the kernel's documentation).

    Use it only where the cgroup is the rank's alone: on a machine that ranks share it is everybody's.

    Args:
        root: The folder of the cgroup.
    """

    def __init__(self, root: str = ROOT) -> None:
        self._root = root
        self._rates = Rates()

    def available(self) -> bool:
        """Return whether the folder is a cgroup of version 2 with figures of CPU time and memory."""
        return "usage_usec" in self._fields("cpu.stat") and self._number("memory.current") is not None

    def read(self, now: float) -> dict[str, float]:
        """Return the metrics of this moment (seconds of a clock that never steps)."""
        counters = {}
        cpu = self._fields("cpu.stat")
        if "usage_usec" in cpu:
            counters["cpu"] = cpu["usage_usec"] / 1e6
        if "throttled_usec" in cpu:
            counters["cpu_throttled"] = cpu["throttled_usec"] / 1e6
        counters.update(self._traffic())
        found = self._rates.of(counters, now)
        memory = self._number("memory.current")
        if memory is not None:
            # As Kubernetes counts it: the cache of files that nobody reads now is given back when memory is short.
            found["memory"] = max(0, memory - self._fields("memory.stat").get("inactive_file", 0))
        kills = self._fields("memory.events").get("oom_kill")
        if kills is not None:
            found["oom_kills"] = kills
        return found

    def _traffic(self) -> dict[str, float]:
        text = self._text("io.stat")
        if not text:
            return {}
        words = [word.partition("=") for line in text.splitlines() for word in line.split()[1:]]
        sums = {"rbytes": 0, "wbytes": 0}
        for name, _, value in words:
            if name in sums and value.isdigit():
                sums[name] += int(value)
        return {"disk_read": sums["rbytes"], "disk_written": sums["wbytes"]}

    def _fields(self, name: str) -> dict[str, int]:
        pairs = (line.split() for line in self._text(name).splitlines())
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}

    def _number(self, name: str) -> int | None:
        text = self._text(name).strip()
        return int(text) if text.isdigit() else None

    def _text(self, name: str) -> str:
        try:
            with open(os.path.join(self._root, name), encoding="ascii", errors="replace") as file:
                return file.read()
        except OSError:
            return ""
