"""Converts rates and budgets into models of the wire."""

from __future__ import annotations

from hai_scheduler.api.wire.costs import GroupBudgetOut, RateOut
from hai_scheduler.core.costs.budgets import GroupBudget
from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.service.accounting.standings import BudgetView
from hai_scheduler.service.shared.versions import version_of


def rate_out(rate: Rate, warning: str | None = None) -> RateOut:
    """Return the model of a rate."""
    return RateOut.of(rate, version=version_of(rate), warning=warning)


def budget_out(view: BudgetView, warning: str | None = None) -> GroupBudgetOut:
    """Return the model of a budget with its use."""
    budget, use = view.budget, view.use
    return GroupBudgetOut.of(
        budget,
        used=None if use is None else use.used,
        standing=None if use is None else use.standing,
        version=version_of(budget),
        warning=warning,
    )


def settings_out(budget: GroupBudget) -> GroupBudgetOut:
    """Return the model of a budget whose use is not known."""
    return budget_out(BudgetView(budget, None))
