"""When time alone may change a plan (`hai_scheduler.core.planning.next_change`): when the simulator looks again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import log, log2

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Retry, Task, TaskState
from kit.builders import a_notice, a_quota, a_run, a_use
from unit.core.tables import ABOVE, HIGH, NOW, ago, decide, for_minutes, order, runs, snapshot, waits

RUNNING = runs(1, "node-1", minutes=10)


def had_left_for(beneficiary: int) -> Task:
    """Task 2, which waits again after it was told to leave for another."""
    notice = a_notice(Reason.PREEMPTED, at=ago(12), beneficiary=beneficiary)
    return waits(2, state=TaskState.SUSPENDED, run=a_run(2, notice=notice, ended_at=ago(11)))


CASES: list[tuple[str, tuple[Task, ...], float | None]] = [
    ("nothing waits: nothing changes by itself", (RUNNING,), None),
    ("a time limit ends a run", (runs(1, "node-1", minutes=10, time_limit=for_minutes(12)),), 2),
    ("an equal may have the nodes when the slice is over", (RUNNING, waits(2)), 20),
    ("not an equal of the same user", (RUNNING, waits(2, user="user1", priority=Priority.LOW)), None),
    (
        "a turn at a higher level only has to last min_run",
        (runs(1, "node-1", minutes=10, served=for_minutes(60)), waits(2)),
        5,
    ),
    (
        "a task of level 1 will count as level 0",
        (runs(1, "node-1", level=HIGH), waits(2, served=for_minutes(31), waiting_since=ago(239))),
        1,
    ),
    ("a retry waits for its time", (waits(2, retry=Retry(count=1), retries=1, not_before=NOW + for_minutes(3)),), 3),
    ("ABOVE_NORMAL will count as NORMAL", (runs(1, "node-1", level=ABOVE, minutes=10), waits(2)), 20),
    (
        "P5: a victim may have the nodes of its beneficiary when that has had min_run",
        (runs(1, "node-1", minutes=10), had_left_for(1)),
        5,
    ),
    ("what is held waits for its owner", (RUNNING, waits(2, held=True)), None),
]


@pytest.mark.parametrize(("sentence", "tasks", "minutes"), CASES, ids=[case[0] for case in CASES])
def test_the_next_look(sentence: str, tasks: tuple[Task, ...], minutes: float | None) -> None:
    later = decide(snapshot(*tasks, nodes=1)).look_again
    if minutes is None:
        assert later is None, sentence
    else:
        assert later is not None
        assert abs(later - (NOW + for_minutes(minutes))) <= timedelta(microseconds=1), sentence


#: Ann has used 100 node seconds and holds nothing; bob holds a node, and so his use grows.
OVERTAKEN = timedelta(hours=1) * log2(1 + 100 / (3600 / log(2)))


@pytest.mark.parametrize(
    ("sentence", "use", "until"),
    [
        ("users of equal use, of whom one holds a node, change places at once", 0.0, timedelta(microseconds=1)),
        ("use that grows overtakes use that decays, sooner or later", 100.0, OVERTAKEN),
    ],
)
def test_a_plan_is_good_until_the_order_of_users_changes(sentence: str, use: float, until: timedelta) -> None:
    """O3. The end is known to a millisecond, and never too late."""
    running = runs(1, "node-1", user="bob", minutes=0, level=HIGH)
    ann, bob = waits(2, user="ann", submitted_at=NOW), waits(3, user="bob", submitted_at=ago(1))
    shot = snapshot(running, ann, bob, nodes=1, uses=(a_use("ann", node_seconds=use, at=NOW),))
    good = decide(shot).good_until
    assert good is not None
    assert timedelta(milliseconds=-2) <= good - NOW - until <= timedelta(0), sentence
    assert (order(decide(shot)), order(decide(replace(shot, now=NOW + until + timedelta(milliseconds=1))))) == (
        [3, 2],
        [2, 3],
    )


def test_a_row_of_quota_that_expires_is_a_reason_to_look() -> None:
    quotas = (a_quota("public", limit=1, expires_at=NOW + for_minutes(7)),)
    assert decide(snapshot(quotas=quotas)).look_again == NOW + for_minutes(7)
