"""The actions of admins: mark nodes, write quota, pause the platform. Each change is in the audit trail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from hai_scheduler.core.ledger.row import ERASED
from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.node import NodeCondition, NodeMark
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.platform.pause import Pause, text_of
from hai_scheduler.service.shared.auditing import audit
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.doorbell import ring_change
from hai_scheduler.service.shared.errors import Invalid, NotFound
from hai_scheduler.service.shared.known_names import check_group, stranger
from hai_scheduler.service.shared.quota_rows import expired, facts, find_row, key, named
from hai_scheduler.service.shared.versions import ANY, Expectation
from hai_scheduler.service.shared.world import UseCase

_MARKS: Final = {
    NodeMark.CORDONED: AdminAction.NODE_CORDONED,
    NodeMark.DRAINING: AdminAction.NODE_DRAINED,
    NodeMark.NONE: AdminAction.NODE_UNCORDONED,
}


class Administration(UseCase):
    """The use cases of admins."""

    async def mark_node(self, caller: Caller, name: str, mark: NodeMark) -> None:
        """Cordon, drain or uncordon a node; uncordon also deletes its strikes (H3). Raises Forbidden and NotFound."""
        admins_only(caller)
        node = self.latest_plan.by_name().get(name)
        if node is None:
            raise NotFound(f"There is no node {name!r}: `hai nodes` lists them.")
        async with self.store.write() as tx:
            before = (await tx.nodes.marks()).get(name, NodeMark.NONE)
            if before is not mark:
                condition = NodeCondition.of(replace(node, mark=mark), self.clock.now(), by=caller.name)
                await tx.nodes.put_conditions([condition])
            await tx.nodes.put_mark(name, mark)
            if mark is NodeMark.NONE:
                await tx.nodes.forget_strikes(node=name)
            now = self.clock.now()
            was, is_ = {"mark": before.value}, {"mark": mark.value}
            await audit(tx, caller, _MARKS[mark], f"node:{name}", at=now, before=was, after=is_)
            await self._line(tx, caller, EventKind.NODE_MARK, {"node": name, "mark": mark.value})
        await ring_change(self.bus)

    async def put_quota(self, caller: Caller, quota: Quota, *, expected: Expectation = ANY) -> str | None:
        """Write a row of quota. Raises Forbidden, Invalid, and Overtaken if the row is not the expected one.

        Returns:
            A warning if the subject is a name that HAI has never seen, which is probably misspelt; else None.
        """
        admins_only(caller)
        check_group(self.latest_plan, quota.group)
        _check_row(quota, self.clock.now())
        async with self.store.write() as tx:
            before = find_row(await tx.quotas.all(), quota)
            expected.check(named(quota), before)
            await tx.quotas.put(quota)
            was = None if before is None else facts(before)
            now = self.clock.now()
            await audit(tx, caller, AdminAction.QUOTA_PUT, quota.subject, at=now, before=was, after=facts(quota))
            await self._line(tx, caller, EventKind.QUOTA_PUT, facts(quota))
            warning = stranger(quota.subject, await tx.users.all())
        await ring_change(self.bus)
        return warning

    async def delete_quota(self, caller: Caller, quota: Quota, *, expected: Expectation = ANY) -> None:
        """Delete a row of quota. Raises Forbidden, NotFound if there is no such row, and Overtaken."""
        admins_only(caller)
        async with self.store.write() as tx:
            before = find_row(await tx.quotas.all(), quota)
            if before is not None:
                expected.check(named(quota), before)
                was, now = facts(before), self.clock.now()
                await audit(tx, caller, AdminAction.QUOTA_DELETED, quota.subject, at=now, before=was)
            if not await tx.quotas.delete(quota):
                raise NotFound(
                    f"There is no quota row of {quota.subject} at {quota.priority.name} in group {quota.group!r}."
                )
            await self._line(tx, caller, EventKind.QUOTA_DELETED, key(quota))
        await ring_change(self.bus)

    async def erase_user(self, caller: Caller, user: str) -> None:
        """Take the name of a user out of the ledger; all sums stay. Raises Forbidden, and NotFound if it is not there.

        The name stays in the history of tasks until they are deleted. The audit trail says that a user was erased, and
        not which one.
        """
        admins_only(caller)
        async with self.store.write() as tx:
            # No database can look for a NUL character.
            changed = 0 if "\0" in user or user == ERASED else await tx.ledger.erase(user)
            if not changed:
                raise NotFound(f"The ledger has nothing of a user {user!r}: `hai admin user list` shows all users.")
            # Not whose: the name is to be forgotten.
            await audit(tx, caller, AdminAction.LEDGER_ERASED, "ledger", at=self.clock.now(), after={"keys": changed})
            await self._line(tx, caller, EventKind.LEDGER_ERASED, {"keys": changed})

    async def pause(self, caller: Caller, *, grace: timedelta | None = None) -> None:
        """Tell all runs to leave, within `grace` at most (None: each task's own), and start no run until `unpause`."""
        admins_only(caller)
        async with self.store.write() as tx:
            await tx.settings.put("paused", text_of(Pause(grace)))
            seconds = None if grace is None else grace.total_seconds()
            after = {"paused": True, "grace_s": seconds}
            await audit(tx, caller, AdminAction.CLUSTER_PAUSED, "cluster", at=self.clock.now(), after=after)
            await self._line(tx, caller, EventKind.CLUSTER_PAUSED, {"grace_s": seconds})
        await ring_change(self.bus)

    async def unpause(self, caller: Caller) -> None:
        """End the pause."""
        admins_only(caller)
        async with self.store.write() as tx:
            if await tx.settings.get("paused") is not None:
                await tx.settings.put("paused", None)
                after = {"paused": False}
                await audit(tx, caller, AdminAction.CLUSTER_RESUMED, "cluster", at=self.clock.now(), after=after)
                await self._line(tx, caller, EventKind.CLUSTER_RESUMED, {})
        await ring_change(self.bus)

    async def _line(self, tx: Tx, caller: Caller, kind: EventKind, data: Mapping[str, Any]) -> None:
        await tx.events.add(HistoryEvent(at=self.clock.now(), kind=kind, actor=caller.name, data=data))


def _check_row(row: Quota, now: datetime) -> None:
    """Refuse an expired row, a ceiling of a `total:` row, and a ceiling below the limit (Q3)."""
    if expired(row, now):
        raise Invalid("expires_at", _text(row.expires_at), "is past: give a later time, or leave it out to set no end")
    if row.ceiling is None:
        return
    if row.subject.startswith("total:"):
        raise Invalid("ceiling", row.ceiling, "caps over all members together have none: leave it out")
    if row.limit is None:
        raise Invalid("ceiling", row.ceiling, "nothing can be raised where there is no limit: leave one of them out")
    if row.ceiling < row.limit:
        raise Invalid(
            "ceiling", row.ceiling, f"{row.ceiling} is below the limit of {row.limit}: raise it, or lower the limit"
        )


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
