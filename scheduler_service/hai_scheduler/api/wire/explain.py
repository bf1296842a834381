"""Models of explanations, decisions and forecasts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import Input, Length, LevelName, Output, Seconds, TaskStateName
from hai_scheduler.api.wire.tasks import HolderOut, VerdictOut
from hai_scheduler.api.wire.values import TaskSubmit


class WhatIfOut(Output):
    """One change that would let a waiting task start, found by the scheduler's own plan."""

    #: What is changed: the task's priority, its number of nodes or of GPUs per node, or the limit of a row of quota.
    kind: Literal["PRIORITY", "NODES", "GPUS", "LIMIT"]
    sentence: str
    #: The level to ask for; with LIMIT, the level of the row.
    priority: LevelName | None
    nodes: int | None
    gpus: int | None
    #: The limit that the row of `subject` would need.
    limit: int | None
    subject: str | None
    #: Whether the task would start at once; else it would start when nodes have been freed for it.
    starts_now: bool
    #: The latest time at which the nodes would be free; null: not known.
    starts_by: datetime | None
    #: The tasks that would be told to leave for it; names of other users' tasks are left out.
    suspends: list[HolderOut]


class GroupShareOut(Output):
    """What a user has had of a node group among the users with tasks there, and what the weights entitle to (O3)."""

    user: str
    node_group: str
    #: The user's part of the decayed use of all of them, 0 to 1; null: none of them has used the group lately.
    given: float | None
    #: The user's weight, and the sum of the weights of all of them.
    weight: float
    weights: float
    #: The part that the weights give to the user, 0 to 1.
    entitled: float
    #: Users who have had less for their weight: of tasks of equal priority and level, theirs go first.
    users_before: int
    sentence: str


class ExplainOut(Output):
    """Why a task waits, or what it does."""

    task_id: int
    state: TaskStateName
    sentence: str
    #: Kind, data, position, earliest start and holders; null for a task that does not wait.
    verdict: VerdictOut | None
    #: How many waiting tasks of its group go before it; null for a task that does not wait, or is held.
    ahead: int | None
    #: Changes that would let the task start.
    what_if: list[WhatIfOut]
    #: Null for a task that does not wait for a turn.
    share: GroupShareOut | None = None
    #: Why the task counts as LOW (Q7): a sentence for each budget of its user's groups that is used up.
    budgets: list[str] = []


class DecisionOut(Output):
    """A line of the decision log: a new verdict, a start, a notice, an end, or a change by a user."""

    seq: int
    at: datetime
    #: `task.verdict`, `task.state`, `run.notice`, `task.priority`, `task.held`, `task.order`, `task.alarm`.
    kind: str
    #: Who has decided: `scheduler`, or the name of a user.
    actor: str
    sentence: str
    data: dict[str, Any]


class DecisionPage(Output):
    """Decisions on a task, in order."""

    items: list[DecisionOut]


class ForecastAsk(Input):
    """What to forecast: exactly one of `task`, a waiting task, and `submit`, a task that is not submitted."""

    model_config = ConfigDict(json_schema_extra=shapes.one_of("task", "submit"))

    #: The id of the task, its name, or `user/name`.
    task: Annotated[str, Field(min_length=1, max_length=400)] | int | None = None
    #: Checked like a submission; nothing is submitted.
    submit: TaskSubmit | None = None
    #: How far ahead to look, in seconds (default: seven days).
    horizon_s: Annotated[Seconds | None, Field(json_schema_extra=shapes.HORIZON)] = None


class ForecastCost(Output):
    """A task that would be told to leave, and the work that this would cost it."""

    task_id: int
    #: Empty for other users' tasks.
    name: str
    user: str
    priority: LevelName
    nodes: int
    gpus: int | None
    #: When the task would be told to leave.
    at: datetime
    #: Node-seconds since its latest checkpoint: lost unless the task saves when it is told.
    unsaved_s: Length
    #: Node-seconds that a suspension and the start after it cost the task, by its earlier ones.
    switch_s: Length


class ForecastAssumption(Output):
    """An assumption of the forecast."""

    name: str
    sentence: str
    #: Number of tasks that it concerns, by the source of what is known about them.
    tasks: dict[str, int]


class ForecastOut(Output):
    """When a task would start under stated assumptions."""

    #: The id of the task; null for a task that is not submitted.
    task_id: int | None
    #: beyond_computed: the time for one forecast was over first. never: nothing that is foreseen would let it start.
    outcome: Literal["now", "later", "beyond_horizon", "beyond_computed", "never", "running"]
    sentence: str
    #: When the forecast was made.
    at: datetime
    starts_at: datetime | None
    #: Seconds from `at` to `starts_at`.
    starts_in_s: float | None
    #: The nodes that the task would get, in rank order.
    nodes: list[str]
    #: Indices of the GPUs that it would get on each of these nodes; empty: whole nodes.
    gpus: list[list[int]]
    suspends: list[ForecastCost]
    #: What the suspended tasks would lose together, in node-seconds.
    cost_s: float
    #: Why the task waits now, with its place in the queue.
    verdict: VerdictOut | None
    assumptions: list[ForecastAssumption]
    horizon_s: Length
    #: Up to which time the forecast was computed.
    computed_until: datetime
    #: Number of plans that were made.
    plans: int
