"""Reads for users: tasks with their runs and verdicts, a summary of the cluster, nodes, quota.

Each query reads the store in one transaction; only nodes and verdicts come from the last tick.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final, NamedTuple

from hai_scheduler.core.explaining.short import ShortWait, short_of
from hai_scheduler.core.metrics.use import MeanUse
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.model.verdicts import Verdict, VerdictKind
from hai_scheduler.core.ordering.quota import LEVELS
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.insight.census import Census, Count, TaskKind, level_of
from hai_scheduler.service.insight.quota_views import QuotaView, quota_views
from hai_scheduler.service.insight.waits import OverallDemand, demand_of
from hai_scheduler.service.scheduling.unfinished import LiveTasks
from hai_scheduler.service.scheduling.unsaved_alarm import hint_of
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Forbidden, NotFound
from hai_scheduler.service.shared.joint_read import JointRead
from hai_scheduler.service.shared.lookup import find
from hai_scheduler.service.shared.quota_rows import expired
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.workspace.rank_env import checkpoint_dir
from hai_scheduler.store.transaction import Tx

#: How old the verdicts may be for readers of tasks, in seconds. Rings renew them at once, but a ring may be lost, and
#: changes by time alone do not ring.
VIEW_BEARABLE: Final = 15.0
#: `?user=` of an admin who asks for the tasks of all users.
EVERYBODY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task with its present state for readers."""

    task: Task
    #: Why the task waits, if it does and a tick has looked at it.
    verdict: Verdict | None
    #: When it was looked at.
    at: datetime
    #: The present level of the task (Q4), if it is known.
    effective: Priority | None
    #: Running time over all runs, including the present one.
    served: timedelta
    #: What the job has reported last of how far it has come; None: nothing.
    progress: StepProgress | None = None
    #: How long it still has to run, at the pace of its reports; None: not known.
    left: timedelta | None = None
    #: Why the task waits in a few words, for a reader who may see it; None: it does not, or it is not known.
    short: ShortWait | None = None
    tags: tuple[str, ...] = ()
    #: Whether the reader has starred it; None: that was not asked for.
    starred: bool | None = None
    #: What its latest run used; None: nothing was measured, or that was not asked for.
    use: MeanUse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStory:
    """A task with its specification and all its runs, by number."""

    view: TaskView
    spec: TaskSpec
    runs: Sequence[Run]
    #: The folder of its checkpoints: the one that the task names, or the platform's.
    checkpoint_dir: str
    #: A warning for its owner with what they can do, as sentences.
    hint: str | None = None


class NodeHolder(NamedTuple):
    """A task that holds a node, or GPUs of it."""

    task_id: TaskId
    #: The owner of the task. All users see who holds the shared nodes (docs/security.md).
    user: str
    #: Indices of the GPUs that the task holds there; empty is the whole node (U2).
    gpus: tuple[int, ...]


class NodeView(NamedTuple):
    """A node and its holders: one task with the whole node, or several tasks with some of its GPUs each."""

    node: Node
    #: The holders, in the order of their GPUs.
    holders: tuple[NodeHolder, ...] = ()

    @property
    def gpus_free(self) -> int:
        """The number of GPUs that no task, no orphaned run and no pod from outside of HAI (F5) holds."""
        # Who holds the whole node is the first.
        if self.node.orphan is not None or (self.holders and not self.holders[0].gpus):
            return 0
        return max(0, self.node.gpus - self.node.taken - sum(len(holder.gpus) for holder in self.holders))

    @property
    def only(self) -> NodeHolder | None:
        """The only task that holds the node; None if there is none, or several."""
        return self.holders[0] if len(self.holders) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelView:
    """The numbers of tasks and nodes at one priority."""

    priority: Priority
    running_tasks: int
    running_nodes: int
    waiting_tasks: int
    waiting_nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """A summary of a node group. Each node is held, free or unavailable; a partly held node counts as held."""

    group: str
    nodes: int
    held: int
    free: int
    unavailable: int
    #: Held nodes that have free GPUs.
    shared: int
    gpus: int
    #: Free GPUs on nodes that take new runs.
    gpus_free: int
    levels: Sequence[LevelView]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """A summary of the cluster."""

    paused: bool
    groups: Sequence[GroupView]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Present:
    """What is read for every reader of the cluster."""

    marks: Mapping[str, NodeMark]
    #: The tasks that have not ended; the same object as long as none of them changes.
    tasks: Sequence[Task]
    quotas: Sequence[Quota]
    paused: bool


@dataclass(slots=True)
class _Views:
    """All nodes with their holders as they were made last, and what they were made of."""

    made_of: tuple[Sequence[Node], Sequence[Task], Mapping[str, NodeMark]] | None = None
    views: Sequence[NodeView] = ()

    def of(self, nodes: Sequence[Node], present: _Present, live: LiveTasks) -> Sequence[NodeView]:
        """The nodes by name; the same object as long as nothing has changed."""
        tasks, marks = present.tasks, present.marks
        known = self.made_of
        if known is None or known[0] is not nodes or known[1] is not tasks or known[2] != marks:
            self.views = _node_views(_marked(nodes, marks), live.of(tasks))
            self.made_of = nodes, tasks, marks
        return self.views


@dataclass(slots=True)
class _Summed:
    """The summary of the cluster that was made last, and what it was made of."""

    made_of: tuple[object, object, bool] | None = None
    view: ClusterView | None = None

    def of(self, views: Sequence[NodeView], verdicts: Mapping[TaskId, Verdict], paused: bool) -> ClusterView | None:
        """The summary if it was made of the very same; None: another one is needed, which `view` then takes."""
        before, self.made_of = self.made_of, (views, verdicts, paused)
        if before is None or before[0] is not views or before[1] is not verdicts or before[2] != paused:
            self.view = None
        return self.view


@dataclass(slots=True, eq=False)
class Queries(UseCase):
    """The use cases of reading tasks, nodes, the cluster and quota."""

    census: Census = field(default_factory=Census)
    live: LiveTasks = field(default_factory=LiveTasks)
    _views: _Views = field(default_factory=_Views)
    _summed: _Summed = field(default_factory=_Summed)
    #: All open pages read at about the same time, when something has changed.
    _present: JointRead[_Present] = field(init=False)

    def __post_init__(self) -> None:
        self._present = JointRead(self._read_present)

    async def _read_present(self) -> _Present:
        async with self.store.read() as tx:
            return _Present(
                marks=await tx.nodes.marks(),
                tasks=await tx.tasks.unfinished(),
                quotas=await tx.quotas.all(),
                paused=await tx.settings.get("paused") is not None,
            )

    async def task(self, caller: Caller, ref: str) -> TaskStory:
        """One task with its specification and runs. Raises NotFound."""
        await self.latest_plan.asked(VIEW_BEARABLE)
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            spec, runs = await tx.tasks.get_spec(task.id), await tx.runs.of_task(task.id)
            progress = await _progress_of(tx, task)
            starred = task.id in await tx.labels.starred(caller.name, [task.id])
        story = self._story(task, spec, runs, progress)
        return replace(story, view=replace(story.view, starred=starred))

    def fresh(self, task: Task, spec: TaskSpec) -> TaskStory:
        """A task that was just stored, as `task` shows it before its first run; the store is not read."""
        story = self._story(task, spec, ())
        return replace(story, view=replace(story.view, starred=False))

    def _story(
        self, task: Task, spec: TaskSpec, runs: Sequence[Run], progress: StepProgress | None = None
    ) -> TaskStory:
        return TaskStory(
            view=self.view(task, progress),
            spec=spec,
            runs=runs,
            checkpoint_dir=checkpoint_dir(task, spec, self.world.locations),
            hint=hint_of(task, self.latest_plan.policies.of(task.group)),
        )

    async def summary(self, caller: Caller, ref: str) -> TaskView:
        """One task without its runs. Raises NotFound."""
        await self.latest_plan.asked(VIEW_BEARABLE)
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            return self.view(task, await _progress_of(tx, task))

    async def runs(self, caller: Caller, ref: str) -> Sequence[Run]:
        """The runs of the task, by number. Raises NotFound."""
        async with self.store.read() as tx:
            return await tx.runs.of_task((await find(tx, caller, ref)).id)

    async def events(self, caller: Caller, ref: str, *, after: int, limit: int) -> Sequence[HistoryEvent]:
        """The history of the task: at most `limit` events with a seq greater than `after`. Raises NotFound."""
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            return await tx.events.page(after=after, limit=limit, task_id=task.id)

    def view(self, task: Task, progress: StepProgress | None = None) -> TaskView:
        """The task with its present state, and with the progress that is stored of it."""
        now, verdict = self.clock.now(), self._verdict(task)
        return TaskView(
            task=task,
            verdict=verdict,
            at=now,
            # The verdict knows of budgets (Q7).
            effective=level_of(task, self.latest_plan.verdicts) if verdict is None else verdict.priority,
            served=task.served + _running_for(task.live_run, now),
            progress=progress,
            left=None
            if progress is None or task.state.ended
            else progress.left(now, running_since=_running_since(task)),
            short=None if verdict is None else short_of(task, verdict, now, private=True),
        )

    def _verdict(self, task: Task) -> Verdict | None:
        """The last tick's verdict, unless the task has changed since."""
        if not task.state.waiting:
            return None
        verdict = self.latest_plan.verdicts.get(task.id)
        if task.held and (verdict is None or verdict.kind is not VerdictKind.HELD):
            level = verdict.priority if verdict else task.priority or Priority.NORMAL
            return Verdict(kind=VerdictKind.HELD, priority=level)
        if verdict is not None and verdict.kind is VerdictKind.HELD and not task.held:
            return None
        return verdict

    async def nodes(self) -> Sequence[NodeView]:
        """All nodes with the tasks that hold them, sorted by name."""
        return (await self.everything())[1]

    async def everything(self) -> tuple[Mapping[TaskKind, Count], Sequence[NodeView]]:
        """The number of unfinished tasks of each kind, and all nodes; the same for every caller."""
        await self.latest_plan.asked()
        present, plan = await self._present.result(), self.latest_plan
        return self.census.of(present.tasks, plan.verdicts), self._views.of(plan.nodes, present, self.live)

    async def demand(self) -> OverallDemand:
        """Who waits how long, and who holds and wants how much."""
        return demand_of((await self._present.result()).tasks, self.latest_plan.verdicts, self.clock.now())

    async def node(self, name: str) -> NodeView:
        """One node. Raises NotFound."""
        for view in await self.nodes():
            if view.node.name == name:
                return view
        raise NotFound(f"There is no node {name!r}: `hai nodes` lists them.")

    async def whole_cluster(self) -> ClusterView:
        """A summary of the cluster."""
        await self.latest_plan.asked()
        present, plan = await self._present.result(), self.latest_plan
        nodes = self._views.of(plan.nodes, present, self.live)
        # All open pages ask for it, again and again: it is made once of what has not changed.
        shown = self._summed.of(nodes, plan.verdicts, present.paused)
        if shown is None:
            counts = self.census.of(present.tasks, plan.verdicts)
            names = sorted({view.node.group for view in nodes} | {kind.group for kind in counts})
            groups = [_group_view(name, nodes, counts) for name in names]
            shown = self._summed.view = ClusterView(paused=present.paused, groups=groups)
        return shown

    async def quotas(self, caller: Caller) -> Sequence[Quota]:
        """All rows of quota for an admin; for other users the rows that can count for them and have not expired."""
        now = self.clock.now()
        async with self.store.read() as tx:
            rows = await tx.quotas.all()
        return [row for row in rows if sees_quota_of(caller, row.subject) and (caller.admin or not expired(row, now))]

    async def own_quota(self, caller: Caller) -> Sequence[QuotaView]:
        """The caller's limits and held nodes, for levels with a row or a held node; highest level first."""
        present = await self._present.result()
        return quota_views(
            present.quotas,
            self.live.of(present.tasks),
            {caller.name: caller.groups},
            now=self.clock.now(),
            node_groups=self.latest_plan.groups(),
            gpus_per_node=self.latest_plan.gpus_per_node,
        )[caller.name]

    def groups(self) -> list[str]:
        """The names of the node groups, sorted."""
        return sorted(self.latest_plan.groups())


def whose(caller: Caller, user: str | None) -> str | None:
    """The user whose tasks to show; None is all users. Raises Forbidden."""
    if user is None or user == caller.name:
        return caller.name
    if not caller.admin:
        raise Forbidden("Only an admin may ask for other users' tasks: leave `user` out to see your own.")
    return None if user == EVERYBODY else user


def sees_quota_of(caller: Caller, subject: str) -> bool:
    """True if rows of that subject can count for the caller."""
    kinds = ("group", "total")
    own = {"public", f"user:{caller.name}", *(f"{kind}:{group}" for kind in kinds for group in caller.groups)}
    return caller.admin or subject in own


async def _progress_of(tx: Tx, task: Task) -> StepProgress | None:
    return (await tx.progress.of([task.id])).get(task.id)


def _running_since(task: Task) -> datetime | None:
    return None if task.live_run is None else task.live_run.running_at


def _running_for(run: Run | None, now: datetime) -> timedelta:
    if run is None or run.running_at is None:
        return timedelta(0)
    return max(timedelta(0), now - run.running_at)


def _marked(nodes: Iterable[Node], marks: Mapping[str, NodeMark]) -> list[Node]:
    """The nodes by name with their present marks: a new one is shown at once, not only after the next tick."""
    found = []
    for node in nodes:
        mark = marks.get(node.name, NodeMark.NONE)
        found.append(node if node.mark is mark else replace(node, mark=mark))
    return sorted(found, key=attrgetter("name"))


def _node_views(nodes: Iterable[Node], tasks: Iterable[Task]) -> list[NodeView]:
    holders: defaultdict[str, list[NodeHolder]] = defaultdict(list)
    for task in tasks:
        for rank in task.live_run.ranks if task.live_run else ():
            holders[rank.node].append(NodeHolder(task.id, task.user, rank.gpus))
    for several in holders.values():
        if len(several) > 1:
            several.sort(key=attrgetter("gpus"))
    return [NodeView(node, tuple(holders.get(node.name, ()))) for node in nodes]


def _group_view(group: str, nodes: Iterable[NodeView], counts: Mapping[TaskKind, Count]) -> GroupView:
    own = [view for view in nodes if view.node.group == group]
    members = {kind: count for kind, count in counts.items() if kind.group == group}
    held = sum(bool(view.holders) for view in own)
    free = sum(not view.holders and view.node.schedulable for view in own)
    gpus_free = [view.gpus_free for view in own]
    return GroupView(
        group=group,
        nodes=len(own),
        held=held,
        free=free,
        unavailable=len(own) - held - free,
        shared=sum(gpus > 0 and bool(view.holders) for view, gpus in zip(own, gpus_free, strict=True)),
        gpus=sum(view.node.gpus for view in own),
        gpus_free=sum(gpus for view, gpus in zip(own, gpus_free, strict=True) if gpus and view.node.schedulable),
        levels=[level for priority in LEVELS if (level := _level_view(priority, members)) is not None],
    )


def _level_view(priority: Priority, counts: Mapping[TaskKind, Count]) -> LevelView | None:
    """The numbers of one level; a task of AUTO before its first tick counts as NORMAL. None: no tasks."""
    at_level = {kind: count for kind, count in counts.items() if (kind.level or Priority.NORMAL) is priority}
    if not at_level:
        return None
    running = [count for kind, count in at_level.items() if not kind.state.waiting]
    waiting = [count for kind, count in at_level.items() if kind.state.waiting]
    return LevelView(
        priority=priority,
        running_tasks=sum(count.tasks for count in running),
        running_nodes=sum(count.nodes for count in running),
        waiting_tasks=sum(count.tasks for count in waiting),
        waiting_nodes=sum(count.nodes for count in waiting),
    )
