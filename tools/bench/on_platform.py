"""Figures of a real platform on this machine: `python -m bench platform [--cold]`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench import browser, queued, running, starting, urgent
from bench.figures import Report, say
from bench.rest import without_limits
from e2e.conftest import Platform

WARM = 3


def measure(report: Report, nodes: int, *, cold: bool) -> None:
    """Start platforms with that many simulated nodes, and use them; `cold` also sets one up in a fresh clone."""
    with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        _with_running_tasks(report, folder / "running", nodes)
        _with_a_queue(report, folder / "queued", nodes)
        if cold:
            say("make up in a fresh clone")
            starting.cold(report, folder / "cold")


def _with_running_tasks(report: Report, folder: Path, nodes: int) -> None:
    folder.mkdir()
    platform = Platform(folder, nodes=nodes, options=without_limits(folder))
    try:
        say("starting")
        report.add(starting.TOPIC, "`hai up` to ready, new state folder", starting.start(platform), "s")
        stops, starts = [], []
        for _ in range(WARM):
            stops.append(starting.stop(platform))
            starts.append(starting.start(platform))
        report.spread(starting.TOPIC, "`hai up` to ready, again", starts)
        report.spread(starting.TOPIC, "Ctrl-C to the end", stops, note="nothing runs")
        say("trivial tasks")
        running.measure(report, platform)
        say("urgent tasks")
        urgent.measure(report, platform, folder / "victims")
        say("browser")
        browser.measure(report, platform, "200 tasks")
    finally:
        platform.end()


def _with_a_queue(report: Report, folder: Path, nodes: int) -> None:
    folder.mkdir()
    platform = Platform(folder, nodes=nodes, options=without_limits(folder))
    try:
        say("a long queue")
        platform.start()
        queued.measure(report, platform)
        say("browser, a long queue")
        browser.measure(report, platform, "1,000 tasks")
        starting.stop(platform)
        report.add(starting.TOPIC, "`hai up` to ready, 1,000 queued", starting.start(platform), "s")
    finally:
        platform.end()
