"""The scenarios: as few tasks and nodes as show the rules. They use the numbers that are in force by default."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.sim.scenario import Setting, SimulatedJob, cluster_of
from pictures.story import Story

_BEGIN = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
_POLICY = Policy()


def turns() -> Story:
    """Equals take turns (P2, O2, O3)."""
    return Story(
        name="turns",
        title="Three equal tasks share two nodes",
        setting=_setting(2),
        policy=_POLICY,
        jobs=(
            _job(1, "A", "alice", work=75),
            _job(2, "B", "bob", submitted=6, work=75),
            _job(3, "C", "carol", submitted=12, work=75),
        ),
        rows={"A, of alice": "A", "B, of bob": "B", "C, of carol": "C"},
        until=timedelta(minutes=150),
    )


def levels() -> Story:
    """Tasks sink through the levels (O2), their turns grow (P2), and no task starves."""
    now_and_then, without_end = (300, 480), range(820, 1120, 25)
    return Story(
        name="levels",
        title="Long tasks sink through the levels",
        setting=_setting(1),
        policy=_POLICY,
        jobs=(
            _job(1, "L", "alice", work=14 * 60),
            _job(2, "M", "bob", submitted=20, work=14 * 60),
            *(_job(at, "S", "dora", submitted=at, work=25) for at in (*now_and_then, *without_end)),
        ),
        rows={"L, of alice": "L", "M, of bob": "M", "S, short tasks": "S"},
        until=timedelta(hours=20),
    )


def reservation() -> Story:
    """Nodes are kept for the head of the queue, and used meanwhile (B1, B2)."""
    return Story(
        name="reservation",
        title="Nodes are kept for a gang of four, and used meanwhile",
        setting=_setting(4),
        policy=_POLICY,
        jobs=(
            _job(1, "A", "alice", nodes=2, work=90),
            _job(2, "B", "bob", submitted=20, work=80),
            _job(3, "G", "gina", submitted=24, nodes=4, work=28),
            _job(4, "X", "xia", submitted=26, work=9, limit=10),
            _job(5, "Y", "yann", submitted=24, work=20),
            _job(6, "Z", "zoe", submitted=30, work=30, priority=Priority.LOW),
        ),
        rows={
            "G, 4 nodes": "G", "A, 2 nodes": "A", "B": "B", "X, limit 10 min": "X", "Y, no limit": "Y", "Z, LOW": "Z",
        },
        until=timedelta(minutes=130),
        reservations=True,
    )  # fmt: skip


def preemption() -> Story:
    """A higher priority takes nodes, with notice (P1, P4)."""
    return Story(
        name="preemption",
        title="HIGH takes the nodes of NORMAL, with notice",
        setting=_setting(3),
        policy=_POLICY,
        jobs=(
            _job(1, "N", "alice", nodes=2, work=70, saves_in=4, grace=timedelta(minutes=8)),
            _job(2, "M", "bob", submitted=2, work=75, grace=timedelta(minutes=8)),
            _job(3, "H", "hugo", submitted=20, nodes=2, work=24, priority=Priority.HIGH),
        ),
        rows={"H, HIGH, 2 nodes": "H", "N, NORMAL, 2 nodes": "N", "M, NORMAL, 1 node": "M"},
        until=timedelta(minutes=105),
        deadlines=True,
    )


STORIES = (turns, levels, reservation, preemption)


def _setting(nodes: int) -> Setting:
    return Setting(nodes=cluster_of(nodes), policies=_POLICY, restart_cost=timedelta(minutes=1), check=True)


def _job(
    number: int,
    name: str,
    user: str,
    *,
    submitted: float = 0,
    work: float,
    nodes: int = 1,
    limit: float | None = None,
    saves_in: float = 0,
    priority: Priority = Priority.NORMAL,
    **fields: Any,
) -> SimulatedJob:
    """A job; times are minutes."""
    at = _BEGIN + timedelta(minutes=submitted)
    task = Task(
        id=TaskId(number),
        name=name,
        user=user,
        group="training",
        priority=priority,
        nodes=nodes,
        submitted_at=at,
        waiting_since=at,
        time_limit=None if limit is None else timedelta(minutes=limit),
        **fields,
    )
    return SimulatedJob(task=task, work=timedelta(minutes=work), saves_in=timedelta(minutes=saves_in))
