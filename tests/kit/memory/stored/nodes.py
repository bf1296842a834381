"""What is remembered of nodes, in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hai_scheduler.core.model.node import NodeCondition, NodeMark, Strike
from kit.memory.draft import MemoryPart


class MemoryNodes(MemoryPart):
    """See `ports.stored.nodes.StoredNodes`."""

    async def marks(self) -> Mapping[str, NodeMark]:
        """See `StoredNodes.marks`."""
        return dict(self._draft.seen().marks)

    async def put_mark(self, node: str, mark: NodeMark) -> None:
        """See `StoredNodes.put_mark`."""
        state = self._draft.writable()
        marks = {**state.marks, node: mark}
        self._draft.state = replace(state, marks={n: m for n, m in marks.items() if m is not NodeMark.NONE})

    async def conditions(self) -> Mapping[str, NodeCondition]:
        """See `StoredNodes.conditions`."""
        return dict(self._draft.seen().conditions)

    async def put_conditions(self, conditions: Collection[NodeCondition]) -> None:
        """See `StoredNodes.put_conditions`."""
        state = self._draft.writable()
        self._draft.state = replace(state, conditions={**state.conditions, **{one.node: one for one in conditions}})

    async def forget_conditions(self, nodes: Collection[str]) -> None:
        """See `StoredNodes.forget_conditions`."""
        state = self._draft.writable()
        kept = {name: one for name, one in state.conditions.items() if name not in nodes}
        self._draft.state = replace(state, conditions=kept)

    async def strikes(self) -> Sequence[Strike]:
        """See `StoredNodes.strikes`; those of the same moment in the order in which they were added."""
        state = self._draft.seen()
        tasks = {strike.task_id: state.tasks.get(strike.task_id) for strike in state.strikes}
        whose = {task_id: None if task is None else task.user for task_id, task in tasks.items()}
        return [replace(s, user=whose[s.task_id]) for s in sorted(state.strikes, key=lambda strike: strike.at)]

    async def add_strike(self, strike: Strike) -> None:
        """See `StoredNodes.add_strike`."""
        state = self._draft.writable()
        self._draft.state = replace(state, strikes=(*state.strikes, strike))

    async def forget_strikes(self, *, node: str | None = None, before: datetime | None = None) -> None:
        """See `StoredNodes.forget_strikes`; without a condition, all of them."""
        state = self._draft.writable()
        kept = tuple(
            strike
            for strike in state.strikes
            if (node is not None and strike.node != node) or (before is not None and strike.at >= before)
        )
        self._draft.state = replace(state, strikes=kept)
