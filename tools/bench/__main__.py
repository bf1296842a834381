"""Measure, print, store: `python -m bench [WHAT ...] [--cold] [--study NAME]`."""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import machine
from bench.figures import Report

ROOT = Path(__file__).parents[2]
NODES = 16


@dataclass(frozen=True, slots=True)
class Study:
    """A study: a benchmark that can be named on the command line."""

    #: One line for `--help`.
    help: str
    #: Measures, and adds figures to the report; its result is stored beside the figures.
    measure: Callable[[Report, argparse.Namespace], Mapping[str, Any] | None]


def _module(name: str) -> Any:
    """Import a module of `bench`, so that only the modules of chosen studies are imported."""
    return importlib.import_module(f"bench.{name}")


def _platform(report: Report, words: argparse.Namespace) -> Mapping[str, Any]:
    _module("on_platform").measure(report, words.nodes, cold=words.cold)
    return {"nodes": words.nodes}


def _churn(report: Report, words: argparse.Namespace) -> Mapping[str, Any]:
    churn = _module("churn")
    tasks = words.tasks or churn.TASKS
    churn.measure(report, tasks=tasks)
    return {"tasks": tasks}


def _peers(report: Report, words: argparse.Namespace) -> None:
    peers = _module("peers")
    peers.measure(report, ROOT, tasks=words.tasks or peers.TASKS)


def _fairness(report: Report, words: argparse.Namespace) -> Mapping[str, Any]:
    attacks = words.attacks.split(",") if words.attacks else list(_module("crowd").ATTACKS)
    _module("fairness").measure(report, words.seconds, attacks)
    return {"measured_for_s": words.seconds, "attacks": attacks}


def _ticks(report: Report, words: argparse.Namespace) -> Mapping[str, Any]:
    _module("ticks").measure(report, words.queued, profile=words.profile)
    return {"queued": words.queued}


def _reports(report: Report, words: argparse.Namespace) -> Mapping[str, Any]:
    reports = _module("reports")
    runs = words.tasks or reports.RUNS
    reports.measure(report, runs)
    return {"runs": runs}


def _studio(report: Report, words: argparse.Namespace) -> Mapping[str, Any]:
    _module("studio.measure").measure(report, words.minutes)
    return {"minutes": words.minutes}


def _haienv(report: Report, _words: argparse.Namespace) -> None:
    _module("environments").measure(report)
    _module("kernels").measure(report)


def _traces(report: Report, words: argparse.Namespace) -> Mapping[str, Any]:
    return {"traces": _module("traces").measure(report, ROOT, words.study)}


def _plain(name: str) -> Callable[[Report, argparse.Namespace], None]:
    """A study without options."""
    return lambda report, _words: _module(name).measure(report)


STUDIES = {
    "plans": Study("how long one plan takes, beside the original's", _plain("plans")),
    "platform": Study("a real platform, started and used", _platform),
    "churn": Study("trivial tasks through the scheduler alone, also behind a long queue", _churn),
    "fairness": Study("what one user with 64 clients does to another", _fairness),
    "ffrecord": Study("reading FFRecord files, beside small files and the original's reader", _plain("ffrecord")),
    "haienv": Study("how fast environments are built, listed, frozen, and what their kernels add to a start", _haienv),
    "metrics": Study("what metrics cost the rank, the service, and who looks at a day of them", _plain("metrics")),
    "followers": Study("what followers of one log cost the service, and how late they hear", _plain("followers")),
    "frameworks": Study("what an interruption costs with other people's frameworks", _plain("frameworks")),
    "peers": Study("the platform beside Slurm on this machine", _peers),
    "recovery": Study("how long until the platform is back of which something was killed", _plain("recovery")),
    "reports": Study("how long reports take over a million runs, on SQLite and PostgreSQL", _reports),
    "studio": Study("how fast Studio is at 1,500 nodes and 10,000 tasks, and what 200 pages cost", _studio),
    "ticks": Study("what a tick and the reads of the interface cost with thousands of tasks queued", _ticks),
    "kubernetes": Study(
        "starting on a real API server with simulated nodes, beside the stock scheduler", _plain("cluster.measure")
    ),
    "packs": Study(
        "how long a task on Kubernetes waits for its environment, with copies on nodes and without",
        _plain("cluster.packs"),
    ),
    "traces": Study("how well public traces are scheduled, in simulations", _traces),
}
#: Studies that are measured when the command line names none. The traces take long: `make bench-traces`.
USUAL = ("plans", "platform")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description="Measure HAI on this machine.")
    known = "; ".join(f"{name}: {study.help}" for name, study in STUDIES.items())
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"{known} ({' '.join(USUAL)})")
    parser.add_argument("--cold", action="store_true", help="platform: also `make up` in a fresh clone, some minutes")
    parser.add_argument("--tasks", type=int, help="churn, peers: trivial tasks (2,000; 500); reports: runs (1,000,000)")
    parser.add_argument("--nodes", type=int, default=NODES, help=f"platform: simulated nodes ({NODES})")
    parser.add_argument("--queued", type=int, default=10_000, help="ticks: tasks that wait (10000)")
    parser.add_argument("--profile", action="store_true", help="ticks: also where the time goes, function by function")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="fairness: how long each of its measurements lasts (20)"
    )
    parser.add_argument("--attacks", help="fairness: these attacks alone, separated by commas (all of bench.crowd)")
    parser.add_argument(
        "--minutes", type=float, default=2.0, help="studio: how long the memory of a tab is watched (2); 60: an hour"
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
        for name, study in STUDIES.items():
            if name in chosen:
                found |= study.measure(report, words) or {}
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
