"""Who a verdict names as holding what a task needs."""

from __future__ import annotations

import pytest

from hai_scheduler.core.explain import why
from hai_scheduler.core.model import Priority
from hai_scheduler.core.verdicts import VerdictKind
from unit.core.tables import HIGH, LOW, NORMAL, NOW, decide, runs, snapshot, starts, waits


@pytest.mark.parametrize(
    ("level", "kind"), [(HIGH, VerdictKind.CAPACITY), (NORMAL, VerdictKind.TURN)], ids=["higher", "equal"]
)
def test_tasks_that_begin_in_the_same_plan_are_named_as_holders(level: Priority, kind: VerdictKind) -> None:
    made = decide(snapshot(waits(1, 2, priority=level), waits(2), nodes=2))
    assert starts(made) == {1: ("node-1", "node-2")}
    verdict = made.verdicts[2]
    assert verdict.kind is kind
    assert [(holder.task_id, holder.nodes, holder.priority) for holder in verdict.holders] == [(1, 2, level)]
    assert "task 1 of user1" in why(verdict, NOW)


def test_the_largest_holder_comes_first_whether_it_runs_or_begins() -> None:
    made = decide(snapshot(runs(1, "node-1", level=HIGH), waits(2, 2, priority=HIGH), waits(3), nodes=3))
    assert starts(made) == {2: ("node-2", "node-3")}
    assert [holder.task_id for holder in made.verdicts[3].holders] == [2, 1]


def test_a_turn_names_nobody_above_the_task() -> None:
    made = decide(snapshot(waits(1, priority=HIGH), waits(2, priority=LOW), waits(3, priority=LOW), nodes=2))
    assert set(starts(made)) == {1, 2}
    verdict = made.verdicts[3]
    assert (verdict.kind, [holder.task_id for holder in verdict.holders]) == (VerdictKind.TURN, [2])
