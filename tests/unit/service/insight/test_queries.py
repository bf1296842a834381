"""What a task looks like between two ticks, and who sees which line of the feed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.run import Rank, Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.verdicts import Verdict, VerdictKind
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.messages import message_of
from hai_scheduler.service.insight.feed import may_see
from hai_scheduler.service.insight.queries import Queries, whose
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from hai_scheduler.service.shared.errors import Forbidden
from hai_scheduler.service.shared.latest_plan import LatestPlan
from hai_scheduler.service.shared.world import RankLocations
from hai_scheduler.store.store import open_store
from kit.builders import a_spec
from kit.databases import sqlite_url
from kit.memory.clock import VirtualClock
from kit.stores import ScratchStore
from kit.worlds import make_world

CLOCK = VirtualClock()
T = CLOCK.now()
ALICE = Caller(name="alice", groups=frozenset({"ml"}))
ADMIN = Caller(name="root", scopes=frozenset({SCOPE_ADMIN}))


def a_task(**about: object) -> Task:
    fields = {"priority": None, "nodes": 1, "group": "training"} | about
    return Task(id=TaskId(1), name="t", user="alice", submitted_at=T, waiting_since=T, **fields)


def view(task: Task, verdict: Verdict | None = None):
    latest_plan = LatestPlan(verdicts={} if verdict is None else {task.id: verdict})
    locations = RankLocations(api_url="", checkpoint_root="/c")
    return Queries(make_world(store=ScratchStore(), clock=CLOCK, latest_plan=latest_plan, locations=locations)).view(
        task
    )


def verdict(kind: VerdictKind) -> Verdict:
    return Verdict(kind=kind, priority=Priority.HIGH, data={"needs": 1, "free": 0})


def test_a_task_that_was_held_since_the_last_tick_is_held() -> None:
    shown = view(a_task(held=True), verdict(VerdictKind.CAPACITY))
    assert shown.verdict is not None
    assert (shown.verdict.kind, shown.effective) == (VerdictKind.HELD, Priority.HIGH)
    assert "Held" in message_of(ENGLISH, shown.task, shown.verdict, shown.at)


def test_a_task_that_was_resumed_since_the_last_tick_is_not_held() -> None:
    assert view(a_task(), verdict(VerdictKind.HELD)).verdict is None


def test_a_task_that_runs_has_no_verdict_left() -> None:
    run = Run(
        id=RunId("1.1"),
        number=1,
        ranks=(Rank(rank=0, node="n"),),
        priority=Priority.LOW,
        started_at=T - timedelta(seconds=9),
        running_at=T - timedelta(seconds=5),
    )
    task = a_task(state=TaskState.RUNNING, run=run, served=timedelta(seconds=60))
    shown = view(task, verdict(VerdictKind.CAPACITY))
    assert shown.verdict is None
    assert (shown.effective, shown.served) == (Priority.LOW, timedelta(seconds=65))


def test_auto_counts_as_what_the_verdict_says() -> None:
    assert view(a_task(), verdict(VerdictKind.CAPACITY)).effective is Priority.HIGH
    assert view(a_task()).effective is None


@pytest.mark.parametrize(
    ("caller", "user", "shown"),
    [
        (ALICE, None, "alice"),
        (ALICE, "alice", "alice"),
        (ADMIN, None, "root"),
        (ADMIN, "bob", "bob"),
        (ADMIN, "*", None),
    ],
)
def test_users_see_their_own_and_admins_whom_they_name(caller, user, shown) -> None:
    assert whose(caller, user) == shown


@pytest.mark.parametrize("user", ["bob", "*", ""])
def test_only_admins_see_others(user) -> None:
    with pytest.raises(Forbidden):
        whose(ALICE, user)


@pytest.mark.parametrize(
    ("about", "alice", "admin"),
    [
        ({"kind": "task.state", "user": "alice"}, True, True),
        ({"kind": "task.state", "user": "bob"}, False, True),
        ({"kind": "node.mark"}, True, True),
        ({"kind": "quota.put", "data": {"subject": "user:alice"}}, True, True),
        ({"kind": "quota.put", "data": {"subject": "group:ml"}}, True, True),
        ({"kind": "quota.deleted", "data": {"subject": "public"}}, True, True),
        ({"kind": "quota.put", "data": {"subject": "user:bob"}}, False, True),
        ({"kind": "quota.deleted", "data": {"subject": "group:other"}}, False, True),
    ],
)
def test_an_event_is_for_those_it_is_about(about, alice, admin) -> None:
    event = HistoryEvent(at=T, actor="x", **about)
    assert (may_see(ALICE, event), may_see(ADMIN, event)) == (alice, admin)


async def test_the_summary_of_the_cluster_is_made_once_of_what_has_not_changed(tmp_path: Path) -> None:
    store, plan = await open_store(sqlite_url(tmp_path / "hai.sqlite")), LatestPlan(nodes=[Node(name="n", gpus=8)])
    locations = RankLocations(api_url="", checkpoint_root="/c")
    queries = Queries(make_world(store=store, clock=CLOCK, latest_plan=plan, locations=locations))
    seen = [await queries.whole_cluster()]
    try:
        assert await queries.whole_cluster() is seen[0], "200 pages ask for it again and again"
        async with store.write() as tx:
            await tx.tasks.add(a_task(), a_spec())
        seen.append(await queries.whole_cluster())
        assert [level.waiting_tasks for level in seen[-1].groups[0].levels] == [1]
        async with store.write() as tx:
            await tx.nodes.put_mark("n", NodeMark.CORDONED)
        seen.append(await queries.whole_cluster())
        assert seen[-1].groups[0].unavailable == 1
        async with store.write() as tx:
            await tx.settings.put("paused", "yes")
        seen.append(await queries.whole_cluster())
        assert seen[-1].paused
        plan.nodes = [*plan.nodes, Node(name="m", gpus=8)]
        seen.append(await queries.whole_cluster())
        assert seen[-1].groups[0].nodes == 2
        assert await queries.whole_cluster() is seen[-1]
    finally:
        await store.close()
