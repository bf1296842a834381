"""Archives and restores users for admins: an archived user keeps what they have, and may use nothing of it.

Their tasks are told to leave, save, and are stopped. Jobs that save need the token of their run, which stays good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.ports.values import ArchivedUser, HistoryEvent
from hai_scheduler.service.people import stopping
from hai_scheduler.service.shared.archived_names import ArchivedNames
from hai_scheduler.service.shared.auditing import audit
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.doorbell import ring_change, ring_notices
from hai_scheduler.service.shared.errors import Conflict, NotFound
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.store.transaction import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveResult:
    """A user who is archived now, and how many of their tasks were told to stop."""

    user: ArchivedUser
    stopped: int


@dataclass(slots=True, eq=False)
class Archiving(UseCase):
    """The use cases of archiving."""

    names: ArchivedNames

    async def archived(self) -> Sequence[ArchivedUser]:
        """All archived users, sorted by name. The interface says who may ask."""
        async with self.store.read() as tx:
            found = await tx.users.archived()
        return [found[name] for name in sorted(found)]

    async def archive(self, caller: Caller, name: str, note: str = "") -> ArchiveResult:
        """Archive a user, and tell their tasks to stop. Repeating it is harmless.

        Raises:
            Forbidden: The caller is neither an admin nor the Hub.
            Conflict: The caller is that user.
            NotFound: The service has never seen the user.
        """
        if not caller.archives:
            admins_only(caller)
        if caller.kind == "user" and name == caller.name:
            raise Conflict(f"You are {name}, and nobody can archive themselves: ask another admin.")
        async with self.store.write() as tx:
            user = (await tx.users.archived()).get(name)
            if user is None:
                # The Hub knows its users, and some may have been there alone.
                if caller.kind == "user":
                    await _check_seen(tx, name)
                user = ArchivedUser(name=name, at=self.clock.now(), by=caller.name, note=note)
                await tx.users.archive(user)
                # No task of theirs starts any more, and who restores the user need not mean the same person.
                await tx.secrets.remove(name)
                await audit(tx, caller, AdminAction.USER_ARCHIVED, f"user:{name}", at=user.at, after={"note": note})
                await self._line(tx, caller, EventKind.USER_ARCHIVED, {"user": name, "note": note})
        self.names.forget()
        stopped = await self._stop_tasks(actor=caller.name)
        await ring_change(self.bus)
        return ArchiveResult(user=user, stopped=stopped)

    async def restore(self, caller: Caller, name: str) -> None:
        """Let an archived user use the platform again; tasks that were stopped stay stopped.

        Raises:
            Forbidden: The caller is not an admin.
            NotFound: The user is not archived.
        """
        admins_only(caller)
        async with self.store.write() as tx:
            user = (await tx.users.archived()).get(name)
            if user is None or not await tx.users.restore(name):
                raise NotFound(f"The user {name!r} is not archived: `hai admin user list --archived` shows who is.")
            before = {"by": user.by, "at": user.at.isoformat(), "note": user.note}
            now = self.clock.now()
            await audit(tx, caller, AdminAction.USER_RESTORED, f"user:{name}", at=now, before=before)
            await self._line(tx, caller, EventKind.USER_RESTORED, {"user": name})
        self.names.forget()
        await ring_change(self.bus)

    async def _stop_tasks(self, *, actor: str) -> int:
        stopped = 0
        while True:
            some, effects = await stopping.stop_some(self.store, self.policies, now=self.clock.now(), actor=actor)
            await ring_notices(self.bus, effects)
            stopped += some
            if some < stopping.BATCH:
                return stopped

    async def _line(self, tx: Tx, caller: Caller, kind: EventKind, data: dict[str, Any]) -> None:
        await tx.events.add(HistoryEvent(at=self.clock.now(), kind=kind, actor=caller.name, data=data))


async def _check_seen(tx: Tx, name: str) -> None:
    """Raise NotFound for a name that is probably misspelt."""
    if name not in {user.name for user in await tx.users.all()}:
        raise NotFound(f"HAI and the Hub know no user {name!r}: `hai admin user list` shows all of the Hub.")
