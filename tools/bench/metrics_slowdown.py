"""How much slower a loop becomes by the socket at which a task may be recorded, while nobody records.

A rank runs under a real supervisor. Every other second a thread of it asks the supervisor whether to record, as
PyTorch's profiler does once a second; each second that asks has one beside it that does not. What the loop loses is
what the thread and the supervisor compute more. The thread is Python, and computes more than PyTorch's own.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Final

from bench.figures import Report, say
from e2e.conftest import ROOT
from integration.rank.conftest import Bench, FakeService
from kit.waiting import wait_for

#: Pairs of a second that asks and one that does not.
PAIRS: Final = 20
LOOP: Final = Path(__file__).with_name("metrics_loop.py")


def measure(report: Report, topic: str) -> None:
    """Measure what the supervisor and the threads beside the loop compute, with and without asking."""
    say("a loop with and without asking whether to record")
    found = _figures_of_a_rank()
    assert found["heard"] == PAIRS, "the supervisor has not answered"
    slower = [100 * (asking - silent) for silent, asking in found["pairs"]]
    error = stdev(slower) / len(slower) ** 0.5
    note = f"of a core, asking and answering once a second; standard error {error:.3f} %, {PAIRS} pairs of seconds"
    report.add(topic, "a loop that asks whether to record: slower", mean(slower), "%", note, at_most=1)


def _figures_of_a_rank() -> dict[str, Any]:
    service = FakeService().start()
    with tempfile.TemporaryDirectory(prefix="hb-") as folder:
        one = Bench(Path(folder), service)
        try:
            env = {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT / "tools")])}
            one.prepare(sys.executable, str(LOOP), str(PAIRS), env=env)
            one.start()
            figures = Path(folder) / "figures.json"
            text = wait_for("the loop's figures", lambda: figures.read_text() if figures.exists() else None)
        finally:
            one.clean_up()
            service.stop()
    found: dict[str, Any] = json.loads(text or "")
    return found
