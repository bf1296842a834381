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

    key: str  #: The user, the group, the priority, ..., or the first day; `total` in the sum of all.
    starts: int  #: Runs that started in this time, and runs that ended.
    ends: int
    node_s: float  #: Node time, and GPU time.
    gpu_s: float
    #: Core time of development containers: the cores that each had for itself. Tasks have none, they take whole nodes.
    core_s: float
    #: Node time until all ranks were up, while they were, from a notice to the end, and of work that was lost.
    starting_s: float
    useful_s: float
    saving_s: float
    lost_s: float
    failed_s: float  #: Node time of runs that failed; the four above have it too.
    gpu_idle_s: float  #: GPU time in which GPUs did nothing, as far as it was measured.
    energy_j: int  #: Energy of the GPUs in joules, as far as it was measured.
    useful_share: float | None = None  #: The useful part of the node time, 0 to 1; None: there was none.
    #: How long tasks had waited for the runs that started; None: none did. The mean is exact; median and 90 % quantile
    #: are right to within 2 %.
    wait_mean_s: float | None = None
    wait_median_s: float | None = None
    wait_p90_s: float | None = None
    tasks: int  #: Tasks that ended by themselves in this time.
    #: Their slowdown: time from submission to end, by running time (of at least 10 s), at least 1; None: none ended.
    #: The mean is exact; median and 90 % quantile are right to within 2 %.
    slowdown_mean: float | None = None
    slowdown_median: float | None = None
    slowdown_p90: float | None = None
    interruptions: int  #: Runs that ended because they were told to leave or broke; of these those that broke.
    broken: int
    failures: int  #: Runs whose command failed or reached its time limit, and their part of the runs that ended.
    failure_rate: float | None = None
    short_runs: int  #: Runs of less than 15 minutes that were not interrupted.
    amounts: dict[str, str]  #: What the rates make of it: decimal numbers by currency; without rates there are none.


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """What tasks took in some time."""

    by: str  #: One of user, group, priority, node_group, kind, day, month.
    since: datetime  #: The time that the report is about: full hours.
    until: datetime
    scope: str  #: Whose tasks: `all`, `user:NAME` or `group:NAME`; with `by=group`, `groups`: those of the caller.
    rows: tuple[ReportRow, ...]
    #: All tasks together, each counted once: with `by=group` less than the sum of the rows where users are in several.
    total: ReportRow
    notes: tuple[str, ...]  #: What readers have to know about these figures, as sentences.


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesRow:
    """What the nodes of a group did, or all nodes on a day or in a month. Lengths of time are seconds of nodes."""

    key: str  #: The node group, or the first day; `total` in the sum of all.
    #: All node time there was, and in it that of nodes which took no new runs; None: it was not recorded.
    capacity_s: float | None = None
    down_s: float | None = None
    held_s: float  #: Node time that runs held, and the useful part of it.
    useful_s: float
    occupancy: float | None = None  #: The part of all node time that runs held, 0 to 1; None: it is not known.
    useful_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesReport:
    """How the nodes were used in some time, by all users together."""

    by: str  #: One of node_group, day, month.
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
    version: str = ""  #: Sent back in `If-Match`, it makes a change fail if the rate has changed in the meantime.
    warning: str | None = None  #: In the answer to a change: what is probably a mistake.


@dataclass(frozen=True, slots=True, kw_only=True)
class RateList:
    """All rates."""

    items: tuple[Rate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBudget:
    """A budget and how much of it is used."""

    group: str
    measure: str  #: One of node_hours, gpu_hours, amount.
    limit: str
    window_days: int
    currency: str | None = None
    used: str | None = None  #: What the group has used in the window; None: it has not been counted yet.
    #: `near`: four fifths are used. `over`: all; tasks of the members count as LOW, and go on running. One of good,
    #: near, over.
    standing: str | None = None
    #: Sent back in `If-Match`, it makes a change fail if the budget, not its use, has changed in the meantime.
    version: str = ""
    warning: str | None = None  #: In the answer to a change: what is probably a mistake.


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetList:
    """The budgets that the caller may see, by group."""

    items: tuple[GroupBudget, ...]
