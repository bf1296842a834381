"""When time alone may change a plan (`hai_scheduler.core.planning.next_change`): when the simulator looks again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Retry, Task
from kit.builders import a_quota
from unit.core.tables import ABOVE, HIGH, NOW, ago, decide, for_minutes, runs, snapshot, waits

RUNNING = runs(1, "node-1", minutes=10)
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


def test_a_row_of_quota_that_expires_is_a_reason_to_look() -> None:
    quotas = (a_quota("public", limit=1, expires_at=NOW + for_minutes(7)),)
    assert decide(snapshot(quotas=quotas)).look_again == NOW + for_minutes(7)
