"""A training loop that measures what computes beside it: `metrics_loop.py PAIRS`; figures go to `figures.json`.

Run by `bench.metrics_slowdown` under a supervisor, which it asks whether to record every other second.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Final

from unit.client.rank.profiling.kineto_client import KinetoClient

WINDOW_S: Final = 1.0


def _step() -> int:
    return sum(number * number % 7 for number in range(20_000))


def _cpu_of(pid: int) -> float:
    """The processor time of all threads of a process, in seconds: the first number of `schedstat` is in nanoseconds."""
    return sum(int(one.read_text().split()[0]) for one in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def _ask(client: KinetoClient, heard: list[str]) -> None:
    client.say()
    time.sleep(WINDOW_S / 2)
    answer = client.heard()
    if answer is not None:
        heard.append(answer)


def _beside(window: float) -> float:
    """Turn for a window, and return the seconds that the supervisor and the loop's other threads computed in it."""
    end = time.monotonic() + window
    before = time.process_time() - time.thread_time() + _cpu_of(os.getppid())
    while time.monotonic() < end:
        _step()
    return time.process_time() - time.thread_time() + _cpu_of(os.getppid()) - before


def main(pairs: int) -> None:
    """Measure pairs of windows, with and without asking; each pair in the other order than the one before."""
    found, heard = list[tuple[float, float]](), list[str]()
    with KinetoClient(os.environ["KINETO_IPC_SOCKET_DIR"]) as client:
        _beside(WINDOW_S)
        for pair in range(pairs):
            taken = {}
            for asks in (True, False) if pair % 2 else (False, True):
                asking = threading.Thread(target=_ask, args=(client, heard)) if asks else None
                if asking is not None:
                    asking.start()
                taken[asks] = _beside(WINDOW_S) / WINDOW_S
                if asking is not None:
                    asking.join()
            found.append((taken[False], taken[True]))
    draft = Path("figures.draft")
    draft.write_text(json.dumps({"pairs": found, "heard": len(heard)}))
    draft.rename("figures.json")


if __name__ == "__main__":
    main(int(sys.argv[1]))
