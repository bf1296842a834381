"""`hai admin rates` and `hai admin budgets`: what hours cost, and how much user groups may use."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

from hai_client.cli.shared import parser as words
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell
from hai_client.cli.shared.parser import leaf, option
from hai_client.durations import parse_duration
from hai_client.errors import Invalid
from hai_client.wire.reports import GroupBudget

_DAY_S = 86_400.0
_STYLES = {"near": "yellow", "over": "red"}
_UNITS = {"node_hours": "node hours", "gpu_hours": "GPU hours"}


def configure_rates(verbs: Any) -> None:
    """Add the verbs of `hai admin rates`."""
    leaf(verbs, "list", "list what node hours and GPU hours cost", _rates)
    setting = leaf(verbs, "set", "write a rate, which holds from a day on", _set_rate)
    option(setting, "currency CURRENCY", "currency of the rate: one word, such as EUR or credits")
    option(setting, "--node-hour AMOUNT", "price of a node hour (0)", _amount("node-hour"))
    option(setting, "--gpu-hour AMOUNT", "price of a GPU hour, added to that of the node (0)", _amount("gpu-hour"))
    deleting = leaf(verbs, "delete", "remove a rate", _delete_rate)
    for one in (setting, deleting):
        option(one, "--from DAY", "first day of the rate in UTC: 2026-11-01", _day, dest="since", required=True)
        option(one, "-g, --group GROUP", "node group of the rate (all)")
        option(one, "--priority LEVEL", "priority of the rate (all)", words.level)


def configure_budgets(verbs: Any) -> None:
    """Add the verbs of `hai admin budgets`."""
    leaf(verbs, "list", "list the budgets of user groups, and what is used of them", _budgets)
    setting = leaf(verbs, "set", "write the budget of a user group", _set_budget)
    option(setting, "name GROUP", "the user group")
    option(setting, "limit LIMIT", "how much the members may use together", _amount("limit"))
    option(setting, "unit UNIT", "node-hours, gpu-hours, or the currency of rates, such as EUR")
    option(setting, "--per LENGTH", "days that count, until now: 30d", _window, required=True)
    deleting = leaf(verbs, "delete", "remove the budget of a user group", _delete_budget)
    option(deleting, "name GROUP", "the user group")


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


def _rates(_args: argparse.Namespace, ctx: Context) -> None:
    rates = ctx.client.rates()
    if ctx.listed(rates, "no rates; `hai admin rates set EUR --gpu-hour 1.20 --from 2026-11-01` writes one"):
        return
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
    ctx.out.table("GROUP  PRIORITY  FROM  >NODE HOUR  >GPU HOUR  CURRENCY", rows)


def _set_rate(args: argparse.Namespace, ctx: Context) -> None:
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
    if ctx.answered(rate):
        return
    place = f"of {rate.node_group}" if rate.node_group else "of all groups"
    level = f"at {rate.priority}" if rate.priority else "at all priorities"
    ctx.out.line(
        f"from {rate.valid_from} on, {place} {level}: {rate.per_node_hour} {rate.currency} a node hour, "
        f"{rate.per_gpu_hour} {rate.currency} a GPU hour"
    )


def _delete_rate(args: argparse.Namespace, ctx: Context) -> None:
    ctx.client.delete_rate(args.since, node_group=args.group, priority=args.priority)
    ctx.answer(
        {"deleted": {"node_group": args.group, "priority": args.priority, "valid_from": args.since}},
        "the rate is removed; reports on the past are without it too",
    )


def _budgets(_args: argparse.Namespace, ctx: Context) -> None:
    budgets = ctx.client.budgets()
    if ctx.listed(budgets, "no budgets; `hai admin budgets set cv 500 gpu-hours --per 30d` writes one"):
        return
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
    ctx.out.table("GROUP  >USED  >OF  UNIT  >IN  STANDING", rows)


def _set_budget(args: argparse.Namespace, ctx: Context) -> None:
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
    ctx.answer(
        budget,
        f"members of {budget.group} may use {budget.limit} {_unit(budget)} together in {budget.window_days} days; "
        "above that their tasks count as LOW",
    )


def _delete_budget(args: argparse.Namespace, ctx: Context) -> None:
    ctx.client.delete_budget(args.name)
    ctx.answer({"deleted": {"group": args.name}}, f"{args.name} has no budget any more")


def _unit(budget: GroupBudget) -> str:
    return _UNITS.get(budget.measure, budget.currency or "")
