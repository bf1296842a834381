"""Q3: users raise and lower their own rows of quota, up to the ceiling that an admin has set."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hai_scheduler.core.event_kinds import EventKind
from hai_scheduler.core.model import Priority, Quota
from hai_scheduler.core.quota import QuotaBook
from hai_scheduler.ports import Bus, Clock, Event, Store, UserRecord
from hai_scheduler.service.caller import Caller
from hai_scheduler.service.effects import FEED, TICK
from hai_scheduler.service.errors import Invalid, NotAllowed
from hai_scheduler.service.watch import Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnQuotas:
    """The use case of users."""

    store: Store
    bus: Bus
    clock: Clock
    watch: Watch

    async def put(self, caller: Caller, group: str, priority: Priority, limit: int) -> Quota:
        """Write the caller's own row. Ceiling and expiry of the one that there is stay. Raises NotAllowed, Invalid."""
        check_group(self.watch, group)
        subject, now = f"user:{caller.name}", self.clock.now()
        async with self.store.write() as tx:
            rows = await tx.quotas()
            cap = QuotaBook(rows, {caller.name: caller.groups}, now).cap(caller.name, group, priority)
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
            await tx.put_quota(row)
            data = {**facts(row), "before": cap.limit}
            await tx.add_event(Event(at=now, kind=EventKind.QUOTA_PUT, actor=caller.name, data=data))
        await self.bus.ring(TICK)
        await self.bus.ring(FEED)
        return row


def _check(ceiling: int | None, group: str, priority: Priority, limit: int) -> None:
    place = f"at {priority.name} in group {group!r}"
    if ceiling is None:
        raise NotAllowed(
            f"limit: you may not change your quota {place} yourself, for no ceiling is set for you there: "
            "ask an admin for more, or for a ceiling (Q3)."
        )
    if limit > ceiling:
        raise NotAllowed(
            f"limit: {limit} is more than {ceiling}, the ceiling up to which you may raise your quota {place} "
            f"yourself: set at most {ceiling}, or ask an admin for more (Q3)."
        )


def check_group(watch: Watch, group: str) -> None:
    """Raise Invalid for a node group that there is not, as far as the nodes are known."""
    groups = watch.groups()
    if groups and group not in groups:
        raise Invalid("group", group, f"there is no node group {group!r}: choose one of {', '.join(sorted(groups))}")


def expired(row: Quota, now: datetime) -> bool:
    """Whether the row is as if it were not there (Q3)."""
    return row.expires_at is not None and row.expires_at <= now


def key(row: Quota) -> dict[str, Any]:
    """What names the row, for its events."""
    return {"subject": row.subject, "group": row.group, "priority": row.priority.name}


def facts(row: Quota) -> dict[str, Any]:
    """All of the row, for its events."""
    until = None if row.expires_at is None else row.expires_at.isoformat()
    return {**key(row), "limit": row.limit, "ceiling": row.ceiling, "expires_at": until}


def stranger(subject: str, users: Iterable[UserRecord]) -> str | None:
    """A sentence if the subject names a user, or a user group, that HAI has never seen."""
    kind, _, name = subject.partition(":")
    seen = list(users)
    known: Collection[str] = {user.name for user in seen} if kind == "user" else {g for u in seen for g in u.groups}
    if not name or name in known:
        return None
    what = "a user" if kind == "user" else "a user of the group"
    return f"HAI has never seen {what} {name!r}: check the spelling, or ignore this if the name is new"
