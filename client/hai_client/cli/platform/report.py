"""`hai report`: what was used, how long tasks waited, what was lost, and what it costs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Union

from hai_client.backports import UTC, dataclass
from hai_client.cli.platform.days import read_range
from hai_client.cli.platform.sheets import csv_text
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Column
from hai_client.cli.shared.parser import Command, meant, option
from hai_client.durations import format_duration
from hai_client.errors import Invalid
from hai_client.wire.reports import NodesReport, UsageReport

Number = Union[float, int, None]

#: What rows can be by, as it is typed.
BY = ("user", "group", "priority", "node-group", "kind", "day", "month")
NODES_BY = ("node-group", "day", "month")


@dataclass(frozen=True, slots=True)
class Figure:
    """A column of figures: its title in tables and in CSV, its value, and how a table shows it."""

    title: str
    name: str  #: The title in CSV, with the unit.
    of: Callable[[Any], Number]
    show: Callable[[float], str]
    optional: bool = False
    rare: bool = False  #: Whether tables have it only if there is something of it.


def _hours(hours: float) -> str:
    """Return hours with a digit after the point, and less than one with two, so that short tasks are seen."""
    if 0 < hours < 0.01:
        return "<0.01"
    return f"{hours:.2f}" if 0 < hours < 0.95 else f"{hours:,.1f}"


def _percent(share: float) -> str:
    return f"{share * 100:.1f}%"


def _times(factor: float) -> str:
    return f"{factor:,.2f}"


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _hour_figure(title: str, name: str, of: Callable[[Any], float | None], *, optional: bool = False) -> Figure:
    def hours(row: Any) -> Number:
        seconds = of(row)
        return None if seconds is None else seconds / 3600

    return Figure(title, f"{name}_hours", hours, _hours, optional)


_NODE_HOURS = _hour_figure("NODE HOURS", "node", lambda row: row.node_s)
_GPU_HOURS = _hour_figure("GPU HOURS", "gpu", lambda row: row.gpu_s)
_USEFUL = Figure("USEFUL", "useful_share", lambda row: row.useful_share, _percent)
_RUNS = Figure("STARTS", "starts", lambda row: row.starts, _count)
_LOST = _hour_figure("LOST", "lost_node", lambda row: row.lost_s)

#: The columns of each report, after the one with what its rows are by.
FIGURES: dict[str, tuple[Figure, ...]] = {
    "usage": (
        _RUNS,
        _NODE_HOURS,
        _GPU_HOURS,
        _USEFUL,
        Figure("ENERGY kWh", "energy_kwh", lambda row: row.energy_j / 3.6e6, lambda kwh: f"{kwh:,.1f}", True),
        Figure("CORE HOURS", "core_hours", lambda row: row.core_s / 3600, _hours, rare=True),
    ),
    "waiting": (
        _RUNS,
        Figure("MEAN WAIT", "wait_mean_s", lambda row: row.wait_mean_s, format_duration),
        Figure("MEDIAN", "wait_median_s", lambda row: row.wait_median_s, format_duration),
        Figure("90 % UP TO", "wait_p90_s", lambda row: row.wait_p90_s, format_duration),
        Figure("INTERRUPTED", "interruptions", lambda row: row.interruptions, _count),
        Figure("SLOWDOWN", "slowdown_mean", lambda row: row.slowdown_mean, _times, rare=True),
        Figure("ITS MEDIAN", "slowdown_median", lambda row: row.slowdown_median, _times, optional=True, rare=True),
    ),
    "efficiency": (
        _NODE_HOURS,
        _hour_figure("USEFUL", "useful_node", lambda row: row.useful_s),
        _hour_figure("STARTING", "starting_node", lambda row: row.starting_s, optional=True),
        _hour_figure("SAVING", "saving_node", lambda row: row.saving_s, optional=True),
        _LOST,
        Figure("USEFUL SHARE", "useful_share", lambda row: row.useful_share, _percent),
    ),
    "waste": (
        _LOST,
        _hour_figure("IDLE GPUS", "idle_gpu", lambda row: row.gpu_idle_s),
        _hour_figure("IN FAILED RUNS", "failed_node", lambda row: row.failed_s),
        Figure("INTERRUPTED", "interruptions", lambda row: row.interruptions, _count),
        Figure("BROKEN", "broken", lambda row: row.broken, _count),
        Figure("FAILED", "failures", lambda row: row.failures, _count),
        Figure("FAILURE RATE", "failure_rate", lambda row: row.failure_rate, _percent),
        Figure("SHORT", "short_runs", lambda row: row.short_runs, _count),
    ),
    "nodes": (
        _hour_figure("NODE HOURS", "capacity_node", lambda row: row.capacity_s),
        _hour_figure("DOWN", "down_node", lambda row: row.down_s),
        _hour_figure("HELD", "held_node", lambda row: row.held_s),
        Figure("OCCUPANCY", "occupancy", lambda row: row.occupancy, _percent),
        Figure("USEFUL SHARE", "useful_share", lambda row: row.useful_share, _percent),
    ),
}

#: What each report tells, for its help and for its first line.
ABOUT = {
    "usage": "node hours, GPU hours, and what they cost",
    "waiting": "how long tasks waited, and how much longer they took for it",
    "efficiency": "how much of the node hours was useful",
    "waste": "what was lost, idle or failed",
    "nodes": "how much of the nodes was held",
}


def _configure(parser: argparse.ArgumentParser) -> None:
    option(parser, "what WHAT", "; ".join(f"{name}: {text}" for name, text in ABOUT.items()), _what)
    option(parser, "--by WHAT", f"unit of the rows: {', '.join(BY)} (user; nodes: node-group)", _by)
    option(parser, "--from DAY", "first day: 2026-11-01, 2026-11, yesterday or 7d (this month)", dest="since")
    option(parser, "--to DAY", "last day, included (until now)", dest="until")
    option(parser, "--user NAME", "only tasks of this user (for admins)")
    option(parser, "--group NAME", "sums of this group of users: one of yours, or for admins any")
    option(parser, "--csv", "print CSV, for a spreadsheet")


def _what(text: str) -> str:
    if text in ABOUT:
        return text
    raise Invalid(f"{text!r} is not a report; {meant(text, ABOUT)}there are {', '.join(ABOUT)}")


def _by(text: str) -> str:
    word = text.replace("_", "-")
    if word in BY:
        return word
    raise Invalid(f"by: {text!r} is not known; {meant(word, BY)}it is one of {', '.join(BY)}")


def _report(args: argparse.Namespace, ctx: Context) -> None:
    if args.csv and ctx.json:
        raise Invalid("csv: not together with --json; choose one of the two")
    since, until = read_range(args.since, args.until, datetime.now(UTC))
    by = None if args.by is None else args.by.replace("-", "_")
    if args.what == "nodes":
        if args.by is not None and args.by not in NODES_BY:
            raise Invalid(f"by: {args.by!r} says nothing about nodes; it is one of {', '.join(NODES_BY)}")
        if args.user is not None or args.group is not None:
            raise Invalid("nodes: this report is about all users together; leave out --user and --group")
        nodes = ctx.client.nodes_report(by=by, since=since, until=until)
        _show(args, ctx, nodes, "nodes", ())
        return
    if by is None and args.what == "waiting" and args.group is None:
        by = "priority"
    report = ctx.client.report(by=by, since=since, until=until, user=args.user, group=args.group)
    amounts = report.total.amounts if args.what == "usage" else {}
    _show(args, ctx, report, f"{args.what} of {_scope(report.scope)}", sorted(amounts))


def _show(
    args: argparse.Namespace, ctx: Context, report: UsageReport | NodesReport, what: str, currencies: Sequence[str]
) -> None:
    if ctx.answered(report):
        return
    figures = FIGURES[args.what]
    all_rows = (*report.rows, report.total)
    if args.csv:
        titles = [report.by, *(figure.name for figure in figures), *currencies]
        lines = [
            [row.key, *(_plain(figure.of(row)) for figure in figures), *(_amount(row, name) for name in currencies)]
            for row in all_rows
        ]
        ctx.out.stdout.write(csv_text(titles, lines))
        ctx.out.note(*report.notes)
        return
    about = f"{what}, {_time(report.since, report.until)}"
    if not report.rows:
        ctx.out.line(f"{about}: nothing {'is known' if what == 'nodes' else 'has run'}")
        ctx.out.note(*report.notes)
        return
    ctx.out.line(about)
    figures = tuple(figure for figure in figures if not figure.rare or any(map(figure.of, all_rows)))
    columns = [Column(_title(report.by))]
    columns += [Column(figure.title, right=True, optional=figure.optional) for figure in figures]
    columns += [Column(name, right=True) for name in currencies]
    rows = [_cells(row, figures, currencies, None) for row in report.rows]
    ctx.out.table(columns, [*rows, _cells(report.total, figures, currencies, "bold")])
    ctx.out.note(*report.notes)


def _cells(row: Any, figures: Sequence[Figure], currencies: Sequence[str], style: str | None) -> list[Cell | str]:
    texts = [_shown(figure, figure.of(row)) for figure in figures]
    amounts = [f"{float(row.amounts[name]):,.2f}" if name in row.amounts else "-" for name in currencies]
    return [Cell(text, style) for text in (row.key, *texts, *amounts)]


def _shown(figure: Figure, value: Number) -> str:
    return "-" if value is None else figure.show(value)


def _plain(value: Number) -> Number:
    """Return a figure as CSV has it, without digits that say nothing."""
    return None if value is None else round(value, 6)


def _amount(row: Any, currency: str) -> float | None:
    return float(row.amounts[currency]) if currency in row.amounts else None


def _title(by: str) -> str:
    return by.replace("_", " ").upper()


def _scope(scope: str) -> str:
    kind, _, name = scope.partition(":")
    return {"all": "all users", "groups": "your groups", "group": f"group {name}"}.get(kind, name)


def _time(since: datetime, until: datetime) -> str:
    """Return the time of a report. Its hours are those of UTC for all readers, because days are added up so."""

    def text(when: datetime) -> str:
        when = when.astimezone(UTC)
        return f"{when:%Y-%m-%d}" if not (when.hour or when.minute) else f"{when:%Y-%m-%d %H:%M}"

    return f"{text(since)} to {text(until)} UTC"


COMMANDS = {
    "report": Command(
        "report",
        _configure,
        _report,
        about=(
            "Show what was used, how long tasks waited, what was lost, and what it costs. You see your own tasks and\n"
            "the sums of your groups; admins see all. Days are those of UTC."
        ),
        examples=(
            "examples:\n"
            "  hai report usage\n"
            "  hai report usage --by day --from 7d\n"
            "  hai report usage --by group --from 2026-11 --csv > november.csv\n"
            "  hai report waiting --group cv\n"
            "  hai report nodes --by month --from 2026-01"
        ),
    )
}
