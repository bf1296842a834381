"""Runs of a task with two ranks."""

from __future__ import annotations

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Rank, RankState, Run
from kit.memory.clock import VirtualClock

CLOCK = VirtualClock()


T = CLOCK.now()


def a_run(number: int, *, ended: Reason | None = Reason.SUCCEEDED, **about: object) -> Run:
    return Run(
        id=RunId(f"1.{number}"),
        number=number,
        ranks=(Rank(rank=0, node="n1", state=RankState.RUNNING), Rank(rank=1, node="n2")),
        priority=Priority.NORMAL,
        started_at=T,
        running_at=T,
        ended_at=T if ended else None,
        reason=ended,
        **about,
    )
