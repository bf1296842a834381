"""One action on many tasks: each is done or refused by itself, and has a result of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.errors import WriteConflict
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Conflict, HaiError, NotFound, QuotaExceeded
from hai_scheduler.service.tasks.submissions import Submissions


class TaskAction(StrEnum):
    """What can be done to many tasks at once."""

    STOP = "stop"
    SUSPEND = "suspend"
    RESUME = "resume"
    HOLD = "hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """What became of one of the tasks."""

    #: The task as the caller has named it.
    ref: str
    #: The task after the action; None: it was refused.
    task: Task | None = None
    #: Why it was refused.
    refusal: HaiError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyTasks:
    """The use case."""

    submissions: Submissions

    async def act(self, caller: Caller, action: TaskAction, refs: Sequence[str]) -> Sequence[ActionResult]:
        """Do the action to each of the tasks, in order; a task that is named twice is acted on once.

        Each is a transaction of its own: what is done stays done when a later task is refused, or the service ends.
        """
        acts: Mapping[TaskAction, Callable[[Caller, str], Awaitable[Task]]] = {
            TaskAction.STOP: self.submissions.stop,
            TaskAction.SUSPEND: self.submissions.suspend,
            TaskAction.RESUME: self.submissions.resume,
            TaskAction.HOLD: self.submissions.hold,
        }
        results = []
        for ref in dict.fromkeys(refs):
            try:
                results.append(ActionResult(ref=ref, task=await acts[action](caller, ref)))
            except WriteConflict:
                refusal = Conflict(f"Task {ref} was changed by another request at the same time: try it again.")
                results.append(ActionResult(ref=ref, refusal=refusal))
            except (Conflict, NotFound, QuotaExceeded) as error:
                results.append(ActionResult(ref=ref, refusal=error))
            await asyncio.sleep(0)
        return results
