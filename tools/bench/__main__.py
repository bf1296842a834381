"""Measure, print, store: `python -m bench [WHAT ...]`."""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench import machine
from bench.figures import Report

ROOT: Final = Path(__file__).parents[2]
#: What is handed to a study besides the report: its options, from those of the command line.
Chosen = Callable[[argparse.Namespace], Mapping[str, Any]]


def _none(_words: argparse.Namespace) -> Mapping[str, Any]:
    return {}


#: The studies by name: their module, one line of help, and their options.
STUDIES: Final[Mapping[str, tuple[str, str, Chosen]]] = {
    "plans": ("plans", "how long one plan takes, beside the original's", _none),
    "platform": (
        "on_platform", "a real platform: an urgent task, and a long queue", lambda words: {"nodes": words.nodes},
    ),
    "fairness": (
        "fairness", "what one user with 64 clients does to another",
        lambda words: {"seconds": words.seconds} | ({"attacks": words.attacks} if words.attacks else {}),
    ),
    "ffrecord": ("ffrecord", "reading FFRecord files, beside small files and the original's reader", _none),
    "haienv": ("environments", "how fast environments are built, listed and frozen", _none),
    "metrics": ("metrics", "what metrics cost the rank and the service", _none),
    "peers": ("peers", "the platform beside Slurm on this machine", lambda words: {"root": ROOT, "tasks": words.tasks}),
    "reports": (
        "reports", "how long reports take over many runs, on SQLite and PostgreSQL", lambda words: {"runs": words.runs},
    ),
    "studio": ("studio.measure", "what 200 pages of Studio cost at 1,500 nodes and 10,000 tasks", _none),
    "ticks": (
        "ticks", "what a tick and the reads of the interface cost with thousands of tasks queued",
        lambda words: {"queued": words.queued, "profile": words.profile},
    ),
    "kubernetes": ("cluster.measure", "starting on a real API server, beside the stock scheduler", _none),
    "traces": (
        "traces", "how well public traces are scheduled, in simulations",
        lambda words: {"root": ROOT, "studies": words.study},
    ),
}  # fmt: skip
#: Studies that are measured when the command line names none.
USUAL: Final = ("plans", "platform")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description="Measure HAI on this machine.")
    known = "; ".join(f"{name}: {words}" for name, (_, words, _) in STUDIES.items())
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"{known} ({' '.join(USUAL)})")
    parser.add_argument("--tasks", type=int, default=500, help="peers: trivial tasks (500)")
    parser.add_argument("--runs", type=int, default=1_000_000, help="reports: runs of a year (1000000)")
    parser.add_argument("--nodes", type=int, default=16, help="platform: simulated nodes (16)")
    parser.add_argument("--queued", type=int, default=10_000, help="ticks: tasks that wait (10000)")
    parser.add_argument("--profile", action="store_true", help="ticks: also where the time goes, function by function")
    parser.add_argument("--seconds", type=float, default=20.0, help="fairness: how long each measurement lasts (20)")
    parser.add_argument(
        "--attacks",
        type=lambda text: text.split(","),
        help="fairness: these attacks alone, separated by commas (all of bench.crowd)",
    )
    parser.add_argument(
        "--study",
        action="append",
        default=[],
        choices=("pooled", "whole", "muri", "frontier"),
        help="traces: only this one; may be given again",
    )
    words = parser.parse_args()
    for what in words.what:
        if what not in STUDIES:
            parser.error(f"{what!r} cannot be measured: name one of {', '.join(STUDIES)}")
    began, report = time.monotonic(), Report()
    found: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine.describe(ROOT)}
    chosen = words.what or USUAL
    try:
        for name, (module, _, options) in STUDIES.items():
            if name in chosen:
                given = options(words)
                found[name] = {option: value for option, value in given.items() if option != "root"}
                results = importlib.import_module(f"bench.{module}").measure(report, **given)
                found[name] |= {"results": results} if results else {}
    finally:
        # What was measured in many minutes outlives what fails in the last one.
        found |= {"measured": list(chosen), "seconds": round(time.monotonic() - began), **report.data()}
        print(report.table())
        _store(found)


def _store(found: dict[str, Any]) -> None:
    print(json.dumps(found["machine"]), f"{found['seconds']} s")
    file = ROOT / "bench-results" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(found, indent=2) + "\n")
    print(f"stored in {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
