"""Explanations, decisions and forecasts as the service sends them; see `hai_client.wire.schema`."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Any

from hai_client.backports import dataclass
from hai_client.wire.schema import Holder, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """One change that would let a waiting task start: of PRIORITY, NODES, GPUS or LIMIT (a row of quota)."""

    kind: str
    sentence: str
    priority: str | None = None
    nodes: int | None = None
    gpus: int | None = None
    limit: int | None = None
    subject: str | None = None
    #: Whether it would start at once; else nodes would be freed for it first.
    starts_now: bool
    starts_by: datetime | None = None
    #: Who would be told to leave for it.
    suspends: tuple[Holder, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a task waits, or what it does."""

    task_id: int
    state: str
    sentence: str
    verdict: Verdict | None = None
    #: How many waiting tasks of its group go before it.
    ahead: int | None = None
    #: What would let it start.
    what_if: tuple[WhatIf, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A line of the decision log of a task."""

    seq: int
    at: datetime
    kind: str
    #: Who decided: `scheduler`, or a user.
    actor: str
    sentence: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPage:
    """Decisions on a task, in order."""

    items: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastCost:
    """A task that would be told to leave, and what that would cost it, in node seconds."""

    task_id: int
    #: Empty for other users' tasks.
    name: str = ""
    user: str
    priority: str
    nodes: int
    gpus: int | None = None
    at: datetime
    #: Since its latest checkpoint: lost unless it saves when it is told.
    unsaved_s: float
    #: What a suspension and the resume after it have cost it before.
    switch_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastAssumption:
    """Something that a forecast takes for granted."""

    name: str
    sentence: str
    #: Of how many tasks, by what it is known from.
    tasks: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """When a task would start: now, later, beyond_horizon, beyond_computed, never; or it is running."""

    #: None for a task that is only thought of.
    task_id: int | None = None
    outcome: str
    sentence: str
    at: datetime
    starts_at: datetime | None = None
    starts_in_s: float | None = None
    #: The nodes that it would get, in rank order, and the GPUs on each of them; empty is whole nodes.
    nodes: tuple[str, ...] = ()
    gpus: tuple[tuple[int, ...], ...] = ()
    suspends: tuple[ForecastCost, ...] = ()
    #: All that the others would lose, in node seconds.
    cost_s: float = 0.0
    #: Why it waits now.
    verdict: Verdict | None = None
    assumptions: tuple[ForecastAssumption, ...] = ()
    horizon_s: float
    computed_until: datetime
    plans: int = 0
