"""`hai sim replay`."""

from __future__ import annotations

import argparse
from pathlib import Path

from hai_client.cli.shared.context import Context
from hai_scheduler.sim.timeline import write_timeline
from hai_scheduler.sim_cli.running import require_place, simulated, write_whole
from hai_scheduler.sim_cli.settings import rules_of, study_of
from hai_scheduler.sim_cli.tables import show


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
