"""`hai admin rates` and `hai admin budgets`: what hours cost, and how much user groups may use."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

from hai_client.cli.shared import parser as words
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Column
from hai_client.durations import parse_duration
from hai_client.errors import Invalid
from hai_client.wire.reports import GroupBudget

_DAY_S = 86_400.0
_STYLES = {"near": "yellow", "over": "red"}
_UNITS = {"node_hours": "node hours", "gpu_hours": "GPU hours"}


def configure_rates(verbs: Any, leaf: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the verbs of `hai admin rates`; `leaf` makes one."""
    leaf(verbs, "list", "list what node hours and GPU hours cost", _rates)
    setting = leaf(verbs, "set", "write a rate, which holds from a day on", _set_rate)
    setting.add_argument("currency", metavar="CURRENCY", help="currency of the rate: one word, such as EUR or credits")
    setting.add_argument("--node-hour", type=_amount("node-hour"), metavar="AMOUNT", help="price of a node hour (0)")
    setting.add_argument(
        "--gpu-hour",
        type=_amount("gpu-hour"),
        metavar="AMOUNT",
        help="price of a GPU hour, added to that of the node (0)",
    )
    deleting = leaf(verbs, "delete", "remove a rate", _delete_rate)
    for one in (setting, deleting):
        one.add_argument(
            "--from",
            dest="since",
            type=_day,
            required=True,
            metavar="DAY",
            help="first day of the rate in UTC: 2026-11-01",
        )
        one.add_argument("-g", "--group", metavar="GROUP", help="node group of the rate (all)")
        one.add_argument("--priority", type=words.level, metavar="LEVEL", help="priority of the rate (all)")


def configure_budgets(verbs: Any, leaf: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the verbs of `hai admin budgets`; `leaf` makes one."""
    leaf(verbs, "list", "list the budgets of user groups, and what is used of them", _budgets)
    setting = leaf(verbs, "set", "write the budget of a user group", _set_budget)
    setting.add_argument("name", metavar="GROUP", help="the user group")
    setting.add_argument("limit", metavar="LIMIT", type=_amount("limit"), help="how much the members may use together")
    setting.add_argument("unit", metavar="UNIT", help="node-hours, gpu-hours, or the currency of rates, such as EUR")
    setting.add_argument("--per", type=_window, required=True, metavar="LENGTH", help="days that count, until now: 30d")
    deleting = leaf(verbs, "delete", "remove the budget of a user group", _delete_budget)
    deleting.add_argument("name", metavar="GROUP", help="the user group")


def _amount(field: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,12})?", text):
            raise Invalid(f"{field}: {text!r} is not an amount; write a number such as 120 or 0.85")
        return text

    return read


def _day(text: str) -> str:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        raise Invalid(f"from: {text!r} is not a day; write for example 2026-11-01")
    return text


def _window(text: str) -> int:
    seconds = parse_duration(text, field="per")
    if seconds < _DAY_S or seconds % _DAY_S:
        raise Invalid(f"per: {text!r} is not a number of whole days; write for example 30d")
    return int(seconds // _DAY_S)


def _rates(_args: argparse.Namespace, ctx: Context) -> int:
    rates = ctx.client.rates()
    if ctx.json:
        ctx.out.json({"items": rates})
        return 0
    if not rates:
        ctx.out.line("no rates; `hai admin rates set EUR --gpu-hour 1.20 --from 2026-11-01` writes one")
        return 0
    columns = [Column("GROUP"), Column("PRIORITY"), Column("FROM")]
    columns += [Column("NODE HOUR", right=True), Column("GPU HOUR", right=True), Column("CURRENCY")]
    rows = [
        [
            rate.node_group or "all",
            rate.priority or "all",
            rate.valid_from,
            rate.per_node_hour,
            rate.per_gpu_hour,
            rate.currency,
        ]
        for rate in rates
    ]
    ctx.out.table(columns, rows)
    return 0


def _set_rate(args: argparse.Namespace, ctx: Context) -> int:
    if args.node_hour is None and args.gpu_hour is None:
        raise Invalid("node-hour: give --node-hour AMOUNT, --gpu-hour AMOUNT or both; 0 is free")
    rate = ctx.client.set_rate(
        args.since,
        args.currency,
        per_node_hour=args.node_hour or "0",
        per_gpu_hour=args.gpu_hour or "0",
        node_group=args.group,
        priority=args.priority,
    )
    if rate.warning is not None:
        ctx.out.note(rate.warning)
    if ctx.json:
        ctx.out.json(rate)
        return 0
    place = f"of {rate.node_group}" if rate.node_group else "of all groups"
    level = f"at {rate.priority}" if rate.priority else "at all priorities"
    ctx.out.line(
        f"from {rate.valid_from} on, {place} {level}: {rate.per_node_hour} {rate.currency} a node hour, "
        f"{rate.per_gpu_hour} {rate.currency} a GPU hour"
    )
    return 0


def _delete_rate(args: argparse.Namespace, ctx: Context) -> int:
    ctx.client.delete_rate(args.since, node_group=args.group, priority=args.priority)
    if ctx.json:
        ctx.out.json({"deleted": {"node_group": args.group, "priority": args.priority, "valid_from": args.since}})
    else:
        ctx.out.line("the rate is removed; reports on the past are without it too")
    return 0


def _budgets(_args: argparse.Namespace, ctx: Context) -> int:
    budgets = ctx.client.budgets()
    if ctx.json:
        ctx.out.json({"items": budgets})
        return 0
    if not budgets:
        ctx.out.line("no budgets; `hai admin budgets set cv 500 gpu-hours --per 30d` writes one")
        return 0
    columns = [Column("GROUP"), Column("USED", right=True), Column("OF", right=True), Column("UNIT")]
    rows: list[list[Cell | str]] = [
        [
            Cell(budget.group, "bold"),
            Cell(budget.used or "-", _STYLES.get(budget.standing or "")),
            budget.limit,
            _unit(budget),
            f"{budget.window_days} d",
            Cell(budget.standing or "not counted yet", _STYLES.get(budget.standing or "")),
        ]
        for budget in budgets
    ]
    ctx.out.table([*columns, Column("IN", right=True), Column("STANDING")], rows)
    return 0


def _set_budget(args: argparse.Namespace, ctx: Context) -> int:
    measure = args.unit.lower().replace("-", "_")
    currency = None if measure in _UNITS else args.unit
    budget = ctx.client.set_budget(
        args.name,
        "amount" if currency else measure,
        args.limit,
        window_days=args.per,
        currency=currency,
    )
    if budget.warning is not None:
        ctx.out.note(budget.warning)
    if ctx.json:
        ctx.out.json(budget)
        return 0
    ctx.out.line(
        f"members of {budget.group} may use {budget.limit} {_unit(budget)} together in {budget.window_days} days; "
        "above that their tasks count as LOW"
    )
    return 0


def _delete_budget(args: argparse.Namespace, ctx: Context) -> int:
    ctx.client.delete_budget(args.name)
    if ctx.json:
        ctx.out.json({"deleted": {"group": args.name}})
    else:
        ctx.out.line(f"{args.name} has no budget any more")
    return 0


def _unit(budget: GroupBudget) -> str:
    return _UNITS.get(budget.measure, budget.currency or "")
