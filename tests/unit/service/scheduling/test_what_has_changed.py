"""Results from changes are the same as results from scratch: live tasks, counts, the tasks of a tick, plans."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.verdicts import Verdict, VerdictKind
from hai_scheduler.service.insight.census import Census, TaskKind, level_of
from hai_scheduler.service.scheduling.planner import PLAN_EVERY, Planner
from hai_scheduler.service.scheduling.unfinished import LiveTasks, Unfinished
from kit.builders import a_node, a_quota, a_strike, a_task, a_use, at, some_nodes

STATES = [state for state in TaskState if not state.ended]
LEVELS = [None, Priority.LOW, Priority.NORMAL]


def some_task(choose: random.Random, number: int) -> Task:
    state = choose.choice(STATES)
    return a_task(
        number,
        state=state,
        held=state.waiting and choose.random() < 0.2,
        priority=choose.choice(LEVELS),
        group=choose.choice(["training", "big"]),
        nodes=choose.randint(1, 3),
    )


def changed(choose: random.Random, tasks: dict[int, Task]) -> dict[int, Task]:
    """The tasks a moment later: some have changed, some are gone, some are new."""
    later = dict(tasks)
    for number in choose.sample(sorted(later), min(len(later), choose.randint(0, 3))):
        if choose.random() < 0.5:
            del later[number]
        else:
            later[number] = some_task(choose, number)
    for _ in range(choose.randint(0, 3)):
        number = choose.randint(1, 400)
        later[number] = some_task(choose, number)
    return dict(sorted(later.items()))


@pytest.mark.parametrize("seed", range(10))
def test_live_tasks_and_counts_are_those_of_all_tasks(seed: int) -> None:
    choose, live, census = random.Random(seed), LiveTasks(), Census()
    tasks = {number: some_task(choose, number) for number in sorted(choose.sample(range(1, 400), 150))}
    for _ in range(50):
        tasks = changed(choose, tasks)
        verdicts = {
            task.id: Verdict(kind=VerdictKind.CAPACITY, priority=choose.choice(list(Priority)))
            for task in tasks.values()
            if task.state.waiting and choose.random() < 0.9
        }
        every = tuple(tasks.values())
        assert live.of(every) == [task for task in every if task.live_run is not None]
        count: Counter[TaskKind] = Counter()
        nodes: Counter[TaskKind] = Counter()
        for task in every:
            kind = TaskKind(task.group, task.state, level_of(task, verdicts))
            count[kind] += 1
            nodes[kind] += task.nodes
        found = census.of(every, verdicts)
        assert {kind: each.tasks for kind, each in found.items()} == count
        assert {kind: each.nodes for kind, each in found.items()} == nodes
        assert census.of(every, verdicts) is found


@pytest.mark.parametrize("seed", range(10))
def test_the_tasks_of_a_tick_are_those_that_were_read_with_what_became_of_them(seed: int) -> None:
    choose = random.Random(seed)
    now = {number: a_task(number) for number in sorted(choose.sample(range(1, 400), 150))}
    tasks = Unfinished(now.values())
    for _ in range(100):
        number = choose.choice(sorted(now))
        task = choose.choice([now[number], a_task(number, held=True), a_task(number, state=TaskState.FAILED)])
        tasks.put(task)
        now[number] = task
        if task.state.ended:
            del now[number]
            with pytest.raises(KeyError):
                tasks[TaskId(number)]
        else:
            assert tasks[TaskId(number)] == task
        if choose.random() < 0.3:
            assert tasks.all() == tuple(now.values())
    before = tasks.all()
    assert tasks.all() is before
    with pytest.raises(KeyError):
        tasks[TaskId(1000)]


# -- plans ----------------------------------------------------------------------------------------

RUNNING = a_task(1, state=TaskState.RUNNING, nodes=1)
WAITING = a_task(2, user="bob", nodes=1)
SHOT = Snapshot(
    now=at(60), nodes=some_nodes(1), tasks=(RUNNING, WAITING), quotas=(a_quota("public", limit=None),), uses=()
)
POLICIES = Policies(default=Policy())


def test_where_nothing_has_changed_the_last_plan_is_good_for_a_while() -> None:
    planner = Planner()
    made = planner.plan(SHOT, POLICIES)
    assert planner.plan(SHOT, POLICIES) is made
    assert planner.plan(replace(SHOT, now=at(61)), POLICIES) is made
    assert planner.plan(replace(SHOT, now=at(60) + PLAN_EVERY), POLICIES) is not made


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("a task", lambda shot: replace(shot, tasks=(RUNNING, replace(WAITING, held=True)))),
        ("one task more", lambda shot: replace(shot, tasks=(*shot.tasks, a_task(3, user="cy")))),
        ("one task less", lambda shot: replace(shot, tasks=(RUNNING,))),
        ("a node", lambda shot: replace(shot, nodes=(a_node(mark=NodeMark.DRAINING),))),
        ("one node more", lambda shot: replace(shot, nodes=some_nodes(2))),
        ("a row of quota", lambda shot: replace(shot, quotas=(a_quota("public", limit=0),))),
        ("a use", lambda shot: replace(shot, uses=(a_use(),))),
        ("a strike", lambda shot: replace(shot, strikes=(a_strike(),))),
        ("a user's groups", lambda shot: replace(shot, groups_of={"bob": frozenset({"lab"})})),
        ("the pause", lambda shot: replace(shot, paused=True)),
        ("the clock, back", lambda shot: replace(shot, now=at(59))),
    ],
)
def test_after_a_change_of_anything_a_plan_is_made(what: str, change: Callable[[Snapshot], Snapshot]) -> None:
    planner = Planner()
    made = planner.plan(SHOT, POLICIES)
    assert not made.decisions
    assert planner.plan(change(SHOT), POLICIES) is not made, what


def test_after_a_change_of_the_rules_a_plan_is_made() -> None:
    planner = Planner()
    made = planner.plan(SHOT, POLICIES)
    assert planner.plan(SHOT, Policies(default=Policy(slice=timedelta(hours=2)))) is not made


def test_a_plan_that_decides_something_is_made_again() -> None:
    """Its decisions may not have been written."""
    planner, free = Planner(), replace(SHOT, tasks=(WAITING,))
    made = planner.plan(free, POLICIES)
    assert made.decisions
    again = planner.plan(free, POLICIES)
    assert again is not made
    assert again.decisions == made.decisions


def test_when_time_alone_changes_the_plan_it_is_made() -> None:
    """Bob's task may have the node when the turn of alice's task has lasted long enough."""
    planner = Planner()
    soon = at() + max(POLICIES.default.min_run, POLICIES.default.slice) - timedelta(seconds=2)
    made = planner.plan(replace(SHOT, now=soon), POLICIES)
    assert not made.decisions
    assert planner.plan(replace(SHOT, now=soon + timedelta(seconds=1)), POLICIES) is made
    assert planner.plan(replace(SHOT, now=soon + timedelta(seconds=2)), POLICIES).decisions
