"""How much a user may keep: what a submission finds, and what is forgotten to make room (docs/operations.md).

A user's ended tasks are like a log that rotates: beyond the limits the oldest are forgotten early, within a minute.
So a submission is refused for want of room in two cases only: when what has not ended takes all of it, and when
somebody submits faster than ended tasks are forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hai_scheduler.ports.bounds import Stored
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.store import Tx
from hai_scheduler.service.shared.errors import InTheWay, TooMany
from hai_scheduler.service.shared.settings import ServiceSettings

#: What was measured of a user is believed for so long, in seconds, unless much has come since.
BELIEVED: Final = 60.0
#: Much is this part of what there is room for.
MUCH: Final = 1 / 8
#: How often the limits may be exceeded by what has ended until it is forgotten.
SLACK: Final = 2
#: When to submit again, in seconds: ended tasks are forgotten once a minute.
RETRY: Final = 60
_MIB: Final = 1024 * 1024


@dataclass(slots=True)
class _Known:
    """What was measured, and what has come since."""

    at: float
    stored: Stored
    size: int = 0
    tasks: int = 0


@dataclass(slots=True)
class Room:
    """Says whether there is room for one more task. Measuring walks a user's tasks, so it is done seldom."""

    settings: ServiceSettings
    clock: Clock
    _known: dict[str, _Known] = field(default_factory=dict)

    async def take(self, tx: Tx, user: str, size: int, *, ahead: Sequence[int] = ()) -> None:
        """Count a task of that size as the user's. Raises InTheWay and TooMany if there is no room for it.

        `ahead` are the sizes of those that were taken before it and that the transaction has not stored yet.
        """
        known = await self.ask(tx, user, size, ahead=ahead)
        known.size += size
        known.tasks += 1

    async def ask(self, tx: Tx, user: str, size: int, *, ahead: Sequence[int] = ()) -> _Known:
        """As `take`, but nothing is counted."""
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
        self._known[user] = _Known(at=now, stored=await tx.stored(user))
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
            raise InTheWay(
                f"The descriptions of your unfinished tasks take {unfinished // _MIB} MiB with this one, and "
                f"{limit // _MIB} MiB is the most (HaiScheduler.mib_per_user): put long arguments and variables into "
                "files, wait for some tasks to end, or stop some."
            )
        if unfinished + stored.ended_bytes > SLACK * limit or stored.ended_tasks > SLACK * self.settings.ended_per_user:
            raise TooMany(
                f"You have {stored.ended_tasks} ended tasks, {stored.ended_bytes // _MIB} MiB of descriptions, and the "
                "oldest are being forgotten to make room (HaiScheduler.ended_per_user, HaiScheduler.mib_per_user): "
                "submit again in a minute, and more slowly.",
                retry_after=RETRY,
            )
