"""Converts rates and budgets into models of the wire, and back."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from hai_scheduler.api.wire.base import PriorityName
from hai_scheduler.api.wire.costs import BudgetPut, GroupBudgetOut, RateKey, RateOut, RatePut
from hai_scheduler.core.costs.budgets import GroupBudget, Measure
from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.service.accounting.standings import BudgetView
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.versions import version_of


def rate_of(body: RatePut) -> Rate:
    """Return the rate that a client writes. Raises Invalid for a day that does not exist."""
    return Rate(
        node_group=body.node_group,
        priority=_level_of(body.priority),
        valid_from=_day_of(body.valid_from),
        per_node_hour=Decimal(body.per_node_hour),
        per_gpu_hour=Decimal(body.per_gpu_hour),
        currency=body.currency,
    )


def key_of(body: RateKey) -> Rate:
    """Return a rate with the key that a client names. Raises Invalid for a day that does not exist."""
    return Rate(
        node_group=body.node_group,
        priority=_level_of(body.priority),
        valid_from=_day_of(body.valid_from),
        currency="",
    )


def rate_out(rate: Rate, warning: str | None = None) -> RateOut:
    """Return the model of a rate."""
    return RateOut(
        node_group=rate.node_group,
        priority=rate.priority,  # type: ignore[arg-type]  # the model reads levels
        valid_from=rate.valid_from.isoformat(),
        per_node_hour=plain(rate.per_node_hour),
        per_gpu_hour=plain(rate.per_gpu_hour),
        currency=rate.currency,
        version=version_of(rate),
        warning=warning,
    )


def budget_of(group: str, body: BudgetPut) -> GroupBudget:
    """Return the budget that a client writes."""
    return GroupBudget(
        group=group,
        measure=Measure(body.measure),
        limit=Decimal(body.limit),
        window_days=body.window_days,
        currency=body.currency,
    )


def budget_out(view: BudgetView, warning: str | None = None) -> GroupBudgetOut:
    """Return the model of a budget with its use."""
    budget, use = view.budget, view.use
    return GroupBudgetOut(
        group=budget.group,
        measure=budget.measure.value,
        limit=plain(budget.limit),
        window_days=budget.window_days,
        currency=budget.currency,
        used=None if use is None else plain(use.used),
        standing=None if use is None else use.standing.value,
        version=version_of(budget),
        warning=warning,
    )


def settings_out(budget: GroupBudget) -> GroupBudgetOut:
    """Return the model of a budget whose use is not known."""
    return budget_out(BudgetView(budget, None))


def plain(amount: Decimal) -> str:
    """Return an amount as a decimal text without an exponent and without zeros at its end."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _level_of(name: PriorityName | None) -> Priority | None:
    return None if name is None else Priority[name]


def _day_of(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Invalid("valid_from", text, "is not a day of the calendar: write for example 2026-11-01") from None
