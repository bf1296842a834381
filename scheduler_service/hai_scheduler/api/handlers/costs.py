"""Endpoints on what was used and what it costs: reports, containers that live, rates and budgets."""

from __future__ import annotations

from datetime import datetime

from hai_scheduler.api.convert import reports as convert
from hai_scheduler.api.server.preconditions import expectation, showing
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.containers import ContainersTold, ContainerTold
from hai_scheduler.api.wire.costs import BudgetList, BudgetPut, GroupBudgetOut, RateKey, RateList, RateOut, RatePut
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.reports import NodesQuery, NodesReport, ReportQuery, UsageReportOut
from hai_scheduler.core.costs.budgets import GroupBudget
from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.core.ledger.asking import By
from hai_scheduler.core.ledger.development import DevelopmentContainer
from hai_scheduler.service.accounting.containers import EndedContainer
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


async def rates(ask: Ask[Nothing, Nothing]) -> RateList:
    """Return all rates."""
    return RateList(items=[rate_out(rate) for rate in await ask.platform.accounting.costs.rates()])


async def put_rate(ask: Ask[Nothing, RatePut]) -> RateOut:
    """Write a rate."""
    expected = expectation(ask.headers)
    writing = ask.platform.accounting.costs.put_rate(ask.caller, Rate(**dict(ask.body)), expected=expected)
    return rate_out(*await showing(writing, rate_out))


async def delete_rate(ask: Ask[Nothing, RateKey]) -> None:
    """Remove a rate."""
    expected = expectation(ask.headers)
    deleting = ask.platform.accounting.costs.delete_rate(
        ask.caller, Rate(**dict(ask.body), currency=""), expected=expected
    )
    await showing(deleting, rate_out)


async def budgets(ask: Ask[Nothing, Nothing]) -> BudgetList:
    """Return the budgets that the caller may see."""
    return BudgetList(items=[budget_out(view) for view in await ask.platform.accounting.costs.budgets(ask.caller)])


async def put_budget(ask: Ask[Nothing, BudgetPut]) -> GroupBudgetOut:
    """Write the budget of a group."""
    budget = GroupBudget(group=ask.path["name"], **dict(ask.body))
    writing = ask.platform.accounting.costs.put_budget(ask.caller, budget, expected=expectation(ask.headers))
    return budget_out(*await showing(writing, settings_out))


async def delete_budget(ask: Ask[Nothing, Nothing]) -> None:
    """Remove the budget of a group."""
    expected = expectation(ask.headers)
    deleting = ask.platform.accounting.costs.delete_budget(ask.caller, ask.path["name"], expected=expected)
    await showing(deleting, settings_out)


async def usage_report(ask: Ask[ReportQuery, Nothing]) -> UsageReportOut:
    """Return what tasks took."""
    query = ask.query
    report = await ask.platform.accounting.reports.use(
        ask.caller,
        by=None if query.by is None else By(query.by),
        since=query.since,
        until=query.until,
        user=query.user,
        group=query.group,
    )
    return convert.report_out(report)


async def nodes_report(ask: Ask[NodesQuery, Nothing]) -> NodesReport:
    """Return what the nodes did."""
    query = ask.query
    return convert.nodes_out(
        await ask.platform.accounting.reports.nodes(by=By(query.by), since=query.since, until=query.until)
    )


async def containers_told(ask: Ask[Nothing, ContainersTold]) -> None:
    """Book what lives, and what has ended."""
    now = ask.platform.world.clock.now()
    living = [_container_of(each, now) for each in ask.body.living]
    ended = [EndedContainer(container=_container_of(each, now), ended_at=each.ended_at) for each in ask.body.ended]
    await ask.platform.accounting.containers.told(living, ended)


def _container_of(told: ContainerTold, now: datetime) -> DevelopmentContainer:
    return DevelopmentContainer(
        id=told.id,
        user=told.user,
        groups=tuple(sorted(set(told.groups))),
        node_group=told.node_group,
        gpus=told.gpus,
        millicores=round(told.cpus * 1000),
        started_at=told.started_at,
        seen_at=now,
    )
