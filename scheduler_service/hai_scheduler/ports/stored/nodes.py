"""What is remembered of nodes, in a transaction of the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from hai_scheduler.core.model.node import NodeCondition, NodeMark, Strike


class StoredNodes(Protocol):
    """What the platform remembers of nodes: their marks, and the failures on them. The nodes are the cluster's."""

    async def marks(self) -> Mapping[str, NodeMark]:
        """The marks of nodes by node name; nodes without a mark are left out."""
        ...

    async def put_mark(self, node: str, mark: NodeMark) -> None:
        """Mark a node; NONE removes the mark."""
        ...

    async def conditions(self) -> Mapping[str, NodeCondition]:
        """How each node is and since when, by node name."""
        ...

    async def put_conditions(self, conditions: Collection[NodeCondition]) -> None:
        """Write the conditions of nodes, over earlier ones."""
        ...

    async def forget_conditions(self, nodes: Collection[str]) -> None:
        """Delete the conditions of nodes that are not there any more."""
        ...

    async def strikes(self) -> Sequence[Strike]:
        """The failures on nodes that still count (H3), each with the user of its task.

        The oldest comes first; those of the same moment come in the order in which they were added.
        """
        ...

    async def add_strike(self, strike: Strike) -> None:
        """Remember a failure on a node. The stored task, not `strike`, says which user's it was."""
        ...

    async def forget_strikes(self, *, node: str | None = None, before: datetime | None = None) -> None:
        """Delete the failures of the node, or those before `before`; with both, those that match both.

        Without an argument, all failures are deleted.
        """
        ...
