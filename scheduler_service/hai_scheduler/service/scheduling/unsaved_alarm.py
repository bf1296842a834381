"""The warning to a user whose task is interrupted repeatedly without evidence of a checkpoint (P8)."""

from __future__ import annotations

from typing import Any, Final

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.task import Task

#: The number of interruptions in a row after which a user is warned, where the policy switches P8 off.
_OFTEN: Final = 2


def told_after(policy: Policy) -> int:
    """The number of interruptions in a row without evidence of a checkpoint after which a user is warned."""
    return policy.max_unsaved or _OFTEN


def alarms(before: Task, after: Task, policy: Policy) -> bool:
    """True if the change has just reached that number: once until there is a checkpoint."""
    return before.unsaved < told_after(policy) <= after.unsaved


def hint_of(task: Task, policy: Policy) -> str | None:
    """A warning for the task's owner with what they can do; None: there is no cause, or the task has ended."""
    if task.unsaved < told_after(policy) or task.state.ended:
        return None
    caught = () if task.run is None else tuple(rank.caught for rank in task.run.ranks)
    why = " Its command does not catch the signal that it is sent." if False in caught else ""
    stays = "" if policy.max_unsaved == 0 else " Until then no task of its own priority can take its nodes."
    return (
        f"It was interrupted {task.unsaved} times in a row, and nothing shows that it has saved meanwhile:"
        f" each time it may have begun again.{why} Save below $HAI_CHECKPOINT_DIR, submit it with --watch PATH"
        f" if it saves elsewhere, or tell of it with hai_client.job.saved().{stays}"
    )


def alarm_data(task: Task, policy: Policy) -> dict[str, Any]:
    """The data of the alarm's event."""
    return {
        "kind": "unsaved",
        "count": task.unsaved,
        "run": None if task.run is None else task.run.number,
        "message": f"Task {task.id} may be losing its work. {hint_of(task, policy) or ''}".rstrip(),
    }
