"""The nodes for a map: how each is and since when, what runs on it, and what its GPUs do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hai_scheduler.core.metrics.use import MeanUse, mean_use_of
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node, NodeCondition, NodeMark
from hai_scheduler.core.model.run import Fallback
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.insight.queries import NodeView, Queries
from hai_scheduler.service.metrics.now import RECENT_S
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import NotFound
from hai_scheduler.service.shared.latest_plan import LatestPlan
from hai_scheduler.service.shared.world import UseCase


class NodeWord(StrEnum):
    """The state of a node in a word: the first of these that is so."""

    #: The cluster cannot reach it.
    DOWN = "down"
    #: An orphaned run holds it.
    ORPHANED = "orphaned"
    DRAINING = "draining"
    CORDONED = "cordoned"
    QUARANTINED = "quarantined"
    #: The cluster itself takes no new runs on it.
    CLOSED = "closed"
    #: No run is on it, and pods from outside of HAI have some of its room (F5).
    CROWDED = "crowded"
    #: A run holds all of it, or runs hold all of its GPUs.
    HELD = "held"
    #: Runs hold some of its GPUs.
    SHARED = "shared"
    FREE = "free"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """A node with all that a reader may know of it."""

    view: NodeView
    word: NodeWord
    #: Why it takes no new runs, or not as many as it has GPUs for, in a sentence; None: it does, or no more than its
    #: state is known.
    reason: str | None
    #: Since when it is ready or not, closed or open, and marked or not; None: not known.
    since: datetime | None
    #: The admin who has put the mark on it, or taken it away; None: no admin has.
    by: str | None
    #: The tasks on it, by id.
    tasks: Mapping[TaskId, Task]
    #: Why RDMA falls back to TCP there, as a rank on it has found; None: it does not, or that is not the node's doing.
    fallback: Fallback | None
    #: What the GPUs and processors of a task use on this node; only of tasks that the reader may see.
    use: Mapping[TaskId, MeanUse]
    #: When the service saw the node last.
    seen_at: datetime | None


@dataclass(slots=True, eq=False)
class NodeMap(UseCase):
    """The use case."""

    queries: Queries

    async def look(self, caller: Caller, *, use: bool = False) -> Sequence[NodeFacts]:
        """All nodes, by name.

        Args:
            caller: Who asks; all see who holds which nodes.
            use: Whether it is told what the tasks use there that the caller may see.
        """
        return await self._facts(caller, await self.queries.nodes(), use=use)

    async def node(self, caller: Caller, name: str) -> NodeFacts:
        """One node. Raises NotFound."""
        views = [view for view in await self.queries.nodes() if view.node.name == name]
        if not views:
            raise NotFound(f"There is no node {name!r}: `hai nodes` lists them.")
        (found,) = await self._facts(caller, views, use=False)
        return found

    async def _facts(self, caller: Caller, views: Sequence[NodeView], *, use: bool) -> Sequence[NodeFacts]:
        async with self.store.read() as tx:
            conditions = await tx.nodes.conditions()
            tasks = {task.id: task for task in self.queries.live.of(await tx.tasks.unfinished())}
        wanted = {holder.task_id for view in views for holder in view.holders}
        used = await self._use(caller, [tasks[each] for each in wanted if each in tasks]) if use else {}
        return [
            _facts_of(view, conditions.get(view.node.name), tasks, used.get(view.node.name, {}), self.latest_plan)
            for view in views
        ]

    async def _use(self, caller: Caller, tasks: Iterable[Task]) -> Mapping[str, Mapping[TaskId, MeanUse]]:
        """What tasks that the caller may see use, by node."""
        runs = {run.id: (task, run) for task in tasks if caller.may_see(task.user) and (run := task.live_run)}
        since = int(self.clock.now().timestamp()) - RECENT_S
        points = await self.store.series.newest(list(runs), since=since) if runs else {}
        found: dict[str, dict[TaskId, MeanUse]] = {}
        for run_id, ranks in points.items():
            task, run = runs[run_id]
            names = {rank.rank: rank.node for rank in run.ranks}
            for number, point in ranks.items():
                if number in names:
                    found.setdefault(names[number], {})[task.id] = mean_use_of([point])
        return found


def _facts_of(
    view: NodeView,
    condition: NodeCondition | None,
    tasks: Mapping[TaskId, Task],
    use: Mapping[TaskId, MeanUse],
    latest_plan: LatestPlan,
) -> NodeFacts:
    node = view.node
    known = condition if condition is not None and condition.fits(node) else None
    return NodeFacts(
        view=view,
        word=word_of(view),
        reason=reason_of(node, None if known is None else known.by),
        since=None if known is None else known.since,
        by=None if known is None else known.by,
        fallback=_fallback_of(node.name, [tasks[holder.task_id] for holder in view.holders if holder.task_id in tasks]),
        tasks={holder.task_id: tasks[holder.task_id] for holder in view.holders if holder.task_id in tasks},
        use=use,
        seen_at=latest_plan.last_tick,
    )


def _fallback_of(node: str, there: Iterable[Task]) -> Fallback | None:
    ranks = [rank for task in there if (run := task.live_run) is not None for rank in run.ranks if rank.node == node]
    found = (rank.fallback for rank in ranks if rank.fallback not in (None, Fallback.VARIABLE))
    return next(found, None)


def word_of(view: NodeView) -> NodeWord:
    """Return the state of a node in a word."""
    node = view.node
    if not node.ready:
        return NodeWord.DOWN
    if node.orphan is not None:
        return NodeWord.ORPHANED
    if node.mark is not NodeMark.NONE:
        return NodeWord(node.mark.value)
    if node.leaving:
        return NodeWord.DRAINING
    if view.holders:
        return NodeWord.SHARED if view.gpus_free else NodeWord.HELD
    if node.closed:
        return NodeWord.CLOSED
    return NodeWord.CROWDED if node.taken else NodeWord.FREE


def reason_of(node: Node, by: str | None) -> str | None:
    """Return why the node takes no new runs, or not as many as it has GPUs for, as sentences; None: it does.

    Args:
        node: The node.
        by: The admin who has marked it; None: not known, or no admin has.
    """
    who = "An admin" if by is None else f"Admin {by}"
    reasons = []
    if not node.ready:
        reasons.append(f"The cluster cannot reach it{_words(node)}.")
    elif node.closed:
        reasons.append(f"The cluster takes no new runs on it{_words(node)}.")
    if node.leaving:
        reasons.append("Its runs are told to leave.")
    if node.taken:
        whose = f" ({node.crowd})" if node.crowd else ""
        left = f"for runs on {node.room} of its {node.gpus} GPUs" if node.room and node.gpus else "for no run"
        reasons.append(f"Pods from outside of HAI{whose} leave room {left}.")
    if node.orphan is not None:
        reasons.append(f"Run {node.orphan} holds it and belongs to no task: an admin can end that run.")
    match node.mark:
        case NodeMark.CORDONED:
            reasons.append(f"{who} has cordoned it.")
        case NodeMark.DRAINING:
            reasons.append(f"{who} drains it: its runs are told to leave.")
        case NodeMark.QUARANTINED:
            reasons.append("Runs of several tasks failed on it, so the scheduler starts none there.")
        case NodeMark.NONE:
            pass
    return " ".join(reasons) or None


def _words(node: Node) -> str:
    words = node.message.strip().rstrip(".")
    return f": {words}" if words else ""
