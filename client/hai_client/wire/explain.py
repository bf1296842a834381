"""Explanations, decisions and forecasts, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hai_client.backports import dataclass
from hai_client.wire.schema import Holder, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """One change that would let a waiting task start, found by the scheduler's own plan."""

    #: What is changed: the task's priority, its number of nodes or of GPUs per node, or the limit of a row of quota.
    #: One of PRIORITY, NODES, GPUS, LIMIT.
    kind: str
    sentence: str
    priority: str | None = None  #: The level to ask for; with LIMIT, the level of the row.
    nodes: int | None = None
    gpus: int | None = None
    limit: int | None = None  #: The limit that the row of `subject` would need.
    subject: str | None = None
    starts_now: bool  #: Whether the task would start at once; else it would start when nodes have been freed for it.
    starts_by: datetime | None = None  #: The latest time at which the nodes would be free; None: not known.
    #: The tasks that would be told to leave for it; names of other users' tasks are left out.
    suspends: tuple[Holder, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShare:
    """What a user has had of a node group among the users with tasks there, and what the weights entitle to (O3)."""

    user: str
    node_group: str
    #: The user's part of the decayed use of all of them, 0 to 1; None: none of them has used the group lately.
    given: float | None = None
    weight: float  #: The user's weight, and the sum of the weights of all of them.
    weights: float
    entitled: float  #: The part that the weights give to the user, 0 to 1.
    #: Users who have had less for their weight: of tasks of equal priority and level, theirs go first.
    users_before: int
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a task waits, or what it does."""

    task_id: int
    state: str
    sentence: str
    #: Kind, data, position, earliest start and holders; None for a task that does not wait.
    verdict: Verdict | None = None
    #: How many waiting tasks of its group go before it; None for a task that does not wait, or is held.
    ahead: int | None = None
    what_if: tuple[WhatIf, ...]  #: Changes that would let the task start.
    share: GroupShare | None = None  #: Null for a task that does not wait for a turn.
    #: Why the task counts as LOW (Q7): a sentence for each budget of its user's groups that is used up.
    budgets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A line of the decision log: a new verdict, a start, a notice, an end, or a change by a user."""

    seq: int
    at: datetime
    kind: str  #: `task.verdict`, `task.state`, `run.notice`, `task.priority`, `task.held`, `task.order`, `task.alarm`.
    actor: str  #: Who has decided: `scheduler`, or the name of a user.
    sentence: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPage:
    """Decisions on a task, in order."""

    items: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastCost:
    """A task that would be told to leave, and the work that this would cost it."""

    task_id: int
    name: str  #: Empty for other users' tasks.
    user: str
    priority: str
    nodes: int
    gpus: int | None = None
    at: datetime  #: When the task would be told to leave.
    unsaved_s: float  #: Node-seconds since its latest checkpoint: lost unless the task saves when it is told.
    switch_s: float  #: Node-seconds that a suspension and the start after it cost the task, by its earlier ones.


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastAssumption:
    """An assumption of the forecast."""

    name: str
    sentence: str
    tasks: dict[str, int]  #: Number of tasks that it concerns, by the source of what is known about them.


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """When a task would start under stated assumptions."""

    task_id: int | None = None  #: The id of the task; None for a task that is not submitted.
    #: beyond_computed: the time for one forecast was over first. never: nothing that is foreseen would let it start.
    #: One of now, later, beyond_horizon, beyond_computed, never, running.
    outcome: str
    sentence: str
    at: datetime  #: When the forecast was made.
    starts_at: datetime | None = None
    starts_in_s: float | None = None  #: Seconds from `at` to `starts_at`.
    nodes: tuple[str, ...]  #: The nodes that the task would get, in rank order.
    #: Indices of the GPUs that it would get on each of these nodes; empty: whole nodes.
    gpus: tuple[tuple[int, ...], ...]
    suspends: tuple[ForecastCost, ...]
    cost_s: float  #: What the suspended tasks would lose together, in node-seconds.
    verdict: Verdict | None = None  #: Why the task waits now, with its place in the queue.
    assumptions: tuple[ForecastAssumption, ...]
    horizon_s: float
    computed_until: datetime  #: Up to which time the forecast was computed.
    plans: int  #: Number of plans that were made.
