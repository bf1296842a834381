"""Samples a rank as a supervisor does, and prints what that costs as JSON: `metrics_rank.py SECONDS`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from hai_client.metrics.window import PACKED_FORM
from hai_client.rank.shared.api import Answer, RankApi


class _Taking(RankApi):
    """A service that takes everything, packed."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1", "", "1.1", 0)

    def _request(self, method: str, path: str, data: bytes | None, timeout: float, *, kind: str = "") -> Answer:
        return Answer(200, {"packed_form": PACKED_FORM})


def _rss_mib() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise LookupError("this process has no memory")


def main(seconds: float) -> None:
    """Sample for that long, in steps of a tenth of a second, as the supervisor does."""
    import threading  # noqa: F401 - the supervisor has it already

    before = _rss_mib()
    from hai_client.rank.records.metrics import RankMetrics, readers_of

    metrics = RankMetrics(_Taking(), readers_of({}, pod=False))
    time.sleep(2)
    began, idle = time.process_time(), 0.0
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        metrics.step(now)
        time.sleep(0.1)
    spent = time.process_time() - began
    # The loop itself turns in a supervisor that measures nothing, too.
    again = time.process_time()
    for _ in range(50):
        time.sleep(0.1)
    idle = (time.process_time() - again) / 5
    metrics.close()
    print(json.dumps({"share": 100 * (spent / seconds - idle), "mib": _rss_mib() - before, "used": metrics.summary()}))


if __name__ == "__main__":
    main(float(sys.argv[1]))
