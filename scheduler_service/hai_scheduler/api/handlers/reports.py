"""Endpoints on reports."""

from __future__ import annotations

from hai_scheduler.api.convert import reports as convert
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.reports import NodesQuery, NodesReport, ReportQuery, UsageReportOut
from hai_scheduler.core.ledger.asking import By


async def use(ask: Ask[ReportQuery, Nothing]) -> UsageReportOut:
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


async def nodes(ask: Ask[NodesQuery, Nothing]) -> NodesReport:
    """Return what the nodes did."""
    query = ask.query
    return convert.nodes_out(
        await ask.platform.accounting.reports.nodes(by=By(query.by), since=query.since, until=query.until)
    )
