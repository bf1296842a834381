"""The unfinished tasks of a tick, and those with a live run, from changes and from scratch."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.service.scheduling.unfinished import LiveTasks, Unfinished
from kit.builders import a_task
from unit.service.changing_tasks import changed, some_task


@pytest.mark.parametrize("seed", range(10))
def test_live_tasks_are_those_of_all_tasks(seed: int) -> None:
    choose, live = random.Random(seed), LiveTasks()
    tasks = {number: some_task(choose, number) for number in sorted(choose.sample(range(1, 400), 150))}
    for _ in range(50):
        tasks = changed(choose, tasks)
        every = tuple(tasks.values())
        assert live.of(every) == [task for task in every if task.live_run is not None]


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


def test_only_tasks_that_were_read_are_changed() -> None:
    """A tick reads all unfinished tasks first; one that it did not read is not one of its tasks."""
    tasks = Unfinished([a_task(1), a_task(3)])
    tasks.put(a_task(2))
    assert [task.id for task in tasks.all()] == [1, 3]
    assert tasks.get(TaskId(2)) is None


def test_a_task_that_ends_and_another_that_changes_in_the_same_tick() -> None:
    first, second, third = (a_task(number) for number in (1, 2, 3))
    tasks = Unfinished((first, second, third))
    tasks.put(replace(first, state=TaskState.STOPPED))
    tasks.put(held := replace(third, held=True))
    assert tasks.get(TaskId(1)) is None
    assert (tasks[TaskId(2)], tasks[TaskId(3)]) == (second, held)
    assert tasks.all() == (second, held)
    tasks.put(third)
    assert tasks.all() == (second, third), "back to what it was"


def test_a_task_that_is_put_as_it_was_read_is_no_change() -> None:
    read = (a_task(1), a_task(2))
    tasks = Unfinished(read)
    tasks.put(read[0])
    assert tasks.all() is read


def test_what_was_put_last_counts() -> None:
    task = a_task(1)
    tasks = Unfinished([task])
    tasks.put(replace(task, held=True))
    tasks.put(task)
    assert tasks[TaskId(1)] is task
