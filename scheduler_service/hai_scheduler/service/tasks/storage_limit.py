"""Limits how much of the store a user's tasks may take (docs/operations.md).

A user's ended tasks are like a log that rotates: beyond the limits the oldest are deleted early, within a minute. So
a submission is refused for lack of room in two cases only: unfinished tasks take all the room, or the user submits
faster than ended tasks are deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.stored.storage import UserStorage
from hai_scheduler.service.shared.errors import Conflict, TooMany
from hai_scheduler.service.shared.world import UseCase

#: Seconds for which a measurement of a user's tasks is used, unless many tasks were added since.
BELIEVED: Final = 60.0
#: "Many" is this part of the free room at the measurement.
MUCH: Final = 1 / 8
#: The factor by which ended tasks may exceed the limits until they are deleted.
SLACK: Final = 2
#: Seconds after which to submit again: ended tasks are deleted once a minute.
RETRY: Final = 60
_MIB: Final = 1024 * 1024


@dataclass(slots=True)
class _Known:
    """A measurement, and the tasks that were added since."""

    at: float
    stored: UserStorage
    size: int = 0
    tasks: int = 0


@dataclass(slots=True, eq=False)
class StorageLimit(UseCase):
    """Checks that there is room for one more task. Measuring reads all tasks of a user, so it is done rarely."""

    _known: dict[str, _Known] = field(default_factory=dict)

    async def take(self, tx: Tx, user: str, size: int, *, ahead: Sequence[int] = ()) -> None:
        """Check that there is room for a task, and count it. Raises Conflict and TooMany if there is no room.

        Args:
            tx: The transaction.
            user: The user.
            size: The size of the task, in bytes.
            ahead: The sizes of the user's tasks that were taken in this transaction and are not stored yet.
        """
        known = await self.ask(tx, user, size, ahead=ahead)
        known.size += size
        known.tasks += 1

    async def ask(self, tx: Tx, user: str, size: int, *, ahead: Sequence[int] = ()) -> _Known:
        """Check as `take` does, without counting the task; returns the measurement."""
        known = self._known.get(user)
        if known is None or self._is_old(known, size):
            known = await self._measure(tx, user)
            known.size += sum(ahead)
            known.tasks += len(ahead)
        self._check(known, size)
        return known

    async def _measure(self, tx: Tx, user: str) -> _Known:
        now = self.clock.steady()
        self._known = {name: one for name, one in self._known.items() if now - one.at < BELIEVED}
        self._known[user] = _Known(at=now, stored=await tx.storage.of_user(user))
        return self._known[user]

    def _is_old(self, known: _Known, size: int) -> bool:
        limit, stored = self.settings.bytes_per_user, known.stored
        room = min(limit - stored.unfinished_bytes, SLACK * limit - stored.unfinished_bytes - stored.ended_bytes)
        tasks = SLACK * self.settings.ended_per_user - stored.ended_tasks
        return (
            self.clock.steady() - known.at >= BELIEVED
            or known.size + size > MUCH * room
            or known.tasks + 1 > MUCH * tasks
        )

    def _check(self, known: _Known, size: int) -> None:
        limit, stored = self.settings.bytes_per_user, known.stored
        unfinished = stored.unfinished_bytes + known.size + size
        if unfinished > limit:
            raise Conflict(
                f"The descriptions of your unfinished tasks take {unfinished // _MIB} MiB with this one, and "
                f"{limit // _MIB} MiB is the most (HaiScheduler.mib_per_user): put long arguments and variables into "
                "files, wait for some tasks to end, or stop some."
            )
        if unfinished + stored.ended_bytes > SLACK * limit or stored.ended_tasks > SLACK * self.settings.ended_per_user:
            raise TooMany(
                f"You have {stored.ended_tasks} ended tasks, {stored.ended_bytes // _MIB} MiB of descriptions, and the "
                "oldest are being deleted to make room (HaiScheduler.ended_per_user, HaiScheduler.mib_per_user): "
                "submit again in a minute, and more slowly.",
                retry_after=RETRY,
            )
