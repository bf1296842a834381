"""Users raise and lower their own rows of quota, up to the ceiling that an admin has set (Q3)."""

from __future__ import annotations

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.ordering.quota import QuotaTable
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.shared.auditing import audit
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.doorbell import ring_change
from hai_scheduler.service.shared.errors import Forbidden
from hai_scheduler.service.shared.known_names import check_group
from hai_scheduler.service.shared.quota_rows import expired, facts, find_row
from hai_scheduler.service.shared.world import UseCase


class OwnQuotas(UseCase):
    """The use case of users who change their own quota."""

    async def put(self, caller: Caller, group: str, priority: Priority, limit: int) -> Quota:
        """Write the caller's own row, with ceiling and expiry of its old one. Raises Forbidden and Invalid."""
        check_group(self.latest_plan, group)
        subject, now = f"user:{caller.name}", self.clock.now()
        async with self.store.write() as tx:
            rows = await tx.quotas.all()
            cap = QuotaTable(rows, {caller.name: caller.groups}, now).cap(caller.name, group, priority)
            _check(cap.ceiling, group, priority, limit)
            own = next(
                (
                    row
                    for row in rows
                    if (row.subject, row.group, row.priority) == (subject, group, priority) and not expired(row, now)
                ),
                None,
            )
            row = Quota(
                subject=subject,
                group=group,
                priority=priority,
                limit=limit,
                ceiling=own.ceiling if own else None,
                expires_at=own.expires_at if own else None,
            )
            was = find_row(rows, row)
            await tx.quotas.put(row)
            old = None if was is None else facts(was)
            await audit(tx, caller, AdminAction.QUOTA_PUT, subject, at=now, before=old, after=facts(row))
            data = {**facts(row), "before": cap.limit}
            await tx.events.add(HistoryEvent(at=now, kind=EventKind.QUOTA_PUT, actor=caller.name, data=data))
        await ring_change(self.bus)
        return row


def _check(ceiling: int | None, group: str, priority: Priority, limit: int) -> None:
    place = f"at {priority.name} in group {group!r}"
    if ceiling is None:
        raise Forbidden(
            f"limit: you may not change your quota {place} yourself, for no ceiling is set for you there: "
            "ask an admin for more, or for a ceiling."
        )
    if limit > ceiling:
        raise Forbidden(
            f"limit: {limit} is more than {ceiling}, the ceiling up to which you may raise your quota {place} "
            f"yourself: set at most {ceiling}, or ask an admin for more."
        )
