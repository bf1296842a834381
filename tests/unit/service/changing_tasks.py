"""Unfinished tasks that change from moment to moment."""

from __future__ import annotations

import random

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task, TaskState
from kit.builders import a_task

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
