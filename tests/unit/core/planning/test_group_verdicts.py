"""Verdicts (`hai_scheduler.core.planning.group_verdicts`) after `group_plan` has made its decisions.

Their kinds come from `hai_scheduler.core.planning.diagnosis`, their data from
`hai_scheduler.core.planning.verdict_data`.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Retry
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.core.planning.plan import plan
from kit.builders import a_node, a_quota, a_rank, a_run
from unit.core.tables import EVERYBODY, HIGH, LOW, NORMAL, NOW, POLICY, decide, runs, shares, snapshot, waits


def test_a_plan_answers_for_waiting_tasks_and_no_others() -> None:
    made = decide(snapshot(runs(1, "node-1"), waits(2, 9), waits(3)))
    assert list(made.verdicts) == [2], "the third starts"
    assert made.verdicts.kind_of(TaskId(3)) is None
    with pytest.raises(KeyError):
        made.verdicts[TaskId(3)]


def test_draining_says_how_many_nodes_are_free_and_how_many_come_by_when() -> None:
    made = decide(snapshot(runs(1, "node-1", "node-2", minutes=1), waits(2, 4, priority=HIGH)))
    verdict = made.verdicts[2]
    assert verdict.kind is VerdictKind.DRAINING
    assert (verdict.data["free"], verdict.data["coming"]) == (2, 2)
    assert verdict.data["deadline"] == NOW + timedelta(seconds=120)
    assert [holder.task_id for holder in verdict.holders] == [1]


def test_reserved_says_for_whom_and_until_when() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=1), waits(2, 4), waits(3, 1, user="cy")))
    verdict = made.verdicts[3]
    assert verdict.kind is VerdictKind.RESERVED
    assert [holder.task_id for holder in verdict.holders] == [2]
    assert verdict.data["until"] == NOW + timedelta(minutes=29)
    assert verdict.data["free"] == 0, "what is kept for another is not free"


def test_what_is_kept_from_equals_is_open_to_lower_ones() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=1), waits(2, 4), waits(3, 1, priority=LOW, user="cy")))
    assert 3 not in made.verdicts


def test_turn_says_until_when_and_names_no_own_task() -> None:
    made = decide(
        snapshot(runs(1, "node-1", minutes=10), runs(2, "node-2", minutes=1), waits(3, 1, user="user2"), nodes=2)
    )
    verdict = made.verdicts[3]
    assert (verdict.kind, verdict.earliest_start) == (VerdictKind.TURN, NOW + timedelta(minutes=20))
    assert [holder.task_id for holder in verdict.holders] == [1]


def test_capacity_says_when_a_time_limit_ends_what_is_in_the_way() -> None:
    made = decide(snapshot(runs(1, "node-1", level=HIGH, minutes=10, time_limit=timedelta(hours=1)), waits(2), nodes=1))
    verdict = made.verdicts[2]
    assert (verdict.kind, verdict.earliest_start) == (VerdictKind.CAPACITY, NOW + timedelta(minutes=50))


def test_quota_counts_parts_of_nodes() -> None:
    held = shares(1, {"node-1": (0, 1)}, user="ann")
    quotas = (a_quota("public", priority=NORMAL, limit=1),)
    made = decide(snapshot(held, waits(2, 1, user="ann"), quotas=quotas))
    data = made.verdicts[2].data
    assert (made.verdicts[2].kind, data["used"], data["limit"]) == (VerdictKind.QUOTA, 0.25, 1)


def test_never_says_what_it_is_too_large_for() -> None:
    nodes = (a_node("node-1", gpus=4), a_node("node-2", gpus=8))
    made = decide(snapshot(waits(1, 3), waits(2, 2, gpus=6), waits(3, 1, gpus=9), nodes=nodes))
    causes = {task_id: (verdict.data["cause"], verdict.data["cap"]) for task_id, verdict in made.verdicts.items()}
    assert causes == {1: ("group", 2), 2: ("group", 1), 3: ("gpus", 8)}


def test_retry_says_until_when_and_which_it_is() -> None:
    later = NOW + timedelta(seconds=30)
    made = decide(snapshot(waits(1, retry=Retry(count=3), retries=1, not_before=later)))
    verdict = made.verdicts[1]
    assert (verdict.kind, verdict.earliest_start) == (VerdictKind.RETRY, later)
    assert (verdict.data["retries"], verdict.data["of"]) == (1, 3)


def test_after_a_start_that_failed_it_says_why_whatever_the_retry_policy() -> None:
    later = NOW + timedelta(seconds=30)
    failed = a_run(1, ranks=(a_rank(0, message="no disk"),), ended_at=NOW, reason=Reason.START_FAILED)
    fields = {"run": failed, "reason": Reason.START_FAILED, "failed_starts": 2, "retry": Retry(count=7)}
    verdict = decide(snapshot(waits(1, not_before=later, **fields))).verdicts[1]
    assert (verdict.kind, verdict.earliest_start) == (VerdictKind.RETRY, later)
    assert verdict.data == {"until": later, "starts": 2, "of": POLICY.max_failed_starts, "why": "no disk"}


def test_positions_run_through_all_priorities() -> None:
    tasks = [runs(9, "node-1", level=HIGH), *(waits(n, priority=p) for n, p in ((1, LOW), (2, HIGH), (3, NORMAL)))]
    made = plan(snapshot(*tasks, nodes=1, quotas=EVERYBODY), POLICY)
    assert {task_id: verdict.position for task_id, verdict in made.verdicts.items()} == {2: 1, 3: 2, 1: 3}
