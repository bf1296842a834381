"""Models of reports: what tasks took in some time, and what the nodes did."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from hai_scheduler.api.wire.base import Input, Moment, Output

#: What the rows of a report are by.
ReportBy = Literal["user", "group", "priority", "node_group", "kind", "day", "month"]
#: What the rows of a report on nodes are by.
NodesBy = Literal["node_group", "day", "month"]


class ReportQuery(Input):
    """Which time, whose tasks, and what the rows are by."""

    #: Default: `user`; for sums of a group by one who is no admin: `month`.
    by: ReportBy | None = None
    #: The begin; it is moved back to a full hour (default: the begin of this month in UTC).
    since: Moment | None = None
    #: The end; it is moved on to a full hour (default: now).
    until: Moment | None = None
    #: Only tasks of this user. Users who are not admins see their own.
    user: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    #: Only tasks of users who were in this user group. Users who are not admins see sums of their own groups.
    group: Annotated[str, Field(min_length=1, max_length=255)] | None = None


class NodesQuery(Input):
    """Which time, and what the rows are by."""

    by: NodesBy = "node_group"
    #: As for `GET /reports`.
    since: Moment | None = None
    until: Moment | None = None


class ReportRow(Output):
    """What some tasks took. Node time is running time times nodes; lengths of time are seconds."""

    #: The user, the group, the priority, ..., or the first day; `total` in the sum of all.
    key: str
    #: Runs that started in this time, and runs that ended.
    starts: int
    ends: int
    #: Node time, and GPU time.
    node_s: float
    gpu_s: float
    #: Core time of development containers: the cores that each had for itself. Tasks have none, they take whole nodes.
    core_s: float
    #: Node time until all ranks were up, while they were, from a notice to the end, and of work that was lost.
    starting_s: float
    useful_s: float
    saving_s: float
    lost_s: float
    #: Node time of runs that failed; the four above have it too.
    failed_s: float
    #: GPU time in which GPUs did nothing, as far as it was measured.
    gpu_idle_s: float
    #: Energy of the GPUs in joules, as far as it was measured.
    energy_j: int
    #: The useful part of the node time, 0 to 1; null: there was none.
    useful_share: float | None
    #: How long tasks had waited for the runs that started; null: none did. The mean is exact; median and 90 % quantile
    #: are right to within 2 %.
    wait_mean_s: float | None
    wait_median_s: float | None
    wait_p90_s: float | None
    #: Tasks that ended by themselves in this time.
    tasks: int
    #: Their slowdown: time from submission to end, by running time (of at least 10 s), at least 1; null: none ended.
    #: The mean is exact; median and 90 % quantile are right to within 2 %.
    slowdown_mean: float | None
    slowdown_median: float | None
    slowdown_p90: float | None
    #: Runs that ended because they were told to leave or broke; of these those that broke.
    interruptions: int
    broken: int
    #: Runs whose command failed or reached its time limit, and their part of the runs that ended.
    failures: int
    failure_rate: float | None
    #: Runs of less than 15 minutes that were not interrupted.
    short_runs: int
    #: What the rates make of it: decimal numbers by currency; without rates there are none.
    amounts: dict[str, str]


class UsageReportOut(Output):
    """What tasks took in some time."""

    by: ReportBy
    #: The time that the report is about: full hours.
    since: datetime
    until: datetime
    #: Whose tasks: `all`, `user:NAME` or `group:NAME`; with `by=group`, `groups`: those of the caller.
    scope: str
    rows: list[ReportRow]
    #: All tasks together, each counted once: with `by=group` less than the sum of the rows where users are in several.
    total: ReportRow
    #: What readers have to know about these figures, as sentences.
    notes: list[str]


class NodesRow(Output):
    """What the nodes of a group did, or all nodes on a day or in a month. Lengths of time are seconds of nodes."""

    #: The node group, or the first day; `total` in the sum of all.
    key: str
    #: All node time there was, and in it that of nodes which took no new runs; null: it was not recorded.
    capacity_s: float | None
    down_s: float | None
    #: Node time that runs held, and the useful part of it.
    held_s: float
    useful_s: float
    #: The part of all node time that runs held, 0 to 1; null: it is not known.
    occupancy: float | None
    useful_share: float | None


class NodesReport(Output):
    """How the nodes were used in some time, by all users together."""

    by: NodesBy
    since: datetime
    until: datetime
    rows: list[NodesRow]
    total: NodesRow
    notes: list[str]
