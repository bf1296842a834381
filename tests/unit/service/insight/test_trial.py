"""Policy numbers are tried on the tasks of the last days, by the simulator, beside the numbers in force."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.service.insight.past import Past, read_past
from hai_scheduler.service.insight.trial import Trial, jobs_of, try_policies
from hai_scheduler.service.shared.errors import Forbidden, Invalid, TooCostly
from hai_scheduler.service.shared.orders import SnapshotFacts, TrialOrder
from kit.builders import a_run, a_task, at, some_nodes
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, Service, user

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
NODES = some_nodes(2)
OLD = Policies(default=Policy(min_run=5 * MINUTE, slice=10 * MINUTE))
SLOW = Policies(default=Policy(min_run=5 * MINUTE, slice=4 * HOUR))


def a_past(*tasks: Task, worked: timedelta = HOUR, **fields: object) -> Past:
    given: dict[str, object] = {
        "tasks": tasks,
        "too_many": False,
        "worked": {task.id: worked for task in tasks},
        "counted": None,
        "starts": [timedelta(seconds=30)],
        "first_waits": {},
        "turns": 3,
        "interruptions": 1,
        "held_s": 3600.0,
        "useful_s": 1800.0,
        "capacity_s": 7200.0,
        "quotas": tuple(
            Quota(subject="public", group=NODES[0].group, priority=level, limit=None) for level in Priority
        ),
    }
    return Past(**{**given, **fields})


def an_order(policies: Policies = SLOW, **fields: object) -> TrialOrder:
    given = {"policies": policies, "since": at(0), "now": at(hours=12), "most_tasks": 100, "most_seconds": 60.0}
    return TrialOrder(**{**given, **fields})


def over(number: int, **fields: object) -> Task:
    """A task that came to its end."""
    given: dict[str, object] = {
        "user": f"u{number}",
        "nodes": 2,
        "submitted_at": at(number),
        "state": TaskState.SUCCEEDED,
        "ended_at": at(hours=11),
        "run": a_run(number, nodes=2, ended_at=at(hours=11)),
        "leaving_took": timedelta(seconds=20),
    }
    return a_task(number, **{**given, **fields})


def tried(past: Past, order: TrialOrder | None = None, told: list[float] | None = None) -> Trial:
    facts = SnapshotFacts(nodes=NODES, policies=OLD)
    return try_policies(past, facts, order or an_order(), (told if told is not None else []).append)


def test_longer_slices_interrupt_less_and_let_others_wait_longer() -> None:
    told: list[float] = []
    found = tried(a_past(over(1), over(2), over(3)), told=told)
    assert (found.tasks, found.fault) == (3, None)
    assert found.old is not None
    assert found.new is not None
    assert found.new.interruptions == 0 < found.old.interruptions
    assert found.new.turns == 3 < found.old.turns
    (old,), (new,) = found.old.levels, found.new.levels
    assert (old.level, old.tasks) == ("NORMAL", 3)
    assert old.wait_p90_s < new.wait_p90_s
    assert sum(group.tasks for group in found.new.groups) == 3
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_equal_numbers_give_equal_figures() -> None:
    found = tried(a_past(over(1), over(2)), an_order(OLD))
    assert found.old == found.new


def test_what_happened_is_beside_what_is_simulated() -> None:
    found = tried(a_past(over(1), over(2), first_waits={TaskId(1): MINUTE, TaskId(2): HOUR}))
    assert found.measured is not None
    assert (found.measured.occupancy, found.measured.useful) == (0.5, 0.25)
    assert (found.measured.turns, found.measured.interruptions) == (3, 1)
    assert (found.measured.levels[0].wait_p50_s, found.measured.levels[0].wait_p90_s) == (60, 3600)


def test_what_cannot_be_known_is_said() -> None:
    stopped = over(1, state=TaskState.STOPPED)
    waits = a_task(2, user="u2", submitted_at=at(5))
    older = over(3, submitted_at=at(0) - HOUR)
    past = replace(a_past(stopped, waits, older), worked={TaskId(1): HOUR, TaskId(3): HOUR})
    made = jobs_of(past, an_order(), NODES)
    assert [job.task.id for job in made.jobs] == [1, 3]
    counts = {one.name: one.count for one in made.assumptions if one.count is not None}
    assert counts == {"cut": 1, "unstarted": 1, "older": 1}
    assert {one.name for one in made.assumptions if one.length is not None} == {"start", "saving", "plans"}
    assert made.fresh == {1}
    assert next(job for job in made.jobs if job.task.id == 3).task.submitted_at == at(0)


def test_a_run_that_goes_on_counts_until_now() -> None:
    task = a_task(1, state=TaskState.RUNNING, run=a_run(1, started_at=at(hours=9), running_at=at(hours=10)))
    made = jobs_of(a_past(task, worked=timedelta(0), counted=at(hours=11)), an_order(), NODES)
    assert made.jobs[0].work == HOUR


@pytest.mark.parametrize(
    ("past", "order", "words"),
    [
        (a_past(over(1), too_many=True), an_order(now=at(hours=72)), "more than 100 tasks: give fewer days"),
        (a_past(), an_order(), "No task has run since"),
        (a_past(*(over(n) for n in range(1, 90))), an_order(most_seconds=-1.0), "takes too long"),
    ],
)
def test_what_cannot_be_computed_is_refused_with_a_remedy(past: Past, order: TrialOrder, words: str) -> None:
    found = tried(past, order)
    assert found.fault is not None
    assert words in found.fault
    assert (found.old, found.new) == (None, None)


async def test_the_ledger_of_the_last_days_is_what_is_tried() -> None:
    service = await Service(nodes=2).open()
    for number in range(4):
        does = Behaviour(work=timedelta(seconds=90))
        await service.submit(f"t{number}", f"u{number % 2}", nodes=2, does=does)
    for _ in range(60):
        await service.step(10)
    order = an_order(since=at(0), now=service.clock.now())
    past = await read_past(service.store, order)
    assert [task.name for task in past.tasks] == ["t0", "t1", "t2", "t3"]
    assert {round(worked.total_seconds()) for worked in past.worked.values()} == {90}
    assert past.turns >= 4
    assert 0 < past.useful_s <= past.held_s
    assert set(past.first_waits) == {task.id for task in past.tasks}
    found = await service.platform.insight.previews.numbers(ADMIN, None, {"slice": "4h"}, (), days=1)
    assert found.tasks == 4
    assert found.new is not None
    assert found.new.interruptions == 0
    async with service.store.read() as tx:
        assert await tx.settings.get("policy") is None, "nothing is changed"


async def test_a_trial_is_for_admins_and_its_numbers_are_checked() -> None:
    service = await Service().open()
    previews = service.platform.insight.previews
    with pytest.raises(Forbidden):
        await previews.numbers(user("ann"), None, {"slice": "4h"}, ())
    for values, days in (({"slice": "x"}, 3), ({"nosuch": 1}, 3), ({}, 3), ({"slice": "4h"}, 0), ({"slice": "4h"}, 99)):
        with pytest.raises(Invalid):
            await previews.numbers(ADMIN, None, values, (), days=days)
    with pytest.raises(TooCostly, match="No task has run"):
        await previews.numbers(ADMIN, None, {"slice": "4h"}, ())
    assert asyncio.all_tasks() == {asyncio.current_task()}
