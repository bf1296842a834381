"""What a mark on nodes would do, before it is made: the planner runs in virtual time with and without it (`sim`)."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hai_scheduler.core.explaining.what_if import of_group
from hai_scheduler.core.model.decisions import Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.sentences.words import sentences
from hai_scheduler.service.insight.forecast import step_for
from hai_scheduler.service.insight.history import History
from hai_scheduler.service.shared.orders import Bounds
from hai_scheduler.sim.engine import Engine
from hai_scheduler.sim.scenario import SimulatedJob

#: The most tasks of a list in the answer.
MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Displaced:
    """A task whose run would be told to leave marked nodes."""

    task: Task
    #: Its nodes among the marked ones.
    nodes: tuple[str, ...]
    #: When the run is away at the latest: the deadline of the notice; None: it would not be told.
    away_by: datetime | None
    #: When and where it goes on, as far as that can be foreseen.
    goes_on_at: datetime | None = None
    goes_on_nodes: tuple[str, ...] = ()
    #: Whether it would have ended by itself before it goes on, or is held afterwards.
    ends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A task on other nodes that would be told to leave for one that is displaced."""

    task: Task
    at: datetime
    #: The displaced task that it makes room for.
    beneficiary: TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """A waiting task that would start later."""

    task: Task
    #: When it would start without the mark.
    without: datetime
    #: When it would start with it; None: not in the time that was computed.
    with_mark: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPreview:
    """What a mark on nodes would do."""

    at: datetime
    nodes: tuple[str, ...]
    mark: NodeMark
    #: Tasks that run on these nodes and are told to leave; for a cordon none are.
    displaced: tuple[Displaced, ...] = ()
    #: Tasks that run there and stay until they end, as under a cordon.
    staying: tuple[Task, ...] = ()
    moved: tuple[Moved, ...] = ()
    later: tuple[Later, ...] = ()
    #: How many further tasks of `later` there are.
    later_left_out: int = 0
    #: When the last run has left the nodes at the latest; None: none is told to leave.
    empty_by: datetime | None = None
    #: Up to when the planner was run, with and without the mark.
    computed_until: datetime
    #: How late a start may be found, because the planner looks only so often.
    step: timedelta


def preview_mark(
    snapshot: Snapshot, policies: Policies, names: frozenset[str], mark: NodeMark, history: History, bounds: Bounds
) -> MarkPreview:
    """Run the planner from the snapshot with and without the mark. A worker calls it (computing/work.py).

    Args:
        snapshot: The cluster and its queue now.
        policies: The policy numbers.
        names: The nodes that get the mark.
        mark: The mark.
        history: The lengths of similar tasks.
        bounds: Its time is shared by both runs of the planner, and by the node groups.
    """
    groups = sorted({node.group for node in snapshot.nodes if node.name in names})
    found = MarkPreview(
        at=snapshot.now,
        nodes=tuple(sorted(names)),
        mark=mark,
        computed_until=snapshot.now + bounds.horizon,
        step=timedelta(0),
    )
    part = replace(bounds, seconds=bounds.seconds / max(1, 2 * len(groups)))
    for group in groups:
        found = _joined(found, _of_group(of_group(snapshot, group), policies, names, mark, history, part))
    return found


def _of_group(
    snapshot: Snapshot, policies: Policies, names: frozenset[str], mark: NodeMark, history: History, bounds: Bounds
) -> MarkPreview:
    jobs = [
        SimulatedJob(task=task, work=history.left(task, snapshot.now)[1], saves_in=task.leaving_took)
        for task in snapshot.tasks
    ]
    step = step_for(len(jobs))
    there = [task for task in snapshot.tasks if task.live_run is not None and not names.isdisjoint(task.live_run.nodes)]
    told = mark is NodeMark.DRAINING
    before = _Watched(Engine.of_snapshot(snapshot, policies, jobs=jobs, tick=step), bounds)
    before.run(frozenset())
    nodes = tuple(replace(node, mark=mark) if node.name in names else node for node in snapshot.nodes)
    after = _Watched(Engine.of_snapshot(replace(snapshot, nodes=nodes), policies, jobs=jobs, tick=step), bounds)
    leaving = frozenset(task.id for task in there) if told else frozenset()
    after.run(leaving)
    until = min(before.until, after.until)
    displaced = tuple(_displaced(task, names, after) for task in there) if told else ()
    waiting = [task for task in snapshot.tasks if task.state.waiting]
    later = [found for task in waiting if (found := _later(task, before, after, until, step)) is not None]
    later.sort(key=lambda one: (one.without, one.task.id))
    by = [one.away_by for one in displaced if one.away_by is not None]
    return MarkPreview(
        at=snapshot.now,
        nodes=(),
        mark=mark,
        displaced=displaced,
        staying=() if told else tuple(there),
        moved=tuple(after.moved.values()),
        later=tuple(later[:MOST]),
        later_left_out=max(0, len(later) - MOST),
        empty_by=max(by, default=None),
        computed_until=until,
        step=step,
    )


@dataclass(slots=True)
class _Watched:
    """A simulation, and what is seen in it."""

    engine: Engine
    bounds: Bounds
    #: Until when it was run.
    until: datetime = field(init=False)
    #: The deadlines of notices to leaving tasks, and where each of them goes on.
    deadlines: dict[TaskId, datetime] = field(default_factory=dict)
    places: dict[TaskId, tuple[str, ...]] = field(default_factory=dict)
    moved: dict[TaskId, Moved] = field(default_factory=dict)

    def run(self, leaving: frozenset[TaskId]) -> None:
        """Run until all that wait now, and all that leave, have started; or a bound is reached."""
        engine, began = self.engine, time.thread_time()
        end = engine.now + self.bounds.horizon
        open_ = {task.id for task in engine.tasks.values() if task.state.waiting and not task.held} | leaving
        self.until = end
        while open_ and engine.step():
            if engine.now > end:
                return
            self._look(leaving)
            open_ = {each for each in open_ if each in engine.tasks and each not in engine.starts}
            if engine.plans >= self.bounds.plans or time.thread_time() - began >= self.bounds.seconds:
                self.until = engine.now
                return

    def _look(self, leaving: frozenset[TaskId]) -> None:
        engine = self.engine
        for task_id in leaving:
            task = engine.tasks.get(task_id)
            run = None if task is None else task.run
            if run is None:
                continue
            if task_id not in engine.starts:
                if run.notice is not None:
                    self.deadlines.setdefault(task_id, run.notice.deadline)
            elif run.live:
                self.places.setdefault(task_id, run.nodes)
        made = engine.last_plan
        for decision in made.decisions if made is not None else ():
            if isinstance(decision, Suspend) and decision.beneficiary in leaving:
                moved = engine.tasks.get(decision.task_id)
                if moved is not None and decision.task_id not in leaving:
                    found = Moved(task=moved, at=engine.now, beneficiary=decision.beneficiary)
                    self.moved.setdefault(decision.task_id, found)


def _displaced(task: Task, names: frozenset[str], seen: _Watched) -> Displaced:
    run = task.live_run
    assert run is not None, f"task {task.id} holds no nodes"
    already = None if run.notice is None else run.notice.deadline
    goes_on = seen.engine.starts.get(task.id)
    return Displaced(
        task=task,
        nodes=tuple(name for name in run.nodes if name in names),
        away_by=seen.deadlines.get(task.id, already),
        goes_on_at=goes_on,
        goes_on_nodes=seen.places.get(task.id, ()),
        ends=goes_on is None and task.id not in seen.engine.tasks,
    )


def _later(task: Task, before: _Watched, after: _Watched, until: datetime, step: timedelta) -> Later | None:
    """What the task loses by the mark; None if it does not start later, or that was not computed."""
    without, with_mark = before.engine.starts.get(task.id), after.engine.starts.get(task.id)
    if without is None or without > until:
        return None
    if with_mark is not None and with_mark <= without + step:
        return None
    return Later(task=task, without=without, with_mark=with_mark)


def _joined(one: MarkPreview, other: MarkPreview) -> MarkPreview:
    ends = [by for by in (one.empty_by, other.empty_by) if by is not None]
    return replace(
        one,
        displaced=one.displaced + other.displaced,
        staying=one.staying + other.staying,
        moved=one.moved + other.moved,
        later=one.later + other.later,
        later_left_out=one.later_left_out + other.later_left_out,
        empty_by=max(ends, default=None),
        computed_until=min(one.computed_until, other.computed_until),
        step=max(one.step, other.step),
    )


def sentence_of_preview(say: Language, preview: MarkPreview) -> str:
    """Return the preview in a few sentences."""
    parts = []
    if preview.mark is NodeMark.DRAINING:
        what = say("preview.what", n=len(preview.nodes))
        parts.append(say("preview.leave", n=len(preview.displaced), what=what))
    elif preview.staying:
        parts.append(say("preview.stay", n=len(preview.staying)))
    if preview.moved:
        parts.append(say("preview.moved", n=len(preview.moved)))
    parts.append(say("preview.later", n=len(preview.later) + preview.later_left_out))
    return sentences(say, parts)
