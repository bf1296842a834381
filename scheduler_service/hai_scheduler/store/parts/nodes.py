"""What is remembered of nodes, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import delete, insert, select

from hai_scheduler.core.model.node import NodeCondition, NodeMark, Strike
from hai_scheduler.store.codec import to_instant
from hai_scheduler.store.label_tables import NODE_CONDITIONS
from hai_scheduler.store.rows import CONDITION, STRIKE
from hai_scheduler.store.small_tables import SmallTablePart
from hai_scheduler.store.tables import NODE_MARKS, STRIKES, TASKS

# Made once: to build a statement costs as much as to execute it.
_MARKS = select(NODE_MARKS)
_CONDITIONS = select(NODE_CONDITIONS)
_STRIKES = (
    select(STRIKES, TASKS.c.user_name)
    .select_from(STRIKES.outerjoin(TASKS, TASKS.c.id == STRIKES.c.task_id))
    .order_by(STRIKES.c.at, STRIKES.c.id)
)


class SqlNodes(SmallTablePart):
    """See `ports.stored.nodes.StoredNodes`."""

    async def marks(self) -> Mapping[str, NodeMark]:
        """See `StoredNodes.marks`."""
        return dict(await self._tables.rows("marks", self._read_marks))

    async def put_mark(self, node: str, mark: NodeMark) -> None:
        """See `StoredNodes.put_mark`."""
        await self._tables.changes("marks")
        if mark is NodeMark.NONE:
            await self._sql.change(delete(NODE_MARKS).where(NODE_MARKS.c.node == node))
        else:
            await self._sql.put(NODE_MARKS, {"node": node, "mark": mark.value})

    async def conditions(self) -> Mapping[str, NodeCondition]:
        """See `StoredNodes.conditions`."""
        return dict(await self._tables.rows("conditions", self._read_conditions))

    async def put_conditions(self, conditions: Collection[NodeCondition]) -> None:
        """See `StoredNodes.put_conditions`."""
        await self._tables.changes("conditions")
        for condition in conditions:
            self._sql.put_later(NODE_CONDITIONS, CONDITION.values(condition))

    async def forget_conditions(self, nodes: Collection[str]) -> None:
        """See `StoredNodes.forget_conditions`."""
        await self._tables.changes("conditions")
        await self._sql.change(delete(NODE_CONDITIONS).where(NODE_CONDITIONS.c.node.in_(sorted(nodes))))

    async def strikes(self) -> Sequence[Strike]:
        """See `StoredNodes.strikes`; those of the same moment in the order in which they were added."""
        return list(await self._tables.rows("strikes", self._read_strikes))

    async def add_strike(self, strike: Strike) -> None:
        """See `StoredNodes.add_strike`."""
        await self._tables.changes("strikes")
        await self._sql.change(insert(STRIKES), STRIKE.values(strike))

    async def forget_strikes(self, *, node: str | None = None, before: datetime | None = None) -> None:
        """See `StoredNodes.forget_strikes`; without a condition, all of them."""
        await self._tables.changes("strikes")
        forgotten = delete(STRIKES)
        if node is not None:
            forgotten = forgotten.where(STRIKES.c.node == node)
        if before is not None:
            forgotten = forgotten.where(STRIKES.c.at < to_instant(before))
        await self._sql.change(forgotten)

    async def _read_marks(self) -> Mapping[str, NodeMark]:
        return {row.node: NodeMark(row.mark) for row in await self._sql.ask(_MARKS)}

    async def _read_conditions(self) -> Mapping[str, NodeCondition]:
        return {row.node: CONDITION.of(row) for row in await self._sql.ask(_CONDITIONS)}

    async def _read_strikes(self) -> Sequence[Strike]:
        return [STRIKE.of(row, user=row.user_name) for row in await self._sql.ask(_STRIKES)]
