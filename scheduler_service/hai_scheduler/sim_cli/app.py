"""The verbs of `hai sim`. Only what argparse needs is imported here; each verb's module is imported when it runs."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output
from hai_client.cli.shared.parser import Command, add_common, build
from hai_client.errors import HaiError, Invalid
from hai_scheduler.sim_cli import options

_EXAMPLES = """\
examples:
  hai sim generate --tasks 2000 --load 0.9 --nodes 16 > trace.jsonl
  hai sim replay trace.jsonl --nodes 16 --set slice=20m
  hai sim compare trace.jsonl --nodes 16 --policies hai,hai/slice=2h,fifo,las --html report.html
  hai sim export > history.jsonl"""

#: Each verb: its name, its help text, the function that declares its options, and the module whose `run` is called.
_VERBS = (
    ("replay", "run a trace under one set of rules and print its figures", options.replay, "replay"),
    ("compare", "run a trace under several sets of rules, side by side", options.compare, "compare"),
    ("generate", "write a made-up trace", options.generate, "generate"),
    ("export", "write the platform's own history as a trace", options.export, "export"),
    ("plan", "make one plan from a recorded snapshot, with a sentence for every task that waits", options.plan, "plan"),
)


def run(argv: Sequence[str]) -> int:
    """Run `hai sim` as `hai_scheduler.sim_cli.command` does."""
    args = build(COMMAND).parse_args(argv)
    out = Output.of_process()
    context = Context(out, json=getattr(args, "json", False), url=getattr(args, "url", None))
    return COMMAND.run(args, context) or 0


def _configure(parser: argparse.ArgumentParser) -> None:
    group: Any = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, help_, declare, _ in _VERBS:
        leaf = group.add_parser(name, help=help_, description=help_, allow_abbrev=False)
        declare(leaf)
        add_common(leaf)


def _run(args: argparse.Namespace, context: Context) -> int:
    from hai_scheduler.core.model.policy import PolicyError
    from hai_scheduler.sim.engine import Stalled
    from hai_scheduler.sim.formats.errors import TraceError
    from hai_scheduler.sim.snapshots import SnapshotError

    module = next(module for name, _, _, module in _VERBS if name == args.verb)
    verb = importlib.import_module(f"hai_scheduler.sim_cli.{module}")
    try:
        code: int = verb.run(args, context)
    except PolicyError as error:
        raise Invalid(f"--set: {error}") from None
    except (TraceError, SnapshotError) as error:
        raise Invalid(str(error)) from None
    except Stalled as error:
        raise HaiError(str(error)) from None
    return code


COMMAND = Command(
    name="sim",
    configure=_configure,
    run=_run,
    about="Try scheduling rules on a trace, in virtual time and with the platform's own scheduler.",
    examples=_EXAMPLES,
)
