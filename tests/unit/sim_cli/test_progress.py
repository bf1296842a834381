"""How far a simulation is, on a terminal and in a file."""

from __future__ import annotations

import io

from hai_scheduler.sim.simulate import Progress
from hai_scheduler.sim_cli.progress import Ticker
from unit.sim.jobs_kit import T0


def told(terminal: bool) -> str:
    times = iter([0.0, 0.1, 4.0, 20.0])
    file = io.StringIO()
    ticker = Ticker("hai", file, terminal=terminal, timer=lambda: next(times))
    for done in (0, 25, 50):
        ticker(Progress(done=done, jobs=100, now=T0))
    ticker.close()
    return file.getvalue()


def test_progress_says_how_far_it_is_and_how_long_it_takes() -> None:
    assert told(terminal=False) == (
        "hai: 25% of 100 jobs, at 2026-01-05 08:00, about 12 s left\n"
        "hai: 50% of 100 jobs, at 2026-01-05 08:00, about 20 s left\n"
    )
    assert told(terminal=True).endswith("about 20 s left\r\x1b[K")
    assert "\n" not in told(terminal=True)
