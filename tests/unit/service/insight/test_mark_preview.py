"""What a drain or a cordon would do: who leaves, where they go on, who makes room, and who waits longer."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.service.insight.history import History
from hai_scheduler.service.insight.mark_preview import MarkPreview, preview_mark, sentence_of_preview
from hai_scheduler.service.shared.orders import Bounds
from kit.builders import a_run, a_task, at, some_nodes
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, Service

MINUTE = timedelta(minutes=1)
POLICIES = Policies(default=Policy())


def running(number: int, *nodes: str, priority: Priority = Priority.NORMAL, **fields: object) -> Task:
    """A task that has just got these nodes."""
    run = a_run(number, nodes=len(nodes), priority=priority, started_at=at(0), running_at=at(0))
    ranks = tuple(type(rank)(**{**_fields(rank), "node": name}) for rank, name in zip(run.ranks, nodes, strict=True))
    run = type(run)(**{**_fields(run), "ranks": ranks})
    given = {"user": f"u{number}", "nodes": len(nodes), "priority": priority, "grace": MINUTE, **fields}
    return a_task(number, state=TaskState.RUNNING, run=run, **given)


def _fields(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def preview(*tasks: Task, nodes: int, marked: tuple[str, ...], mark: NodeMark = NodeMark.DRAINING) -> MarkPreview:
    there = some_nodes(nodes)
    quotas = tuple(Quota(subject="public", group=there[0].group, priority=level, limit=None) for level in Priority)
    snapshot = Snapshot(now=at(60), nodes=there, tasks=tasks, quotas=quotas)
    bounds = Bounds(horizon=timedelta(hours=12), seconds=20.0)
    return preview_mark(snapshot, POLICIES, frozenset(marked), mark, History([]), bounds)


def test_a_run_leaves_by_the_deadline_and_goes_on_elsewhere() -> None:
    found = preview(running(1, "node-1"), nodes=2, marked=("node-1",))
    (one,) = found.displaced
    assert (one.task.id, one.nodes) == (1, ("node-1",))
    assert one.away_by == found.empty_by == at(60) + MINUTE
    assert one.goes_on_nodes == ("node-2",)
    assert one.goes_on_at is not None
    assert at(60) <= one.goes_on_at <= one.away_by + MINUTE
    assert (found.moved, found.later, found.staying) == ((), (), ())
    assert sentence_of_preview(ENGLISH, found) == (
        "1 task would be told to leave this node. No waiting task would start later."
    )


def test_a_node_without_runs_displaces_nobody() -> None:
    found = preview(running(1, "node-1"), nodes=2, marked=("node-2",))
    assert (found.displaced, found.empty_by) == ((), None)
    assert sentence_of_preview(ENGLISH, found).startswith("No task would have to leave this node.")


def test_a_cordon_tells_no_run_to_leave() -> None:
    found = preview(running(1, "node-1"), nodes=2, marked=("node-1",), mark=NodeMark.CORDONED)
    assert (found.displaced, found.empty_by) == ((), None)
    assert [task.id for task in found.staying] == [1]


def test_a_task_of_lower_priority_makes_room_for_a_displaced_one() -> None:
    high = running(1, "node-1", priority=Priority.HIGH)
    low = running(2, "node-2", priority=Priority.LOW)
    found = preview(high, low, nodes=2, marked=("node-1",))
    assert [one.task.id for one in found.displaced] == [1]
    (moved,) = found.moved
    assert (moved.task.id, moved.beneficiary) == (2, 1)
    assert "1 task on other nodes would make room for them." in sentence_of_preview(ENGLISH, found)


def test_a_waiting_task_that_would_start_later_is_named_with_both_times() -> None:
    short = running(1, "node-1", time_limit=10 * MINUTE)
    other = running(2, "node-2", time_limit=30 * MINUTE)
    waits = a_task(3, user="u3", priority=Priority.LOW, submitted_at=at(30), waiting_since=at(30))
    found = preview(short, other, waits, nodes=2, marked=("node-1",))
    (later,) = found.later
    assert later.task.id == 3
    assert later.without < at(60) + 15 * MINUTE
    assert later.with_mark is None or later.with_mark > later.without + 10 * MINUTE
    assert "1 task would start later." in sentence_of_preview(ENGLISH, found)


def test_nodes_of_several_groups_are_tried_together() -> None:
    one = running(1, "node-1")
    nodes = (*some_nodes(2), *some_nodes(2, prefix="big-", group="big"))
    two = running(2, "big-1", group="big")
    quotas = tuple(
        Quota(subject="public", group=group, priority=level, limit=None)
        for group in {node.group for node in nodes}
        for level in Priority
    )
    snapshot = Snapshot(now=at(60), nodes=nodes, tasks=(one, two), quotas=quotas)
    names = frozenset({"node-1", "big-1"})
    found = preview_mark(snapshot, POLICIES, names, NodeMark.DRAINING, History([]), Bounds(seconds=20.0))
    assert sorted(one.task.id for one in found.displaced) == [1, 2]
    assert {one.task.id: one.goes_on_nodes for one in found.displaced} == {1: ("node-2",), 2: ("big-2",)}


@pytest.mark.parametrize("mark", [NodeMark.DRAINING, NodeMark.CORDONED])
async def test_what_the_preview_says_is_what_then_happens(mark: NodeMark) -> None:
    """The drain itself, on the simulated cluster of the tests, does what was foretold."""
    service = await Service(nodes=3).open()
    task = await service.submit("runs", "ann", nodes=2, does=Behaviour())
    await service.step(5)
    held = (await service.task(task)).run.nodes
    before = await service.platform.insight.previews.mark(ADMIN, [held[0]], mark)
    await service.platform.administration.mark_node(ADMIN, held[0], mark)
    for _ in range(8):
        await service.step(10)
    now = (await service.task(task)).run
    if mark is NodeMark.CORDONED:
        assert [one.id for one in before.staying] == [task]
        assert (now.number, now.nodes) == (1, held)
    else:
        (displaced,) = before.displaced
        assert (displaced.task.id, displaced.nodes) == (TaskId(task), (held[0],))
        assert now.number == 2
        assert set(now.nodes) == set(displaced.goes_on_nodes)
