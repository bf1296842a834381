"""Counts of tasks, from changes and from scratch."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.verdicts import Verdict, VerdictKind
from hai_scheduler.service.insight.census import Census, Count, TaskKind, level_of
from kit.builders import a_run, a_task, at
from unit.service.changing_tasks import changed, some_task


@pytest.mark.parametrize("seed", range(10))
def test_counts_are_those_of_all_tasks(seed: int) -> None:
    choose, census = random.Random(seed), Census()
    tasks = {number: some_task(choose, number) for number in sorted(choose.sample(range(1, 400), 150))}
    for _ in range(50):
        tasks = changed(choose, tasks)
        verdicts = {
            task.id: Verdict(kind=VerdictKind.CAPACITY, priority=choose.choice(list(Priority)))
            for task in tasks.values()
            if task.state.waiting and choose.random() < 0.9
        }
        every = tuple(tasks.values())
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


RUNS = a_task(1, state=TaskState.RUNNING, priority=None, run=a_run(1, priority=Priority.LOW))
AT_HIGH = {TaskId(1): Verdict(kind=VerdictKind.CAPACITY, priority=Priority.HIGH)}

#: sentence, the task, the verdicts, its level
KNOWN: list[tuple[str, Task, dict[TaskId, Verdict], Priority | None]] = [
    ("one that runs has its run's", RUNS, AT_HIGH, Priority.LOW),
    ("one that waits has what was asked for", a_task(1, priority=Priority.LOW), AT_HIGH, Priority.LOW),
    ("AUTO has its verdict's", a_task(1, priority=None), AT_HIGH, Priority.HIGH),
    ("AUTO before its first tick", a_task(1, priority=None), {}, None),
    ("AUTO that is held before its first tick", a_task(1, priority=None, held=True), {}, Priority.NORMAL),
    ("AUTO that is held has its verdict's", a_task(1, priority=None, held=True), AT_HIGH, Priority.HIGH),
    ("AUTO that has ended has its last run's", replace(RUNS, state=TaskState.SUCCEEDED,
     run=a_run(1, priority=Priority.LOW, ended_at=at())), AT_HIGH, Priority.LOW),
    ("AUTO that has ended without a run", a_task(1, priority=None, state=TaskState.STOPPED), AT_HIGH, None),
]  # fmt: skip


@pytest.mark.parametrize(("task", "verdicts", "level"), [row[1:] for row in KNOWN], ids=[row[0] for row in KNOWN])
def test_q4_the_level_of_a_task(task: Task, verdicts: dict[TaskId, Verdict], level: Priority | None) -> None:
    assert level_of(task, verdicts) is level


def test_kinds_without_tasks_are_left_out_and_nodes_are_counted() -> None:
    census = Census()
    tasks = (a_task(1, nodes=2), a_task(2, nodes=3), a_task(3, state=TaskState.RUNNING))
    waits = TaskKind("training", TaskState.QUEUED, Priority.NORMAL)
    runs = TaskKind("training", TaskState.RUNNING, Priority.NORMAL)
    assert census.of(tasks, {}) == {waits: Count(2, 5), runs: Count(1, 1)}
    assert census.of(tasks[2:], {}) == {runs: Count(1, 1)}
    assert census.of((), {}) == {}
