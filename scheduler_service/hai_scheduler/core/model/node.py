"""A node, its mark, and strikes against it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hai_scheduler.core.model.ids import RunId, TaskId


class NodeMark(StrEnum):
    """The mark that an admin or the scheduler has put on a node (F3)."""

    NONE = "none"
    #: No new runs.
    CORDONED = "cordoned"
    #: No new runs, and the runs on it are asked to leave.
    DRAINING = "draining"
    #: No new runs: too many runs failed on it for reasons that were not their users' (H3).
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One machine, or one slot of a machine. `gpus` is the number of its GPUs, real or simulated."""

    name: str
    group: str = "training"
    leaf: str = ""
    zone: str = ""
    gpus: int = 0
    #: Whether the cluster can reach it now.
    ready: bool = True
    #: Whether the cluster itself takes no new runs on it: it was cordoned there, or its labels contradict each other.
    closed: bool = False
    #: Why the node is not ready, or closed, in the cluster's words.
    message: str = ""
    mark: NodeMark = NodeMark.NONE
    #: An orphaned run on it (decision 0016): the node takes no new run before the orphaned one has ended.
    orphan: RunId | None = None
    #: How many of its GPUs runs may hold at once beside pods from outside of HAI (F5); None: all of them.
    room: int | None = None
    #: Whose pods these are, in words; empty: it is not known, or there are none.
    crowd: str = ""
    #: Whether the cluster is about to take the node away: the runs on it are asked to leave.
    leaving: bool = False

    @property
    def size(self) -> int:
        """How many GPUs can be held on it; a node without GPUs counts as having one."""
        return self.gpus or 1

    @property
    def taken(self) -> int:
        """How many of these no run can have, because of pods from outside of HAI (F5)."""
        return 0 if self.room is None else max(0, self.size - self.room)

    def holds(self, gpus: int | None) -> bool:
        """Whether that many GPUs (None: all) fit on it beside pods from outside of HAI, once its runs have left."""
        return not self.taken if gpus is None else gpus <= self.gpus - self.taken

    @property
    def schedulable(self) -> bool:
        """Whether new runs may be placed here (F3)."""
        return self.ready and not self.closed and self.mark is NodeMark.NONE and self.orphan is None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCondition:
    """How a node is, and since when: as a tick saw it, or as an admin has marked it."""

    node: str
    ready: bool
    closed: bool
    mark: NodeMark
    since: datetime
    #: The admin who has put the mark on it, or taken it away; None: the scheduler or the cluster has changed it.
    by: str | None = None

    @classmethod
    def of(cls, node: Node, since: datetime, by: str | None = None) -> NodeCondition:
        """Return the condition of a node that is as it is since then."""
        return cls(node=node.name, ready=node.ready, closed=node.closed, mark=node.mark, since=since, by=by)

    def fits(self, node: Node) -> bool:
        """Whether the node is still like that."""
        return (self.ready, self.closed, self.mark) == (node.ready, node.closed, node.mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """A run failed on a node for a reason that was not its user's (H3)."""

    node: str
    task_id: TaskId
    at: datetime
    #: The user of the task; None once the task has been deleted.
    user: str | None = None
