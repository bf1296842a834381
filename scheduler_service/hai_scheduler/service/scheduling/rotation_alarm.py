"""The alarm of P7: within an hour, equals have preempted a task as often as the policy allows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.turns import protected_until


def alarms(before: Task, after: Task, policy: Policy, now: datetime) -> bool:
    """True if the task's latest rotation has reached the limit; once until its protection is over."""
    if after.rotations == before.rotations or protected_until(after, policy) is None:
        return False
    protected = protected_until(before, policy)
    return protected is None or protected <= now


def alarm_data(task: Task, policy: Policy) -> dict[str, Any]:
    """The data of the alarm's event."""
    until = protected_until(task, policy)
    return {
        "kind": "rotations",
        "count": policy.max_rotations,
        "until": None if until is None else until.isoformat(),
        "message": (
            f"Task {task.id} has been told to leave for equals {policy.max_rotations} times within an hour, which is "
            "the limit: for an hour no equal can end its turn. If this happens often, raise slice or min_run."
        ),
    }
