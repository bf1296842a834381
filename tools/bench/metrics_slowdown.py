"""How much slower a loop becomes by the socket at which a task may be recorded, while nobody records.

Two ranks run beside each other under real supervisors, one with the socket and one with `KINETO_USE_DAEMON=0`, several
times in turn. Where PyTorch is installed (make test-frameworks) the loop is one of PyTorch, whose profiler asks by
itself; else a thread of the loop asks as often, which costs more: it is Python and takes turns with the loop.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import Final

from bench.figures import Report, say
from e2e.conftest import ROOT
from integration.rank.conftest import Bench, FakeService
from kit.waiting import wait_for

ROUNDS: Final = 6
#: How long a loop of a round goes on, seconds.
LASTS_S: Final = 8.0
TORCH: Final = ROOT / ".venv-frameworks/bin/python"
LOOP: Final = Path(__file__).with_name("metrics_loop.py")


def measure(report: Report, topic: str) -> None:
    """Measure the processor time of a step, of the rest of its process, and of the supervisor."""
    python = str(TORCH) if TORCH.exists() else sys.executable
    words = "PyTorch" if TORCH.exists() else "a stand-in of PyTorch's profiler"
    say(f"a loop with and without the socket for recordings: {words}")
    found: dict[bool, list[dict[str, float]]] = {True: [], False: []}
    for number in range(ROUNDS):
        order = (True, False) if number % 2 else (False, True)
        with _ranks(python, order) as benches:
            for socket, one in zip(order, benches, strict=True):
                found[socket].append(_ended(one))
    steps = {socket: median(one["step"] for one in rounds) for socket, rounds in found.items()}
    beside = {socket: mean(one["beside"] + one["supervisor"] for one in rounds) for socket, rounds in found.items()}
    asking = 100 * (beside[True] - beside[False])
    slower = 100 * (steps[True] / steps[False] - 1) + asking
    note = f"processor time; {words}, which asks once a second; {ROUNDS} rounds"
    assert TORCH.exists() or min(one["asked"] for one in found[True]) > 1, "the supervisor has not answered"
    report.add(topic, "a loop that could be recorded: slower than one that cannot", slower, "%", note, at_most=1)
    report.add(topic, "of that, asking and answering", asking, "%", "other threads of the loop, and the supervisor")


@contextmanager
def _ranks(python: str, sockets: tuple[bool, bool]) -> Iterator[list[Bench]]:
    """Two ranks that begin at the same time."""
    with tempfile.TemporaryDirectory(prefix="hb-") as folder:
        benches, services = [], []
        try:
            for number, socket in enumerate(sockets):
                services.append(FakeService().start())
                one = Bench(Path(folder) / str(number), services[-1])
                one.folder.mkdir()
                env = {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT / "tools")])}
                if not socket:
                    env["KINETO_USE_DAEMON"] = "0"
                one.prepare(python, str(LOOP), str(LASTS_S), env=env)
                benches.append(one)
            for one in benches:
                one.start()
            yield benches
        finally:
            for one in benches:
                one.clean_up()
            for service in services:
                service.stop()


def _ended(one: Bench) -> dict[str, float]:
    """What the loop has printed at its end, with the share of a core that its supervisor took."""
    found: dict[str, float] = json.loads(wait_for("the loop's figures", lambda: _figures(one)) or "")
    return found


def _figures(one: Bench) -> str | None:
    file = one.folder / "figures.json"
    return file.read_text() if file.exists() else None
