"""Who holds the nodes, how many are needed, until when (`hai_scheduler.core.planning.verdict_data`)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import Retry
from hai_scheduler.core.model.verdicts import VerdictKind
from kit.builders import a_node, a_quota, a_rank, a_run
from unit.core.tables import HIGH, NORMAL, NOW, POLICY, decide, runs, shares, snapshot, waits


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


def test_after_a_killed_supervisor_it_says_which_and_how_often_in_a_row() -> None:
    """H4. A retry policy has no part in that."""
    later = NOW + timedelta(seconds=30)
    lost = a_rank(0, state=RankState.LOST, supervisor_killed=True)
    broken = a_run(1, ranks=(lost,), ended_at=NOW, reason=Reason.SUPERVISOR_KILLED)
    fields = {"run": broken, "reason": Reason.SUPERVISOR_KILLED, "failed_starts": 2, "retry": Retry(count=7)}
    verdict = decide(snapshot(waits(1, not_before=later, **fields))).verdicts[1]
    assert (verdict.kind, verdict.earliest_start) == (VerdictKind.RETRY, later)
    why = "the supervisor of rank 0 on node-1 was killed"
    assert verdict.data == {"until": later, "starts": 2, "of": POLICY.max_failed_starts, "broken": why}


@pytest.mark.parametrize(("orphans", "said"), [(0, None), (1, 1), (2, 2)])
def test_nodes_on_which_orphaned_runs_are_left_are_counted_where_a_task_waits_for_nodes(
    orphans: int, said: int | None
) -> None:
    """Decision 0016: they are not free, and no task of the scheduler holds them."""
    left = tuple(a_node(f"orphan-{number}", orphan=RunId("9.1")) for number in range(orphans))
    made = decide(snapshot(runs(1, "node-1", minutes=1), waits(2), waits(3), nodes=(a_node("node-1"), *left)))
    assert [made.verdicts[number].data.get("orphaned") for number in (2, 3)] == [said, said]


def test_of_equal_tasks_the_one_that_avoids_a_node_may_start_later() -> None:
    """F3: node-1 is free in 10 minutes, node-2 in 20. What is known of one task holds for those like it alone."""
    held = (runs(1, "node-1", minutes=20), runs(2, "node-2", minutes=10))
    like = {"user": "ann"}
    avoids = [waits(n, avoid=frozenset({f"node-{node}"}), **like) for n, node in ((5, 1), (6, 2))]
    made = decide(snapshot(*held, waits(3, **like), waits(4, **like), *avoids, waits(7, **like), nodes=2))
    asked = (3, 4, 5, 6, 7)
    minutes = {number: (made.verdicts[number].earliest_start - NOW) / timedelta(minutes=1) for number in asked}
    assert minutes == {3: 10, 4: 10, 5: 20, 6: 10, 7: 10}


def test_never_names_the_gpus_only_if_no_node_has_that_number() -> None:
    made = decide(snapshot(waits(1, 9, gpus=8), waits(2, 9, gpus=9), nodes=4))
    causes = [(made.verdicts[number].data["cause"], made.verdicts[number].data["cap"]) for number in (1, 2)]
    assert causes == [("group", 4), ("gpus", 8)]


def test_of_those_that_stay_until_a_save_the_largest_is_named_then_the_smaller_id() -> None:
    """Not one of higher priority, nor an own one: these stay for other reasons."""
    stays = {"minutes": 300, "unsaved": 2}
    running = (
        runs(1, "node-1", **stays),
        runs(2, "node-2", "node-3", **stays),
        runs(3, "node-4", "node-5", **stays),
        runs(4, "node-6", "node-7", "node-8", level=HIGH, **stays),
        runs(5, "node-9", "node-10", "node-11", user="user9", **stays),
    )
    data = decide(snapshot(*running, waits(9), nodes=11)).verdicts[9].data
    assert (data["unsaved"], data["unsaved_runs"]) == (2, 2)
