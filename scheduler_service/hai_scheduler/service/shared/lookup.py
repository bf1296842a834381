"""Finds the task that a user names: by id, by the name of one of their own tasks, or as `user/name`."""

from __future__ import annotations

from collections.abc import Sequence

from hai_client import names
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.limits import HIDDEN, NAME_LENGTH
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.errors import Absent
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid, NotFound
from hai_scheduler.store.transaction import Tx


def check_name(name: str) -> str:
    """The name as it is kept, if it is valid for a task. Raises Invalid."""
    kept = names.spelled(name)
    if not names.fits(kept):
        raise Invalid(
            "name",
            name,
            f"{name!r} is not a task name: use 1 to {NAME_LENGTH} letters and digits of any script, '.', '_' or '-', "
            "beginning with a letter or digit",
        )
    if kept.isdigit():
        raise Invalid("name", name, f"{name!r} reads as a task id: add a letter")
    return kept


def check_tags(tags: Sequence[str]) -> None:
    """Raise Invalid unless each tag is shown as it is written."""
    for tag in tags:
        if HIDDEN.search(tag):
            why = "has a control character, or one that changes the direction of text: remove it"
            raise Invalid("tags", tag, f"{tag!r:.80} {why}")


async def find(tx: Tx, caller: Caller, ref: str) -> Task:
    """The task that `ref` names. Raises NotFound, with the same message for a missing task and for another user's."""
    missing = NotFound(f"There is no task {ref!r} that you may see: `hai list -a` shows yours.")
    if ref.isascii() and ref.isdigit():
        if len(ref) > 18:
            raise missing
        try:
            task = await tx.tasks.get(TaskId(int(ref)))
        except Absent:
            raise missing from None
    else:
        user, slash, name = ref.rpartition("/")
        found = await tx.tasks.find(user if slash else caller.name, names.spelled(name))
        if found is None:
            raise missing
        task = found
    if not caller.may_see(task.user):
        raise missing
    return task
