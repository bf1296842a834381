"""Helpers of the contract suite of the Store port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import fields
from datetime import timedelta
from typing import Any

from hai_scheduler.core.model.ids import Origin, TaskId
from hai_scheduler.core.model.leaving import Left, Profile, Signal, SignalName, Source
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, Fallback, RankState, Run
from hai_scheduler.core.model.task import Retry, Task, TaskState
from hai_scheduler.core.model.usage_summary import UsageLevel, UsageSummary
from hai_scheduler.store.store import Store
from kit.builders import (
    T0,
    a_checkpoint,
    a_notice,
    a_pin,
    a_rank,
    a_run,
    a_spec,
    a_task,
    at,
)

MINUTE = timedelta(minutes=1)

# Opens a store; all stores of a test have the same state.
Opener = Callable[[], Awaitable[Store]]


def checked_out(store: Store) -> int:
    """The number of connections that are checked out of the pool of the store."""
    return store.engine.pool.checkedout()  # type: ignore[attr-defined,no-any-return]


async def add(store: Store, *tasks: Task) -> list[Task]:
    async with store.write() as tx:
        return [await tx.tasks.add(task, a_spec()) for task in tasks]


async def save(store: Store, task: Task) -> Task:
    async with store.write() as tx:
        return await tx.tasks.save(task)


async def get(store: Store, number: TaskId) -> Task:
    async with store.read() as tx:
        return await tx.tasks.get(number)


def names(tasks: Iterable[Task]) -> list[str]:
    return [task.name for task in tasks]


def like_default(value: Any, default: Any) -> list[str]:
    """The fields of a dataclass whose value is the default's."""
    return [field.name for field in fields(value) if getattr(value, field.name) == getattr(default, field.name)]


def full_run(number: int = 2) -> Run:
    """A run of task 1 whose every field differs from its default."""
    ranks = (
        a_rank(
            0,
            node="node-7",
            gpus=(2, 5),
            state=RankState.EXITED,
            exit_code=143,
            signal=15,
            ended_at=at(8),
            caught=False,
            notified_at=at(5),
            signalled=True,
            done=True,
            message="half of it",
            unstarted=Blame.UNKNOWN,
            crowded=True,
            supervisor_killed=True,
            idle_gpus_since=at(4),
            fallback=Fallback.NO_PORT,
            watched=False,
            summary=a_summary(seconds=9),
        ),
        a_rank(1, gpus=(0, 1), state=RankState.LOST, message="its node no longer knows of it"),
    )
    return a_run(
        1,
        number,
        ranks=ranks,
        priority=Priority.HIGH,
        started_at=at(1),
        running_at=at(2),
        ended_at=at(9),
        notice=a_notice(Reason.PREEMPTED, at=at(4), beneficiary=TaskId(7), revision=3),
        killed_at=at(8),
        done=True,
        checkpoint=a_checkpoint(12, at=at(6), path="c/12", source=Source.SEEN),
        reason=Reason.PREEMPTED,
        left=Left.ENDED,
        lost=timedelta(seconds=3.25),
        failed_ranks=(0,),
        origin=Origin("a1b2", 3),
        haienv=a_pin(generation=7),
        summary=a_summary(seconds=120),
    )


def a_summary(**fields: Any) -> UsageSummary:
    """A summary whose every field differs from its default."""
    level = UsageLevel(0.1, 2.5)
    levels = dict.fromkeys(("cpu", "memory", "gpu_use", "gpu_memory", "gpu_power"), level)
    return UsageSummary(**levels, gpus=8, gpu_seconds=80, gpu_idle_seconds=3, joules=1e9, **fields)


def full_task() -> Task:
    """A task whose every field differs from its default."""
    return a_task(
        name="t.rain_1",
        user="bob",
        group="big",
        priority=Priority.VERY_HIGH,
        nodes=2,
        submitted_at=T0 + timedelta(microseconds=1),
        waiting_since=at(1),
        gpus=2,
        profile=Profile.SLURM,
        signal=Signal(name=SignalName.USR1, before=timedelta(seconds=2.5)),
        grace=timedelta(seconds=7.5),
        time_limit=timedelta(hours=3),
        state=TaskState.SUSPENDED,
        held=True,
        custom_rank=0.1,
        run=full_run(),
        served=timedelta(seconds=8),
        suspensions=4,
        unsaved=3,
        avoid=frozenset({"node-9", "node-8"}),
        promise=frozenset({"node-3"}),
        failed_starts=2,
        retry=Retry(count=5, backoff=timedelta(seconds=1.5), exit_codes=frozenset({137, 1})),
        retries=3,
        not_before=at(11),
        rotations=(at(2), at(3)),
        leaving_took=timedelta(seconds=2.5),
        starting_took=timedelta(seconds=12),
        checkpoint=a_checkpoint(12, at=at(6), path="c/12"),
        job_state="epoch 3 – ä",
        reason=Reason.PREEMPTED,
        ended_at=at(10),
    )
