"""Converts reports into models of the wire."""

from __future__ import annotations

from datetime import datetime

from hai_scheduler.api.wire.costs import plain
from hai_scheduler.api.wire.reports import NodesReport, NodesRow, ReportRow, UsageReportOut
from hai_scheduler.core.costs.bill import BillLine
from hai_scheduler.core.costs.rates import rounded
from hai_scheduler.core.ledger.asking import By, LineValue
from hai_scheduler.core.ledger.histograms import quantile
from hai_scheduler.core.ledger.row import ERASED
from hai_scheduler.core.ledger.slowdown import MILLIONTHS
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.service.accounting.reports import NodesLine, NodesUse, UseReport

#: Keys of rows that are no names: no user and no group can be called so.
NO_GROUP = "(no group)"
ERASED_USERS = "(erased users)"
TOTAL = "total"


def report_out(report: UseReport) -> UsageReportOut:
    """Return the model of a report on tasks."""
    return UsageReportOut(
        by=report.by.value,  # type: ignore[arg-type]  # hours are not asked for
        since=report.span.since,
        until=report.span.until,
        scope=report.scope,
        rows=[_row(key_of(report.by, key), line) for key, line in report.lines],
        total=_row(TOTAL, report.total),
        notes=list(report.notes),
    )


def nodes_out(report: NodesUse) -> NodesReport:
    """Return the model of a report on nodes."""
    return NodesReport(
        by=report.by.value,  # type: ignore[arg-type]  # nodes are reported by these only
        since=report.span.since,
        until=report.span.until,
        rows=[_nodes_row(key_of(report.by, line.key), line) for line in report.lines],
        total=_nodes_row(TOTAL, report.total),
        notes=list(report.notes),
    )


def key_of(by: By, value: LineValue) -> str:
    """Return the key of a row as a text."""
    if isinstance(value, Priority):
        return value.name
    if isinstance(value, datetime):
        return f"{value:%Y-%m}" if by is By.MONTH else f"{value:%Y-%m-%d}"
    if value is None:
        return NO_GROUP
    return ERASED_USERS if value == ERASED else str(value)


def _row(key: str, line: BillLine) -> ReportRow:
    sums = line.sums
    waited = sum(sums.waits.values())
    return ReportRow(
        key=key,
        starts=sums.starts,
        ends=sums.ends,
        node_s=_seconds(sums.node_us),
        gpu_s=_seconds(sums.gpu_us),
        core_s=_seconds(sums.core_us),
        starting_s=_seconds(sums.starting_us),
        useful_s=_seconds(sums.useful_us),
        saving_s=_seconds(sums.saving_us),
        lost_s=_seconds(sums.lost_us),
        failed_s=_seconds(sums.failed_us),
        gpu_idle_s=_seconds(sums.gpu_idle_us),
        energy_j=sums.energy_j,
        useful_share=_share(sums.useful_us, sums.node_us),
        wait_mean_s=_seconds(sums.wait_us / waited) if waited else None,
        wait_median_s=_shown(quantile(sums.waits, 0.5)),
        wait_p90_s=_shown(quantile(sums.waits, 0.9)),
        tasks=sums.tasks,
        slowdown_mean=_shown(sums.slowdown_ppm / MILLIONTHS / sums.tasks) if sums.tasks else None,
        slowdown_median=_shown(quantile(sums.slowdowns, 0.5)),
        slowdown_p90=_shown(quantile(sums.slowdowns, 0.9)),
        interruptions=sums.interruptions,
        broken=sums.broken,
        failures=sums.failures,
        failure_rate=_share(sums.failures, sums.ends),
        short_runs=sums.short,
        amounts={currency: plain(amount) for currency, amount in rounded(line.amounts).items()},
    )


def _nodes_row(key: str, line: NodesLine) -> NodesRow:
    sums, capacity = line.sums, line.capacity
    return NodesRow(
        key=key,
        capacity_s=None if capacity is None else _seconds(capacity.node_us),
        down_s=None if capacity is None else _seconds(capacity.down_us),
        held_s=_seconds(sums.node_us),
        useful_s=_seconds(sums.useful_us),
        occupancy=None if capacity is None else _share(sums.node_us, capacity.node_us),
        useful_share=_share(sums.useful_us, sums.node_us),
    )


def _seconds(microseconds: float) -> float:
    return round(microseconds / 1e6, 3)


def _shown(value: float | None) -> float | None:
    """Return a figure with the digits that it is good for."""
    return None if value is None else round(value, 3)


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None
