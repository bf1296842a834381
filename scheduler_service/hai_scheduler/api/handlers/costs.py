"""Endpoints on rates and budgets."""

from __future__ import annotations

from hai_scheduler.api.convert import costs as convert
from hai_scheduler.api.server.preconditions import expectation, showing
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.costs import BudgetList, BudgetPut, GroupBudgetOut, RateKey, RateList, RateOut, RatePut
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.core.costs.budgets import GroupBudget
from hai_scheduler.core.costs.rates import Rate


async def rates(ask: Ask[Nothing, Nothing]) -> RateList:
    """Return all rates."""
    return RateList(items=[convert.rate_out(rate) for rate in await ask.platform.accounting.costs.rates()])


async def put_rate(ask: Ask[Nothing, RatePut]) -> RateOut:
    """Write a rate."""
    expected = expectation(ask.headers)
    writing = ask.platform.accounting.costs.put_rate(ask.caller, Rate(**dict(ask.body)), expected=expected)
    return convert.rate_out(*await showing(writing, convert.rate_out))


async def delete_rate(ask: Ask[Nothing, RateKey]) -> None:
    """Remove a rate."""
    expected = expectation(ask.headers)
    deleting = ask.platform.accounting.costs.delete_rate(
        ask.caller, Rate(**dict(ask.body), currency=""), expected=expected
    )
    await showing(deleting, convert.rate_out)


async def budgets(ask: Ask[Nothing, Nothing]) -> BudgetList:
    """Return the budgets that the caller may see."""
    return BudgetList(
        items=[convert.budget_out(view) for view in await ask.platform.accounting.costs.budgets(ask.caller)]
    )


async def put_budget(ask: Ask[Nothing, BudgetPut]) -> GroupBudgetOut:
    """Write the budget of a group."""
    budget = GroupBudget(group=ask.path["name"], **dict(ask.body))
    writing = ask.platform.accounting.costs.put_budget(ask.caller, budget, expected=expectation(ask.headers))
    return convert.budget_out(*await showing(writing, convert.settings_out))


async def delete_budget(ask: Ask[Nothing, Nothing]) -> None:
    """Remove the budget of a group."""
    expected = expectation(ask.headers)
    deleting = ask.platform.accounting.costs.delete_budget(ask.caller, ask.path["name"], expected=expected)
    await showing(deleting, convert.settings_out)
