"""`hai policy try`: other policy numbers on the tasks of the last days, beside the numbers in force."""

from __future__ import annotations

import argparse
from typing import Any, Callable

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Column, Output
from hai_client.cli.shared.progress import ProgressLine
from hai_client.durations import format_duration
from hai_client.errors import Invalid
from hai_client.wire.policy import LevelTrial, Trial, TrialSide

_Show = Callable[[TrialSide], str]


def assignment(text: str) -> tuple[str, str]:
    """Read NAME=VALUE. Raises Invalid."""
    name, given, value = text.partition("=")
    if not (name and given):
        raise Invalid(f"{text!r} is not NAME=VALUE; write for example slice=1h")
    return name, value


def run(args: argparse.Namespace, ctx: Context) -> int:
    """Try the numbers of `args.changes`, and show the figures side by side. Returns the exit status."""
    values: dict[str, Any] = dict(map(assignment, args.changes))
    if not values:
        raise Invalid("try: name at least one number, for example `hai policy try slice=1h`")
    with ProgressLine(ctx.out) as say:
        found = ctx.client.try_policy(
            values,
            group=args.group,
            days=args.days,
            progress=lambda done: say(f"simulating, {done * 100:.0f} %"),
        )
    if not ctx.answered(found):
        show(ctx.out, found)
    return 0


def show(out: Output, trial: Trial) -> None:
    """Write a trial: what happened, and what happens with both sets of numbers."""
    sides = (trial.measured, trial.old, trial.new)
    columns = [Column("FIGURE"), *(Column(name, right=True) for name in ("MEASURED", "NOW", "TRIED"))]
    rows: list[list[Cell | str]] = [[title, *(figure(side) for side in sides)] for title, figure in _FIGURES]
    for level in trial.new.levels:
        for title, name in (("median", "wait_p50_s"), ("90 %", "wait_p90_s")):
            rows.append(
                [f"{level.level}: first wait, {title}", *(_wait(_at(side, level.level), name) for side in sides)]
            )
        rows.append([f"{level.level}: interruptions", *(_interruptions(_at(side, level.level)) for side in sides)])
    if len(trial.new.groups) > 1:
        names = [group.group for group in trial.new.groups]
        rows += [[f"group {name}: occupancy", *(_of_group(side, name) for side in sides)] for name in names]
    out.table(columns, rows)
    out.line(
        f"\n{trial.tasks} tasks since {trial.since:%Y-%m-%d %H:%M} UTC. MEASURED is what happened; NOW and TRIED are"
        " simulated with the numbers in force and with those that you try."
    )
    for assumption in trial.assumptions:
        out.line(f"- {assumption.sentence}")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.1f} %"


def _hours(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds / 3600:.1f}"


_FIGURES: tuple[tuple[str, _Show], ...] = (
    ("occupancy", lambda side: _percent(side.occupancy)),
    ("useful", lambda side: _percent(side.useful)),
    ("turns", lambda side: str(side.turns)),
    ("interruptions", lambda side: str(side.interruptions)),
    ("node hours lost", lambda side: _hours(side.lost_node_s)),
    ("tasks that never end", lambda side: str(side.unfinished)),
)


def _at(side: TrialSide, level: str) -> LevelTrial | None:
    return next((one for one in side.levels if one.level == level), None)


def _wait(level: LevelTrial | None, name: str) -> str:
    seconds = None if level is None else getattr(level, name)
    return "-" if seconds is None else format_duration(seconds)


def _interruptions(level: LevelTrial | None) -> str:
    return "-" if level is None else str(level.interruptions)


def _of_group(side: TrialSide, group: str) -> str:
    return _percent(next((one.occupancy for one in side.groups if one.group == group), None))
