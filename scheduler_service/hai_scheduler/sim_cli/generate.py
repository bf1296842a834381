"""`hai sim generate`."""

from __future__ import annotations

import argparse

from hai_client.cli.shared.context import Context
from hai_scheduler.sim.formats.native import lines_of
from hai_scheduler.sim.generate import Mix, generate
from hai_scheduler.sim_cli.running import require_place, write_lines


def run(args: argparse.Namespace, context: Context) -> int:
    """Write a made-up trace. Returns the exit status."""
    require_place("--output", args.output)
    mix = Mix(tasks=args.tasks, load=args.load, nodes=args.nodes, gpus_per_node=args.gpus_per_node, seed=args.seed)
    about = (
        f"made up by `hai sim generate`: {args.tasks} tasks, load {args.load:g} of {args.nodes} nodes, seed {args.seed}"
    )
    write_lines(lines_of(generate(mix), about=about), args.output, context)
    return 0
