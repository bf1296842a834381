"""What is remembered of nodes, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import delete, insert, select

from hai_scheduler.core.model.node import NodeCondition, NodeMark, Strike
from hai_scheduler.store.codec import to_instant
from hai_scheduler.store.label_tables import NODE_CONDITIONS
from hai_scheduler.store.rows import CONDITION, STRIKE
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import NODE_MARKS, STRIKES, TASKS

# Made once: to build a statement costs as much as to execute it.
_MARKS = select(NODE_MARKS)
_CONDITIONS = select(NODE_CONDITIONS)
_STRIKES = (
    select(STRIKES, TASKS.c.user_name)
    .select_from(STRIKES.outerjoin(TASKS, TASKS.c.id == STRIKES.c.task_id))
    .order_by(STRIKES.c.at, STRIKES.c.id)
)


class StoredNodes(StoredPart):
    """What the platform remembers of nodes: their marks, and the failures on them. The nodes are the cluster's."""

    async def marks(self) -> Mapping[str, NodeMark]:
        """The marks of nodes by node name; nodes without a mark are left out."""
        return dict(await self._tables.rows("marks", self._read_marks))

    async def put_mark(self, node: str, mark: NodeMark) -> None:
        """Mark a node; NONE removes the mark."""
        await self._tables.changes("marks")
        if mark is NodeMark.NONE:
            await self._sql.change(delete(NODE_MARKS).where(NODE_MARKS.c.node == node))
        else:
            self._sql.put(NODE_MARKS, {"node": node, "mark": mark.value})

    async def conditions(self) -> Mapping[str, NodeCondition]:
        """How each node is and since when, by node name."""
        return dict(await self._tables.rows("conditions", self._read_conditions))

    async def put_conditions(self, conditions: Collection[NodeCondition]) -> None:
        """Write the conditions of nodes, over earlier ones."""
        await self._tables.changes("conditions")
        for condition in conditions:
            self._sql.put(NODE_CONDITIONS, CONDITION.values(condition))

    async def forget_conditions(self, nodes: Collection[str]) -> None:
        """Delete the conditions of nodes that are not there any more."""
        await self._tables.changes("conditions")
        await self._sql.change(delete(NODE_CONDITIONS).where(NODE_CONDITIONS.c.node.in_(sorted(nodes))))

    async def strikes(self) -> Sequence[Strike]:
        """The failures on nodes that still count (H3), each with the user of its task.

        The oldest comes first; those of the same moment come in the order in which they were added.
        """
        return list(await self._tables.rows("strikes", self._read_strikes))

    async def add_strike(self, strike: Strike) -> None:
        """Remember a failure on a node. The stored task, not `strike`, says which user's it was."""
        await self._tables.changes("strikes")
        await self._sql.change(insert(STRIKES), STRIKE.values(strike))

    async def forget_strikes(self, *, node: str | None = None, before: datetime | None = None) -> None:
        """Delete the failures of the node, or those before `before`; with both, those that match both.

        Without an argument, all failures are deleted.
        """
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
