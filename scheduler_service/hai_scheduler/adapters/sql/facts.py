"""Quotas, use, strikes, users, node marks, settings and the lease: small tables that are read whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import and_, bindparam, delete, insert, select, update

from hai_scheduler.adapters.sql.fact_rows import (
    quota_of,
    quota_values,
    strike_of,
    strike_values,
    use_of,
    use_values,
)
from hai_scheduler.adapters.sql.looking import OWN, LookingPart
from hai_scheduler.adapters.sql.rows import of_instant, to_instant
from hai_scheduler.adapters.sql.tables import LEASE, NODE_MARKS, QUOTAS, SETTINGS, STRIKES, TASKS, USERS, USES
from hai_scheduler.core.model.node import NodeMark, Strike
from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.ports.errors import LeaseLost
from hai_scheduler.ports.values import Lease, UserRecord

_LEASE_ID = 1
# Made once: to build a statement costs as much as to execute it.
_QUOTAS, _USES, _USERS, _MARKS, _LEASE = select(QUOTAS), select(USES), select(USERS), select(NODE_MARKS), select(LEASE)
_STRIKES = (
    select(STRIKES, TASKS.c.user_name)
    .select_from(STRIKES.outerjoin(TASKS, TASKS.c.id == STRIKES.c.task_id))
    .order_by(STRIKES.c.at, STRIKES.c.id)
)
_SETTING = select(SETTINGS.c.value).where(SETTINGS.c.name == bindparam("name"))


class FactPart(LookingPart):
    """The part of a transaction that deals with quota, use, strikes, users, node marks, settings and the lease.

    Lists are sorted here, not by the database, whose order depends on its locale.
    """

    async def quotas(self) -> Sequence[Quota]:
        """See `Tx.quotas`."""
        return list(await self._facts("quotas", self._read_quotas))

    async def _read_quotas(self) -> Sequence[Quota]:
        rows = [quota_of(row) for row in await self._ask(_QUOTAS)]
        return sorted(rows, key=lambda quota: (quota.subject, quota.group, quota.priority))

    async def put_quota(self, quota: Quota) -> None:
        """See `Tx.put_quota`."""
        await self._changes("quotas")
        await self._put(QUOTAS, quota_values(quota))

    async def delete_quota(self, quota: Quota) -> bool:
        """See `Tx.delete_quota`."""
        await self._changes("quotas")
        row = and_(
            QUOTAS.c.subject == quota.subject,
            QUOTAS.c.group_name == quota.group,
            QUOTAS.c.priority == quota.priority.value,
        )
        return (await self._change(delete(QUOTAS).where(row))).rowcount > 0

    async def uses(self) -> Sequence[Usage]:
        """See `Tx.uses`."""
        return list(await self._facts("uses", self._read_uses))

    async def _read_uses(self) -> Sequence[Usage]:
        rows = [use_of(row) for row in await self._ask(_USES)]
        return sorted(rows, key=lambda use: (use.user, use.group))

    async def put_use(self, use: Usage) -> None:
        """See `Tx.put_use`."""
        await self._changes("uses")
        self._put_later(USES, use_values(use))

    async def delete_use(self, use: Usage) -> None:
        """See `Tx.delete_use`."""
        await self._changes("uses")
        row = and_(USES.c.user_name == use.user, USES.c.group_name == use.group)
        await self._change(delete(USES).where(row))

    async def strikes(self) -> Sequence[Strike]:
        """See `Tx.strikes`; those of the same moment in the order in which they were added."""
        return list(await self._facts("strikes", self._read_strikes))

    async def _read_strikes(self) -> Sequence[Strike]:
        return [strike_of(row) for row in await self._ask(_STRIKES)]

    async def add_strike(self, strike: Strike) -> None:
        """See `Tx.add_strike`."""
        await self._changes("strikes")
        await self._change(insert(STRIKES), strike_values(strike))

    async def forget_strikes(self, *, node: str | None = None, before: datetime | None = None) -> None:
        """See `Tx.forget_strikes`; without a condition, all of them."""
        await self._changes("strikes")
        forgotten = delete(STRIKES)
        if node is not None:
            forgotten = forgotten.where(STRIKES.c.node == node)
        if before is not None:
            forgotten = forgotten.where(STRIKES.c.at < to_instant(before))
        await self._change(forgotten)

    async def users(self) -> Sequence[UserRecord]:
        """See `Tx.users`; by name."""
        return list(await self._facts("users", self._read_users))

    async def _read_users(self) -> Sequence[UserRecord]:
        rows = await self._ask(_USERS)
        return sorted((UserRecord(name=row.name, groups=frozenset(row.groups)) for row in rows), key=lambda u: u.name)

    async def put_user(self, user: UserRecord) -> None:
        """See `Tx.put_user`."""
        await self._changes("users")
        await self._put(USERS, {"name": user.name, "groups": sorted(user.groups)})

    async def node_marks(self) -> Mapping[str, NodeMark]:
        """See `Tx.node_marks`."""
        return dict(await self._facts("marks", self._read_marks))

    async def _read_marks(self) -> Mapping[str, NodeMark]:
        return {row.node: NodeMark(row.mark) for row in await self._ask(_MARKS)}

    async def put_node_mark(self, node: str, mark: NodeMark) -> None:
        """See `Tx.put_node_mark`."""
        await self._changes("marks")
        if mark is NodeMark.NONE:
            await self._change(delete(NODE_MARKS).where(NODE_MARKS.c.node == node))
        else:
            await self._put(NODE_MARKS, {"node": node, "mark": mark.value})

    async def setting(self, name: str) -> str | None:
        """See `Tx.setting`."""
        return (await self._facts("settings", self._read_settings)).get(name)

    async def _read_settings(self) -> Mapping[str, str]:
        return {row.name: row.value for row in await self._ask(select(SETTINGS).where(SETTINGS.c.name.not_in(OWN)))}

    async def put_setting(self, name: str, value: str | None) -> None:
        """See `Tx.put_setting`."""
        await self._changes("settings")
        if value is None:
            await self._change(delete(SETTINGS).where(SETTINGS.c.name == name))
        else:
            await self._put(SETTINGS, {"name": name, "value": value})

    async def lease(self) -> Lease | None:
        """See `Tx.lease`."""
        held = (await self._ask(_LEASE)).first()
        if held is None or held.holder is None:
            return None
        return Lease(holder=held.holder, token=held.token, expires_at=of_instant(held.expires_at))

    async def acquire_lease(self, holder: str, *, now: datetime, length: timedelta) -> Lease | None:
        """See `Tx.acquire_lease`."""
        held = (await self._ask(_LEASE)).first()
        mine = held is not None and held.holder == holder
        if held is not None and held.holder is not None and not mine and of_instant(held.expires_at) > now:
            return None
        token = (held.token if held is not None else 0) + (not mine)
        row = {"id": _LEASE_ID, "holder": holder, "token": token, "expires_at": to_instant(now + length)}
        await self._put(LEASE, row)
        return Lease(holder=holder, token=token, expires_at=now + length)

    async def check_lease(self, token: int) -> None:
        """See `Tx.check_lease`. The lease stays valid, because no other writer can begin before this one ends."""
        held = (await self._ask(_LEASE)).first()
        if held is None or held.holder is None or held.token != token:
            raise LeaseLost("another scheduler holds the leader lease, or none does")

    async def release_lease(self, holder: str) -> None:
        """See `Tx.release_lease`."""
        await self._change(update(LEASE).where(LEASE.c.holder == holder).values(holder=None))
