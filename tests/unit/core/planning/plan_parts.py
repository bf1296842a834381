"""The parts of a group's plan before its first step."""

from __future__ import annotations

from typing import Any

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.planning.group_state import GroupState
from hai_scheduler.core.planning.pending import PendingTask
from hai_scheduler.core.planning.plan_cache import PlanCache
from unit.core.tables import POLICY, snapshot


def a_group(*tasks: Task, policy: Policy = POLICY, group: str = "training", **fields: Any) -> GroupState:
    """The state of the group at the beginning of its plan; `fields` are those of `tables.snapshot`."""
    shot, cache = snapshot(*tasks, **fields), PlanCache()
    cache.update(shot, policy, Discipline.HAI)
    return GroupState(group, shot, policy, Discipline.HAI, cache)


def at_its_turn(state: GroupState, number: int) -> PendingTask:
    """The waiting task with that id, at its turn in the walk through the queue."""
    task = state.pending.tasks[TaskId(number)]
    assert task.priority is not None
    return PendingTask(task, task.priority, 0.0)
