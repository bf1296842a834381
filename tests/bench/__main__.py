"""Measure, print, store: `python -m bench [WHAT ...] [--cold] [--study NAME]`."""

from __future__ import annotations

import argparse
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import machine
from bench.figures import Report

ROOT = Path(__file__).parents[2]
NODES = 16
#: What is measured when nothing is named. The traces take long: `make bench-traces`.
USUAL = ("plans", "platform")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description="Measure HAI on this machine.")
    parser.add_argument(
        "what",
        nargs="*",
        metavar="WHAT",
        help="plans: how long one plan takes, beside the original's; platform: a real platform, started and used; "
        "recovery: how long until the platform is back of which something was killed; "
        "fairness: what one user with 64 clients does to another; "
        "kubernetes: starting on a real API server with simulated nodes, beside the stock scheduler; "
        f"traces: how well public traces are scheduled, in simulations ({' '.join(USUAL)})",
    )
    parser.add_argument("--cold", action="store_true", help="platform: also `make up` in a fresh clone, some minutes")
    parser.add_argument("--nodes", type=int, default=NODES, help=f"platform: simulated nodes ({NODES})")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="fairness: how long each of its measurements lasts (20)"
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
        if what not in (*USUAL, "recovery", "fairness", "traces", "kubernetes"):
            parser.error(f"{what!r} cannot be measured: name plans, platform, recovery, fairness, traces or kubernetes")
    began, report = time.monotonic(), Report()
    found: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine.describe(ROOT)}
    what = words.what or USUAL
    if "plans" in what:
        from bench import plans

        plans.measure(report)
    if "platform" in what:
        from bench import on_platform

        on_platform.measure(report, words.nodes, cold=words.cold)
        found["nodes"] = words.nodes
    if "recovery" in what:
        from bench import recovery

        recovery.measure(report)
    if "fairness" in what:
        from bench import fairness

        fairness.measure(report, words.seconds)
    if "kubernetes" in what:
        from bench.cluster import measure

        measure.measure(report)
    if "traces" in what:
        from bench import traces

        found["traces"] = traces.measure(report, ROOT, words.study)
    found |= {"measured": list(what), "seconds": round(time.monotonic() - began), **report.data()}
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
