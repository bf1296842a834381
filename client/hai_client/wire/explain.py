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
    """One change that would let a waiting task start, as the scheduler itself plans it."""

    #: What is changed: its priority, how many nodes or GPUs of each node it takes, or the limit of a row of quota. One
    #: of PRIORITY, NODES, GPUS, LIMIT.
    kind: str
    sentence: str
    #: The level to ask for; with LIMIT, the level of the row.
    priority: str | None = None
    nodes: int | None = None
    gpus: int | None = None
    #: The limit that the row of `subject` would need.
    limit: int | None = None
    subject: str | None = None
    #: Whether it would start at once; else nodes would be freed for it, and it would start then.
    starts_now: bool
    #: By when at the latest the nodes would be free, if that can be said.
    starts_by: datetime | None = None
    #: Who would be told to leave for it; names of other users' tasks are left out.
    suspends: tuple[Holder, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a task waits, or what it does."""

    task_id: int
    state: str
    sentence: str
    #: Kind, data, position, earliest start and holders.
    verdict: Verdict | None = None
    #: How many waiting tasks of its group go before it; None for one that does not wait, or is held.
    ahead: int | None = None
    #: What would let it start.
    what_if: tuple[WhatIf, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A line of the decision log: a change of what a task waits for, a start, a notice, an end, a change by hand."""

    seq: int
    at: datetime
    #: `task.verdict`, `task.state`, `run.notice`, `task.priority`, `task.held`, `task.order`, `task.alarm`.
    kind: str
    #: Who decided: `scheduler`, or a user.
    actor: str
    sentence: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPage:
    """Decisions on a task, in order."""

    items: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastCost:
    """A task that would be told to leave, and what that would cost it."""

    task_id: int
    #: Empty for other users' tasks.
    name: str
    user: str
    priority: str
    nodes: int
    gpus: int | None = None
    #: When it would be told.
    at: datetime
    #: Node seconds since its latest checkpoint: lost unless it saves when it is told.
    unsaved_s: float
    #: Node seconds that a suspension and the resume after it have cost it before.
    switch_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastAssumption:
    """Something that the forecast takes for granted."""

    name: str
    sentence: str
    #: Of how many tasks, by what it is known from.
    tasks: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """When a task would start under stated assumptions."""

    #: None for a task that is only thought of.
    task_id: int | None = None
    #: beyond_computed: the time for one forecast was over first. never: nothing foreseen would let it start. One of
    #: now, later, beyond_horizon, beyond_computed, never, running.
    outcome: str
    sentence: str
    #: When the forecast was made.
    at: datetime
    starts_at: datetime | None = None
    #: The same from then on, in seconds.
    starts_in_s: float | None = None
    #: The nodes that it would get, in rank order.
    nodes: tuple[str, ...]
    #: Indices of the GPUs that it would get on each of them; empty is whole nodes.
    gpus: tuple[tuple[int, ...], ...]
    suspends: tuple[ForecastCost, ...]
    #: All that the others would lose, in node seconds.
    cost_s: float
    #: Why it waits now, with its place in the queue.
    verdict: Verdict | None = None
    assumptions: tuple[ForecastAssumption, ...]
    horizon_s: float
    #: Up to when the planner was run.
    computed_until: datetime
    #: How many plans were made.
    plans: int
