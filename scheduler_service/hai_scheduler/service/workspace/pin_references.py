"""References to the generations that tasks need: `haienv gc` and `haienv remove` keep these, also while HAI is down.

A reference is a file below HAIENV_ROOT. It is written before its task is stored, under a key of the submission, and
under the task's own key afterwards. The scheduling loop compares all references with the tasks every few seconds:
so what a crash has left is put right, and references go with the end of their tasks. A task that was submitted with
`--env-latest` has one while it runs, from a few seconds after its start on.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.ports.haienvs import HaienvFault, Use
from hai_scheduler.service.shared.errors import Conflict
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)

#: Seconds between two comparisons.
EVERY_S: Final = 5.0
#: How long the reference of a submission stays that has not become a task: its process was killed.
_ABANDONED: Final = timedelta(minutes=10)


class PinReferences(UseCase):
    """Writes and removes references."""

    @asynccontextmanager
    async def while_submitting(self, user: str, pin: Pin | None) -> AsyncIterator[Callable[[TaskId], Awaitable[None]]]:
        """Hold a generation while its task is being stored; the value holds it for the stored task.

        Raises Conflict if the generation was removed at this moment.
        """
        haienvs = self.world.haienvs
        if pin is None or pin.latest or haienvs is None:
            yield _nothing
            return
        async with self.store.read() as tx:
            identity = (await tx.database.mark()).database
        key = f"{identity}.submission-{secrets.token_hex(8)}"

        async def hold(task_id: TaskId) -> None:
            await haienvs.hold(_key(identity, task_id), _use(task_id, user, pin))

        try:
            await haienvs.hold(key, Use(name=pin.name, generation=pin.generation, what=f"a submission of {user}"))
        except OSError as error:
            # The task is pinned all the same: only `haienv gc` does not know of it.
            log.warning("no reference to %s can be written: %s", pin.reference, error)
            yield _nothing
            return
        try:
            # It may have been removed after it was found, and before the reference was there.
            await haienvs.check(user, pin)
            yield hold
        except HaienvFault as error:
            raise Conflict(f"environment: {error}") from None
        finally:
            await haienvs.release(key)

    async def compare(self) -> None:
        """Write the references that unfinished tasks lack, and remove those of ended tasks. Raises OSError."""
        haienvs = self.world.haienvs
        if haienvs is None:
            return
        # In this order: a task of the list below is stored before a reference that is found here is written.
        there = await haienvs.held()
        async with self.store.read() as tx:
            identity = (await tx.database.mark()).database
            pinned = await tx.tasks.pinned()
        wanted = {_key(identity, task_id): _use(task_id, user, pin) for task_id, (user, pin) in pinned.items()}
        for key, use in wanted.items():
            held = there.get(key)
            if held is None or (held.name, held.generation) != (use.name, use.generation):
                await haienvs.hold(key, use)
        for key, held in there.items():
            # Those of another platform on the same folder begin with its own identity.
            whose, _, what = key.partition(".")
            abandoned = not what.startswith("submission-") or self.clock.now() - held.written > _ABANDONED
            if whose == identity and key not in wanted and abandoned:
                await haienvs.release(key)

    async def run(self, leads: Callable[[], bool]) -> None:
        """Compare until cancelled, whenever this replica leads."""
        while self.world.haienvs is not None:
            if leads():
                try:
                    await self.compare()
                except Exception:  # comparing again later is all that can be done
                    log.exception("references to environments could not be compared with tasks; this is repeated")
            await self.clock.sleep(EVERY_S)


async def _nothing(task_id: TaskId) -> None:
    """Hold nothing."""


def _key(identity: str, task_id: TaskId) -> str:
    return f"{identity}.task-{task_id}"


def _use(task_id: TaskId, user: str, pin: Pin) -> Use:
    return Use(name=pin.name, generation=pin.generation, what=f"task {task_id} of {user}")
