"""`hai sim replay`."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import TextIO

from hai_client.cli.shared.context import Context
from hai_scheduler.sim.records import Records
from hai_scheduler.sim_cli.running import require_place, show, simulated, write_whole
from hai_scheduler.sim_cli.settings import rules_of, study_of

COLUMNS = ("time", "held_nodes", "waiting_tasks", "waiting_nodes", "ready_nodes")


def write_timeline(records: Records, file: TextIO) -> None:
    """Write one line for each moment with a plan; its values hold until the next line."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for moment in records.moments:
        time = moment.at.isoformat().replace("+00:00", "Z")
        writer.writerow([time, _plain(moment.held), moment.waiting, _plain(moment.wanted), moment.ready])


def _plain(value: float) -> str:
    """Return the number with at most four decimals, without the rounding errors of sums of eighths."""
    return f"{abs(value):.4f}".rstrip("0").rstrip(".")


def run(args: argparse.Namespace, context: Context) -> int:
    """Simulate one set of rules, and print its figures. Returns the exit status."""
    require_place("--timeline", args.timeline)
    rules = rules_of(args.policy, args.numbers)
    study = study_of(args)
    outcome, summary = simulated(study, rules, args, context)
    if args.timeline is not None:

        def write(path: Path) -> None:
            with path.open("w", encoding="utf-8", newline="") as file:
                write_timeline(outcome.records, file)

        write_whole("--timeline", args.timeline, write)
    if context.json:
        context.out.json({**summary, "assumptions": list(study.assumptions)})
    else:
        show([summary], study.assumptions, context.out)
    return 0
