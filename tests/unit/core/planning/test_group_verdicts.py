"""Verdicts for all waiting tasks of a node group (`hai_scheduler.core.planning.group_verdicts`)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.core.planning.plan import plan
from kit.builders import a_quota
from unit.core.tables import EVERYBODY, HIGH, LOW, NORMAL, NOW, POLICY, decide, leaving, runs, snapshot, waits


def test_a_plan_answers_for_waiting_tasks_and_no_others() -> None:
    made = decide(snapshot(runs(1, "node-1"), waits(2, 9), waits(3)))
    assert list(made.verdicts) == [2], "the third starts"
    assert made.verdicts.kind_of(TaskId(3)) is None
    with pytest.raises(KeyError):
        made.verdicts[TaskId(3)]


def test_positions_run_through_all_priorities() -> None:
    tasks = [runs(9, "node-1", level=HIGH), *(waits(n, priority=p) for n, p in ((1, LOW), (2, HIGH), (3, NORMAL)))]
    made = plan(snapshot(*tasks, nodes=1, quotas=EVERYBODY), POLICY)
    assert {task_id: verdict.position for task_id, verdict in made.verdicts.items()} == {2: 1, 3: 2, 1: 3}


def test_what_is_asked_of_one_task_is_answered_without_its_whole_verdict() -> None:
    """Of a held task, of one that waits behind others, and of an AUTO task."""
    held, behind, auto = waits(2, held=True, priority=HIGH), waits(3, 2), waits(4, 2, priority=None, user="ann")
    made = decide(snapshot(runs(1, "node-1", minutes=1), held, behind, auto, nodes=2))
    for number in (2, 3, 4):
        assert made.verdicts.kind_of(TaskId(number)) is made.verdicts[number].kind
        assert made.verdicts.level_of(TaskId(number)) is made.verdicts[number].priority
    assert made.verdicts.kind_of(TaskId(2)) is VerdictKind.HELD
    assert (made.verdicts.level_of(TaskId(2)), made.verdicts.level_of(TaskId(3))) == (HIGH, NORMAL)


def test_a_plan_does_not_ask_to_be_made_again_at_once() -> None:
    """A row of quota ends just now, and a deadline has passed: neither is a time that is still to come."""
    going = leaving(runs(1, "node-1"), None)
    assert going.run is not None
    assert going.run.notice is not None
    late = replace(going.run.notice, deadline=NOW - timedelta(seconds=1))
    going = replace(going, run=replace(going.run, notice=late))
    rows = (*EVERYBODY, a_quota("user:ann", limit=4, expires_at=NOW))
    made = decide(snapshot(going, waits(2, 2), nodes=2, quotas=rows))
    assert made.look_again is None or made.look_again > NOW
    assert made.good_until is None or made.good_until > NOW


def test_a_plan_says_how_much_it_has_examined() -> None:
    assert decide(snapshot(runs(1, "node-1"), waits(2), nodes=1)).work > decide(snapshot(nodes=1)).work
