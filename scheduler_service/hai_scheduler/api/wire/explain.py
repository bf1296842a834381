"""The wire of explanations, decisions and forecasts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import Input, Output, PriorityName, Seconds, TaskStateName
from hai_scheduler.api.wire.tasks import HolderOut, TaskSubmit, VerdictOut


class WhatIfOut(Output):
    """One change that would let a waiting task start, as the scheduler itself plans it."""

    #: What is changed: its priority, how many nodes or GPUs of each node it takes, or the limit of a row of quota.
    kind: Literal["PRIORITY", "NODES", "GPUS", "LIMIT"]
    sentence: str
    #: The level to ask for; with LIMIT, the level of the row.
    priority: PriorityName | None
    nodes: int | None
    gpus: int | None
    #: The limit that the row of `subject` would need.
    limit: int | None
    subject: str | None
    #: Whether it would start at once; else nodes would be freed for it, and it would start then.
    starts_now: bool
    #: By when at the latest the nodes would be free, if that can be said.
    starts_by: datetime | None
    #: Who would be told to leave for it; names of other users' tasks are left out.
    suspends: list[HolderOut]


class ExplainOut(Output):
    """Why a task waits, or what it does."""

    task_id: int
    state: TaskStateName
    sentence: str
    #: Kind, data, position, earliest start and holders.
    verdict: VerdictOut | None
    #: How many waiting tasks of its group go before it; None for one that does not wait, or is held.
    ahead: int | None
    #: What would let it start.
    what_if: list[WhatIfOut]


class DecisionOut(Output):
    """A line of the decision log: a change of what a task waits for, a start, a notice, an end, a change by hand."""

    seq: int
    at: datetime
    #: `task.verdict`, `task.state`, `run.notice`, `task.priority`, `task.held`, `task.order`, `task.alarm`.
    kind: str
    #: Who decided: `scheduler`, or a user.
    actor: str
    sentence: str
    data: dict[str, Any]


class DecisionPage(Output):
    """Decisions on a task, in order."""

    items: list[DecisionOut]


class ForecastAsk(Input):
    """What to forecast: exactly one of a task that waits, and a task that is only thought of."""

    model_config = ConfigDict(json_schema_extra=shapes.one_of("task", "submit"))

    #: Its id, its name, or `user/name`.
    task: Annotated[str, Field(min_length=1, max_length=400)] | int | None = None
    #: Checked as a submission is; nothing is submitted.
    submit: TaskSubmit | None = None
    #: How far ahead to look; None is seven days.
    horizon_s: Annotated[Seconds | None, Field(json_schema_extra=shapes.HORIZON)] = None


class ForecastCost(Output):
    """A task that would be told to leave, and what that would cost it."""

    task_id: int
    #: Empty for other users' tasks.
    name: str
    user: str
    priority: PriorityName
    nodes: int
    gpus: int | None
    #: When it would be told.
    at: datetime
    #: Node seconds since its latest checkpoint: lost unless it saves when it is told.
    unsaved_s: float
    #: Node seconds that a suspension and the resume after it have cost it before.
    switch_s: float


class ForecastAssumption(Output):
    """Something that the forecast takes for granted."""

    name: str
    sentence: str
    #: Of how many tasks, by what it is known from.
    tasks: dict[str, int]


class ForecastOut(Output):
    """When a task would start under stated assumptions."""

    #: None for a task that is only thought of.
    task_id: int | None
    #: beyond_computed: the time for one forecast was over first. never: nothing foreseen would let it start.
    outcome: Literal["now", "later", "beyond_horizon", "beyond_computed", "never", "running"]
    sentence: str
    #: When the forecast was made.
    at: datetime
    starts_at: datetime | None
    #: The same from then on, in seconds.
    starts_in_s: float | None
    #: The nodes that it would get, in rank order.
    nodes: list[str]
    #: Indices of the GPUs that it would get on each of them; empty is whole nodes.
    gpus: list[list[int]]
    suspends: list[ForecastCost]
    #: All that the others would lose, in node seconds.
    cost_s: float
    #: Why it waits now, with its place in the queue.
    verdict: VerdictOut | None
    assumptions: list[ForecastAssumption]
    horizon_s: float
    #: Up to when the planner was run.
    computed_until: datetime
    #: How many plans were made.
    plans: int
