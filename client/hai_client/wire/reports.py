"""Reports, rates and budgets, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from datetime import datetime

from hai_client.backports import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
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
    #: The useful part of the node time, 0 to 1; None: there was none.
    useful_share: float | None = None
    #: How long tasks had waited for the runs that started; None: none did. The mean is exact; median and 90 % quantile
    #: are right to within 2 %.
    wait_mean_s: float | None = None
    wait_median_s: float | None = None
    wait_p90_s: float | None = None
    #: Tasks that ended by themselves in this time.
    tasks: int
    #: Their slowdown: time from submission to end, by running time (of at least 10 s), at least 1; None: none ended.
    #: The mean is exact; median and 90 % quantile are right to within 2 %.
    slowdown_mean: float | None = None
    slowdown_median: float | None = None
    slowdown_p90: float | None = None
    #: Runs that ended because they were told to leave or broke; of these those that broke.
    interruptions: int
    broken: int
    #: Runs whose command failed or reached its time limit, and their part of the runs that ended.
    failures: int
    failure_rate: float | None = None
    #: Runs of less than 15 minutes that were not interrupted.
    short_runs: int
    #: What the rates make of it: decimal numbers by currency; without rates there are none.
    amounts: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """What tasks took in some time."""

    #: One of user, group, priority, node_group, kind, day, month.
    by: str
    #: The time that the report is about: full hours.
    since: datetime
    until: datetime
    #: Whose tasks: `all`, `user:NAME` or `group:NAME`; with `by=group`, `groups`: those of the caller.
    scope: str
    rows: tuple[ReportRow, ...]
    #: All tasks together, each counted once: with `by=group` less than the sum of the rows where users are in several.
    total: ReportRow
    #: What readers have to know about these figures, as sentences.
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesRow:
    """What the nodes of a group did, or all nodes on a day or in a month. Lengths of time are seconds of nodes."""

    #: The node group, or the first day; `total` in the sum of all.
    key: str
    #: All node time there was, and in it that of nodes which took no new runs; None: it was not recorded.
    capacity_s: float | None = None
    down_s: float | None = None
    #: Node time that runs held, and the useful part of it.
    held_s: float
    useful_s: float
    #: The part of all node time that runs held, 0 to 1; None: it is not known.
    occupancy: float | None = None
    useful_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesReport:
    """How the nodes were used in some time, by all users together."""

    #: One of node_group, day, month.
    by: str
    since: datetime
    until: datetime
    rows: tuple[NodesRow, ...]
    total: NodesRow
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A rate. Amounts are decimal texts, so that no program rounds them."""

    node_group: str | None = None
    priority: str | None = None
    valid_from: str
    per_node_hour: str
    per_gpu_hour: str
    currency: str
    #: Sent back in `If-Match`, it makes a change fail if the rate has changed in the meantime.
    version: str = ""
    #: In the answer to a change: what is probably a mistake.
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateList:
    """All rates."""

    items: tuple[Rate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBudget:
    """A budget and how much of it is used."""

    group: str
    #: One of node_hours, gpu_hours, amount.
    measure: str
    limit: str
    window_days: int
    currency: str | None = None
    #: What the group has used in the window; None: it has not been counted yet.
    used: str | None = None
    #: `near`: four fifths are used. `over`: all; tasks of the members count as LOW, and go on running. One of good,
    #: near, over.
    standing: str | None = None
    #: Sent back in `If-Match`, it makes a change fail if the budget, not its use, has changed in the meantime.
    version: str = ""
    #: In the answer to a change: what is probably a mistake.
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetList:
    """The budgets that the caller may see, by group."""

    items: tuple[GroupBudget, ...]
