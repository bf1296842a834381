"""Verdicts (`hai_scheduler.core.planning.group_verdicts`) after `group_plan` has made its decisions.

Their kinds come from `hai_scheduler.core.planning.diagnosis`, their data from
`hai_scheduler.core.planning.verdict_data`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import Retry
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.core.planning.plan import plan
from kit.builders import a_node, a_quota, a_rank, a_run
from unit.core.tables import EVERYBODY, HIGH, LOW, NORMAL, NOW, POLICY, decide, leaving, runs, shares, snapshot, waits


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


def test_positions_run_through_all_priorities() -> None:
    tasks = [runs(9, "node-1", level=HIGH), *(waits(n, priority=p) for n, p in ((1, LOW), (2, HIGH), (3, NORMAL)))]
    made = plan(snapshot(*tasks, nodes=1, quotas=EVERYBODY), POLICY)
    assert {task_id: verdict.position for task_id, verdict in made.verdicts.items()} == {2: 1, 3: 2, 1: 3}


@pytest.mark.parametrize(("seconds", "kind"), [(0, VerdictKind.TURN), (1, VerdictKind.RETRY)])
def test_who_has_waited_long_enough_after_a_failure_waits_for_nodes(seconds: float, kind: VerdictKind) -> None:
    task = waits(2, not_before=NOW + timedelta(seconds=seconds))
    assert decide(snapshot(runs(1, "node-1", minutes=1), task, nodes=1)).verdicts[2].kind is kind


def test_the_nodes_that_are_free_for_a_task_are_not_those_that_it_avoids() -> None:
    """Both wait for two nodes, and one node is free; the answer for the first is not kept for the second."""
    held = (runs(1, "node-2", minutes=1), runs(2, "node-3", minutes=1))
    made = decide(snapshot(*held, waits(3, 2), waits(4, 2, avoid=frozenset({"node-1"})), nodes=3))
    assert [made.verdicts[number].kind for number in (3, 4)] == [VerdictKind.TURN, VerdictKind.TURN]
    assert [made.verdicts[number].data["free"] for number in (3, 4)] == [1, 0]


def test_all_gpus_of_a_node_may_become_free_for_a_part_as_large() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=1), waits(2, gpus=8), nodes=1))
    assert made.verdicts[2].kind is VerdictKind.TURN


def test_a_node_behind_one_that_is_promised_or_stays_held_is_within_reach() -> None:
    """node-1 is freed for another, node-2 is held by a task of higher priority, the turn on node-3 ends some time."""
    promised = waits(5, promise=frozenset({"node-1"}))
    going = leaving(runs(1, "node-1"), 5)
    others = (runs(2, "node-2", minutes=1, level=HIGH), runs(3, "node-3", minutes=1))
    made = decide(snapshot(going, *others, promised, waits(6), nodes=3))
    assert (made.verdicts[5].kind, made.verdicts[6].kind) == (VerdictKind.DRAINING, VerdictKind.TURN)
    made = decide(snapshot(going, others[0], promised, waits(6), nodes=2))
    assert made.verdicts[6].kind is VerdictKind.CAPACITY


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
