"""Properties of every plan, on clusters and queues that nobody thought of."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_quota, a_run, a_task, at, some_nodes
from hai_scheduler.core.events import AskedToStop, AskedToSuspend, Promised, Started
from hai_scheduler.core.lifecycle import advance
from hai_scheduler.core.model import NodeMark, Priority, Task, TaskState
from hai_scheduler.core.plan import Keep, Plan, Start, Stop, Suspend, plan
from hai_scheduler.core.policy import Policy
from hai_scheduler.core.preemption import turn_ends
from hai_scheduler.core.quota import QuotaBook, QuotaUse
from hai_scheduler.core.reasons import Reason
from hai_scheduler.core.snapshot import Snapshot
from hai_scheduler.core.verdicts import VerdictKind

NOW = at(hours=10)
POLICY = Policy()
LEVELS = st.sampled_from([Priority.LOW, Priority.NORMAL, Priority.HIGH])


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """A consistent cluster of up to 8 nodes with running and waiting tasks of three users."""
    nodes = [
        replace(
            node,
            ready=draw(st.booleans()) or draw(st.booleans()),
            mark=draw(st.sampled_from([*[NodeMark.NONE] * 5, *NodeMark])),
        )
        for node in some_nodes(draw(st.integers(1, 8)))
    ]
    free = [node.name for node in nodes]
    tasks: list[Task] = []
    for number in range(1, draw(st.integers(1, 9)) + 1):
        size = draw(st.integers(1, 4))
        fields = {
            "nodes": size,
            "user": draw(st.sampled_from(["ann", "bob", "cy"])),
            "priority": draw(st.one_of(st.none(), LEVELS)),
            "submitted_at": at(draw(st.integers(0, 5))),
            "custom_rank": draw(st.sampled_from([None, 0.0, 1.0])),
        }
        if draw(st.booleans()) and len(free) >= size:
            names, free = free[:size], free[size:]
            begun = NOW - timedelta(minutes=draw(st.integers(0, 60)))
            level = fields["priority"] if isinstance(fields["priority"], Priority) else draw(LEVELS)
            run = a_run(number, nodes=names, started_at=begun, priority=level)
            tasks.append(a_task(number, state=TaskState.RUNNING, run=run, **fields))
        else:
            tasks.append(a_task(number, held=draw(st.integers(0, 5)) == 0, **fields))
    quotas = tuple(
        a_quota(subject, priority=level, limit=draw(st.one_of(st.none(), st.integers(0, 8))))
        for subject in ("public", "user:ann")
        for level in (Priority.LOW, Priority.NORMAL, Priority.HIGH)
    )
    shot = Snapshot(now=NOW, nodes=tuple(nodes), tasks=tuple(tasks), quotas=quotas)
    shot.check()
    return shot


def carried_out(shot: Snapshot, made: Plan) -> Snapshot:
    """The snapshot after the decisions have been written."""
    tasks = {task.id: task for task in shot.tasks}
    for decision in made.decisions:
        task = tasks[decision.task_id]
        match decision:
            case Start():
                event = Started(at=NOW, nodes=decision.nodes, priority=decision.priority)
                tasks[task.id] = advance(task, event)[0]
            case Suspend():
                wish = AskedToSuspend(at=NOW, reason=decision.reason, beneficiary=decision.beneficiary)
                tasks[task.id] = advance(task, wish)[0]
            case Keep():
                tasks[task.id] = advance(task, Promised(at=NOW, nodes=decision.nodes))[0]
            case Stop():
                tasks[task.id] = advance(task, AskedToStop(at=NOW, reason=decision.reason))[0]
    after = replace(shot, tasks=tuple(tasks.values()))
    after.check()
    return after


def emptied(shot: Snapshot) -> Snapshot:
    """The snapshot after everybody who was told to leave has left, and does not come back at once."""
    tasks = []
    for task in shot.tasks:
        run = task.live_run
        if run is not None and run.notice is not None:
            task = replace(task, state=TaskState.SUSPENDED, run=replace(run, ended_at=NOW), held=True)
        tasks.append(task)
    return replace(shot, tasks=tuple(tasks))


@given(snapshots())
@settings(max_examples=200, deadline=None)
def test_gangs_are_whole_and_no_node_is_given_twice(shot: Snapshot) -> None:
    made = plan(shot, POLICY)
    tasks = {task.id: task for task in shot.tasks}
    by_name = {node.name: node for node in shot.nodes}
    for start in (d for d in made.decisions if isinstance(d, Start)):
        assert len(set(start.nodes)) == tasks[start.task_id].nodes
        assert all(by_name[name].schedulable for name in start.nodes)
    carried_out(shot, made)  # its check refuses a node held twice


@given(snapshots())
@settings(max_examples=200, deadline=None)
def test_a_start_never_exceeds_quota(shot: Snapshot) -> None:
    made = plan(shot, POLICY)
    tasks = {task.id: task for task in shot.tasks}
    book, use = QuotaBook(shot.quotas, {}), QuotaUse()
    for task in shot.tasks:
        if task.live_run:
            use.add(task.user, task.group, task.live_run.priority, task.nodes)
    for start in (d for d in made.decisions if isinstance(d, Start)):
        task = tasks[start.task_id]
        use.add(task.user, task.group, start.priority, task.nodes)
        assert book.cap(task.user, task.group, start.priority).allows(use.used(task.user, task.group, start.priority))


@given(snapshots())
@settings(max_examples=200, deadline=None)
def test_planning_again_changes_nothing(shot: Snapshot) -> None:
    after = carried_out(shot, plan(shot, POLICY))
    assert plan(after, POLICY).decisions == ()


@given(snapshots(), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_input_does_not_matter(shot: Snapshot, random: Random) -> None:
    nodes, tasks, quotas = list(shot.nodes), list(shot.tasks), list(shot.quotas)
    for part in (nodes, tasks, quotas):
        random.shuffle(part)
    mixed = replace(shot, nodes=tuple(nodes), tasks=tuple(tasks), quotas=tuple(quotas))
    assert plan(mixed, POLICY) == plan(shot, POLICY)


@given(snapshots())
@settings(max_examples=200, deadline=None)
def test_every_suspension_keeps_p1_to_p3_and_its_beneficiary_then_starts(shot: Snapshot) -> None:
    made = plan(shot, POLICY)
    tasks = {task.id: task for task in shot.tasks}
    for told in (d for d in made.decisions if isinstance(d, Suspend)):
        if told.beneficiary is None:
            assert told.reason is Reason.DRAINED
            continue
        run, waiting = tasks[told.task_id].live_run, tasks[told.beneficiary]
        level = made.verdicts[waiting.id].priority
        assert run is not None
        assert run.priority <= level
        if run.priority == level:
            assert tasks[told.task_id].user != waiting.user
            assert turn_ends(run, POLICY) <= NOW
    beneficiaries = {d.beneficiary for d in made.decisions if isinstance(d, Suspend) and d.beneficiary}
    then = plan(emptied(carried_out(shot, made)), POLICY)
    assert beneficiaries <= {d.task_id for d in then.decisions if isinstance(d, Start)}


@given(snapshots())
@settings(max_examples=200, deadline=None)
def test_every_waiting_task_starts_or_has_a_verdict(shot: Snapshot) -> None:
    made = plan(shot, POLICY)
    waiting = {task.id for task in shot.tasks if task.state.waiting}
    started = {d.task_id for d in made.decisions if isinstance(d, Start)}
    assert started | set(made.verdicts) == waiting
    assert not started & set(made.verdicts)
    positions = [v.position for v in made.verdicts.values() if v.kind is not VerdictKind.HELD]
    assert None not in positions
    assert len(set(positions)) == len(positions)
