"""Measure, print, store: `python -m bench [--cold]`."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import browser, machine, queued, running, starting, urgent
from bench.figures import Report
from e2e.conftest import ROOT, Platform

NODES = 16
WARM = 3


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description="Measure a real platform on this machine.")
    parser.add_argument("--cold", action="store_true", help="also `make up` in a fresh clone: some minutes more")
    parser.add_argument("--nodes", type=int, default=NODES, help=f"simulated nodes ({NODES})")
    words = parser.parse_args()
    began, report = time.monotonic(), Report()
    found: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine.describe(ROOT)}
    with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        _with_running_tasks(report, folder / "running", words.nodes)
        _with_a_queue(report, folder / "queued", words.nodes)
        if words.cold:
            _say("make up in a fresh clone")
            starting.cold(report, folder / "cold")
    found |= {"nodes": words.nodes, "seconds": round(time.monotonic() - began), **report.data()}
    print(report.table())
    _store(found)


def _with_running_tasks(report: Report, folder: Path, nodes: int) -> None:
    folder.mkdir()
    platform = Platform(folder, nodes=nodes)
    try:
        _say("starting")
        report.add(starting.TOPIC, "`hai up` to ready, new state folder", starting.start(platform), "s")
        stops, starts = [], []
        for _ in range(WARM):
            stops.append(starting.stop(platform))
            starts.append(starting.start(platform))
        report.spread(starting.TOPIC, "`hai up` to ready, again", starts)
        report.spread(starting.TOPIC, "Ctrl-C to the end", stops, note="nothing runs")
        _say("trivial tasks")
        running.measure(report, platform)
        _say("urgent tasks")
        urgent.measure(report, platform, folder / "victims")
        _say("browser")
        browser.measure(report, platform, "200 tasks")
    finally:
        platform.end()


def _with_a_queue(report: Report, folder: Path, nodes: int) -> None:
    folder.mkdir()
    platform = Platform(folder, nodes=nodes)
    try:
        _say("a long queue")
        platform.start()
        queued.measure(report, platform)
        _say("browser, a long queue")
        browser.measure(report, platform, "1,000 tasks")
        starting.stop(platform)
        report.add(starting.TOPIC, "`hai up` to ready, 1,000 queued", starting.start(platform), "s")
    finally:
        platform.end()


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {what} ...", flush=True)


def _store(found: dict[str, Any]) -> None:
    print(json.dumps(found["machine"]), f"{found['seconds']} s")
    file = ROOT / "bench-results" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(found, indent=2) + "\n")
    print(f"stored in {file.relative_to(ROOT)}")


main()
