"""`hai upgrade --plan`: its options, and what it prints."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Final

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.parser import Command, option
from hai_client.errors import Invalid
from hai_scheduler.state_cli.app import configure_state_dir, state_dir_of
from hai_scheduler.state_cli.upgrade_facts import facts_of
from hai_scheduler.state_cli.upgrade_plan import plan_of


def _configure(parser: argparse.ArgumentParser) -> None:
    configure_state_dir(parser)
    option(parser, "--plan", "say what changes, what must be done first, and how to go back; nothing is changed")


def _upgrade(args: argparse.Namespace, ctx: Context) -> int:
    if not args.plan:
        raise Invalid(
            "plan: missing; `hai upgrade --plan` says what to do. It is done by pip or make, and by a new start"
        )
    facts = facts_of(state_dir_of(args).resolve())
    plan = plan_of(facts)
    value = {**asdict(facts), "state_dir": str(facts.state_dir), "config": facts.config and str(facts.config)}
    if not ctx.answered({**value, **asdict(plan), "must": bool(plan.first)}):
        for title, lines in (
            ("What changes", plan.changes),
            ("What must be done first", plan.first or ["nothing"]),
            ("Tasks", [plan.tasks]),
            ("How to go back", plan.back),
        ):
            ctx.out.line(f"{title}:")
            for line in lines:
                ctx.out.line(f"  {line}")
    return 1 if plan.first else 0


UPGRADE: Final = Command(
    name="upgrade",
    configure=_configure,
    run=_upgrade,
    about=(
        "Say what the version that is installed here would change on this machine. Nothing is changed.\n"
        "The exit status is 1 if something must be done first."
    ),
    examples="examples:\n  hai upgrade --plan\n  hai upgrade --plan --json",
)
