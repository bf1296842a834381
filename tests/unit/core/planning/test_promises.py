"""Promises in a plan (B3): `hai_scheduler.core.planning.promises`.

They are kept in `hai_scheduler.core.capacity.promised_nodes`, of what `placer` and `preemptor` find.
"""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.planning.group_state import GroupState
from hai_scheduler.core.planning.pending import PendingTask
from hai_scheduler.core.planning.placer import Placer
from hai_scheduler.core.planning.plan_cache import PlanCache
from hai_scheduler.core.planning.preemptor import Preemptor
from hai_scheduler.core.planning.promises import Promises
from kit.builders import a_quota
from unit.core.tables import EVERYBODY, HIGH, LOW, NORMAL, POLICY, leaving, runs, snapshot, waits


def parts(*tasks: Task, **fields: Any) -> tuple[GroupState, Placer, Promises]:
    """The parts of a group's plan at its begin: no node is promised yet, whatever promises the tasks have."""
    shot, cache = snapshot(*tasks, **fields), PlanCache()
    cache.update(shot, POLICY, Discipline.HAI)
    state = GroupState("training", shot, POLICY, Discipline.HAI, cache)
    placer = Placer(state)
    return state, placer, Promises(state, placer)


def now(state: GroupState, number: int) -> Task:
    """The task with that id, as the plan has it now."""
    return state.pending.tasks[TaskId(number)]


def two_nodes_for(number: int, **fields: Any) -> Task:
    return waits(number, 2, promise=frozenset({"node-1", "node-2"}), **fields)


def test_what_can_be_kept_whole_is_kept_with_its_quota() -> None:
    state, _, promises = parts(leaving(runs(1, "node-1"), 2), two_nodes_for(2), waits(3, 2, user="user2"))
    promises.keep([now(state, 2)])
    assert state.capacity.promised.to(now(state, 2)) == ["node-1", "node-2"]
    assert promises.level_of(now(state, 2)) is NORMAL
    promises.check(list(state.pending.tasks.values()))


@pytest.mark.parametrize(
    ("sentence", "running", "quota"),
    [
        ("one of its nodes has another holder, who stays", runs(1, "node-1"), None),
        ("its quota is gone", leaving(runs(1, "node-1"), 2), 1),
    ],
)
def test_what_cannot_be_kept_whole_is_open_to_others(sentence: str, running: Task, quota: int | None) -> None:
    rows = EVERYBODY if quota is None else (a_quota("public", priority=NORMAL, limit=quota),)
    state, _, promises = parts(running, two_nodes_for(2), quotas=rows)
    promises.keep([now(state, 2)])
    assert now(state, 2).promise == frozenset(), sentence
    assert promises.level_of(now(state, 2)) is None
    assert state.capacity.promised.tasks() == set()
    assert [keep.nodes for keep in state.pending.changed_promises()] == [frozenset()]


def test_a_lower_promise_gives_way_as_a_whole() -> None:
    """One of its nodes is taken: the other is open again, and so is its quota."""
    state, _, promises = parts(two_nodes_for(2, priority=LOW), waits(3, 1, priority=HIGH), nodes=2)
    promises.keep([now(state, 2)])
    promises.make(now(state, 3), HIGH, ("node-1",))
    assert (now(state, 2).promise, now(state, 3).promise) == (frozenset(), {"node-1"})
    assert state.nodes.now(waits(9), NORMAL) == ["node-2"]
    assert promises.renewed == {3}
    assert (promises.level_of(now(state, 2)), promises.level_of(now(state, 3))) == (None, HIGH)
    promises.check(list(state.pending.tasks.values()))


def test_every_lower_promise_in_the_way_ends() -> None:
    lower = [waits(number, promise=frozenset({f"node-{number}"}), priority=LOW) for number in (1, 2)]
    state, _, promises = parts(*lower, waits(3, 2, priority=HIGH), nodes=2)
    promises.keep([now(state, 1), now(state, 2)])
    promises.make(now(state, 3), HIGH, ("node-1", "node-2"))
    assert [now(state, number).promise for number in (1, 2)] == [frozenset(), frozenset()]
    promises.check(list(state.pending.tasks.values()))


def test_a_promise_takes_the_place_of_the_earlier_one() -> None:
    state, _, promises = parts(
        leaving(runs(1, "node-1", level=LOW), 3), waits(3, promise=frozenset({"node-1"})), nodes=2
    )
    promises.keep([now(state, 3)])
    assert state.capacity.promised.to(now(state, 3)) == ["node-1"]
    promises.make(now(state, 3), NORMAL, ("node-2",))
    assert state.capacity.promised.to(now(state, 3)) == ["node-2"]
    assert now(state, 3).promise == {"node-2"}


def test_quota_is_counted_once_while_it_is_set_aside() -> None:
    state, _, promises = parts(waits(2, 2), quotas=(a_quota("public", priority=NORMAL, limit=2),))
    task = now(state, 2)
    for _ in range(2):
        promises.return_quota(task)
        assert state.in_quota(task, NORMAL)
        promises.make(now(state, 2), NORMAL, ("node-1", "node-2"))
        assert not state.in_quota(task, NORMAL)


def pending(task: Task, priority: Priority = NORMAL) -> PendingTask:
    return PendingTask(task, priority, 0.0)


def test_a_gang_is_placed_on_free_nodes_or_not_at_all() -> None:
    state, placer, _ = parts(runs(1, "node-1"), waits(2, 3), waits(3, 4))
    assert placer.now(pending(now(state, 2)), passing=False) == ("node-2", "node-3", "node-4")
    assert placer.now(pending(now(state, 3)), passing=False) is None


def test_room_is_what_is_being_freed_before_any_task_is_told_to_leave() -> None:
    state, placer, _ = parts(
        leaving(runs(1, "node-1", level=LOW), None), runs(2, "node-2", level=LOW), waits(3), nodes=2
    )
    room = Preemptor(state, placer).find(pending(now(state, 3)))
    assert room is not None
    assert (room.nodes, room.victims) == (("node-1",), ())


def test_those_who_must_leave_are_leaving_from_then_on() -> None:
    state, placer, _ = parts(runs(1, "node-1", level=LOW), waits(3), nodes=1)
    preemptor = Preemptor(state, placer)
    room = preemptor.find(pending(now(state, 3)))
    assert room is not None
    assert ([turn.task.id for turn in room.victims], room.nodes) == ([1], ())
    assert not any(turn.leaving for turn in room.victims), "it is only looked for"
    names = preemptor.end(room.victims, pending(now(state, 3)))
    assert names == ("node-1",)
    assert all(turn.leaving for turn in room.victims)
    assert preemptor.frees_more(room.victims), "the node is not promised yet"
    state.capacity.promise(names, now(state, 3), NORMAL)
    assert not preemptor.frees_more(room.victims)


def test_no_room_is_made_where_no_task_may_be_told_to_leave() -> None:
    state, placer, _ = parts(runs(1, "node-1", level=HIGH), waits(3), nodes=1)
    assert Preemptor(state, placer).find(pending(now(state, 3))) is None
    assert not any(turn.leaving for turn in state.turns.values())
