"""Who goes first (rules O1 to O4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Usage
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.verdicts import VerdictKind
from kit.builders import a_run, a_use
from unit.core.tables import (
    ABOVE,
    HIGH,
    LOW,
    NORMAL,
    NOW,
    POLICY,
    ago,
    decide,
    for_minutes,
    kinds,
    order,
    runs,
    snapshot,
    starts,
    suspends,
    waits,
)

SECOND = timedelta(seconds=1)


def queue(*tasks: Task, uses: tuple[Usage, ...] = (), policy: Policy = POLICY) -> list[int]:
    """The ids of `tasks` in the order of the queue, behind a task of the highest priority that has all nodes."""
    full = runs(99, "node-1", "node-2", level=Priority.EXTREME_HIGH)
    return order(decide(snapshot(full, *tasks, nodes=2, uses=uses), policy))


# -- O1 -----------------------------------------------------------------------------------------------


def test_o1_higher_priority_goes_first_then_first_submission() -> None:
    made = decide(snapshot(waits(1, 2), waits(2, 2, priority=HIGH), waits(3, 2), nodes=4))
    assert list(starts(made)) == [2, 1]
    assert made.verdicts[3].position == 3


def test_o1_the_levels_stand_in_their_order_whichever_task_came_first() -> None:
    tasks = [waits(n, priority=level) for n, level in enumerate(sorted(Priority), start=1)]
    assert queue(*tasks) == [7, 6, 5, 4, 3, 2, 1]


def test_o1_priority_comes_before_level_and_use() -> None:
    long = waits(2, priority=HIGH, served=timedelta(hours=99), user="ann")
    assert queue(waits(1), long, uses=(a_use("ann", node_seconds=1e9, at=NOW),)) == [2, 1]


# -- O2 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "served", "goes_first"),
    [
        ("a moment before a slice it is new", timedelta(minutes=30) - SECOND, True),
        ("with one slice it is of level 1", timedelta(minutes=30), False),
    ],
)
def test_o2_one_slice_of_service_takes_a_task_to_level_1(sentence: str, served: timedelta, goes_first: bool) -> None:
    assert (queue(waits(1, served=served), waits(2)) == [1, 2]) is goes_first, sentence


@pytest.mark.parametrize(("served", "goes_first"), [(timedelta(hours=4) - SECOND, True), (timedelta(hours=4), False)])
def test_o2_four_hours_of_service_take_a_task_to_level_2(served: timedelta, goes_first: bool) -> None:
    assert (queue(waits(1, served=served), waits(2, served=for_minutes(31))) == [1, 2]) is goes_first


def test_o2_within_a_level_more_or_less_service_makes_no_difference() -> None:
    tasks = (waits(1, served=timedelta(hours=90)), waits(2, served=timedelta(hours=4)))
    assert queue(*tasks) == [1, 2]


@pytest.mark.parametrize(
    ("sentence", "waited", "goes_first"),
    [
        ("not yet", timedelta(hours=4) - SECOND, False),
        ("not at the very moment", timedelta(hours=4), False),
        ("from then on it counts as new", timedelta(hours=4) + SECOND, True),
    ],
)
def test_o2_who_has_waited_too_long_counts_as_new(sentence: str, waited: timedelta, goes_first: bool) -> None:
    starving = waits(1, served=timedelta(hours=9), waiting_since=NOW - waited)
    assert (queue(starving, waits(2)) == [1, 2]) is goes_first, sentence


def test_o2_waiting_counts_from_the_last_turn_and_not_from_the_first_submission() -> None:
    back = waits(1, served=timedelta(hours=9), submitted_at=NOW - timedelta(days=3), waiting_since=ago(1))
    assert queue(back, waits(2)) == [2, 1]


def test_o2_who_starves_may_ask_as_a_new_task_may() -> None:
    """A turn at level 1 may end for a task of level 0 after min_run, for one of level 1 after its slices."""
    running = runs(1, "node-1", minutes=40, served=for_minutes(31))
    equal = waits(2, served=for_minutes(31))
    assert suspends(decide(snapshot(running, equal, nodes=1))) == {}
    starving = replace(equal, waiting_since=NOW - timedelta(hours=4) - SECOND)
    assert suspends(decide(snapshot(running, starving, nodes=1))) == {1: 2}


def test_o2_the_plan_looks_again_when_a_task_begins_to_starve() -> None:
    running = runs(1, "node-1", minutes=40, served=for_minutes(31))
    shot = snapshot(running, waits(2, waiting_since=ago(239), served=for_minutes(31)), nodes=1)
    again = decide(shot).look_again
    assert again is not None
    assert timedelta(0) < again - (NOW + for_minutes(1)) < SECOND
    assert suspends(decide(replace(shot, now=again))) == {1: 2}


# -- O3 -----------------------------------------------------------------------------------------------


def test_o3_the_user_who_has_used_less_goes_first() -> None:
    uses = (a_use("user1", node_seconds=100, at=NOW), a_use("user2", node_seconds=99, at=NOW))
    assert queue(waits(1), waits(2), uses=uses) == [2, 1]


@pytest.mark.parametrize(("hours", "first"), [(0, [2, 1]), (0.9, [2, 1]), (1.1, [1, 2]), (5, [1, 2])])
def test_o3_use_counts_half_after_an_hour(hours: float, first: list[int]) -> None:
    """User 1 has used twice as much as user 2, but longer ago."""
    uses = (
        a_use("user1", node_seconds=200, at=NOW - timedelta(hours=hours)),
        a_use("user2", node_seconds=100, at=NOW),
    )
    assert queue(waits(1), waits(2), uses=uses) == first


@pytest.mark.parametrize(
    ("weights", "first"),
    [({}, [2, 1]), ({"user1": 1.9}, [2, 1]), ({"user1": 2.1}, [1, 2]), ({"user2": 0.4}, [1, 2])],
    ids=["alike", "not quite twice the weight", "more than twice the weight", "less than half for the other"],
)
def test_o3_use_is_divided_by_the_users_weight(weights: dict[str, float], first: list[int]) -> None:
    uses = (a_use("user1", node_seconds=200, at=NOW), a_use("user2", node_seconds=100, at=NOW))
    assert queue(waits(1), waits(2), uses=uses, policy=Policy(weights=weights)) == first


def test_o3_what_runs_now_is_used_as_well() -> None:
    running = runs(9, "node-1", level=Priority.VERY_HIGH, user="user1", minutes=5)
    made = decide(snapshot(running, waits(1), waits(2), nodes=1))
    assert order(made) == [2, 1]


def test_o3_use_of_another_group_is_not_counted() -> None:
    uses = (a_use("user1", node_seconds=100, at=NOW, group="jupyter"), a_use("user2", node_seconds=1, at=NOW))
    assert queue(waits(1), waits(2), uses=uses) == [1, 2]


def test_o3_a_level_comes_before_use() -> None:
    uses = (a_use("user2", node_seconds=1e9, at=NOW),)
    assert queue(waits(1, served=for_minutes(30)), waits(2), uses=uses) == [2, 1]


def test_o3_the_users_own_order_then_first_submission_then_the_id() -> None:
    ann = {"user": "ann"}
    tasks = (
        waits(1, **ann),
        waits(2, **ann, custom_rank=2.0),
        waits(3, **ann, custom_rank=1.0),
        waits(5, **ann, submitted_at=waits(4).submitted_at),
        waits(4, **ann),
    )
    assert queue(*tasks) == [3, 2, 1, 4, 5]


def test_o3_a_users_own_order_deals_out_his_own_seats_only() -> None:
    tasks = (
        waits(1, 4, user="ann", custom_rank=1.0),
        waits(2, 4, user="bob"),
        waits(3, 4, user="ann", custom_rank=0.0),
    )
    made = decide(snapshot(*tasks, nodes=4))
    assert list(starts(made)) == [3], "ann's third takes the place of her first"
    assert made.verdicts[2].position == 2
    assert made.verdicts[1].position == 3


@pytest.mark.parametrize(
    ("sentence", "moved", "first"),
    [
        ("not over a level", {"served": for_minutes(30)}, [1, 2]),
        ("not over a priority", {"priority": LOW}, [1, 2]),
        ("within both it counts", {}, [2, 1]),
    ],
)
def test_o3_the_own_order_counts_within_a_priority_and_a_level(
    sentence: str, moved: dict[str, object], first: list[int]
) -> None:
    tasks = (waits(1, user="ann", custom_rank=9.0), waits(2, user="ann", custom_rank=0.0, **moved))
    assert queue(*tasks) == first, sentence


def test_o3_first_submission_stays_over_all_interruptions() -> None:
    back = waits(2, submitted_at=waits(1).submitted_at - SECOND, waiting_since=NOW, served=for_minutes(5))
    assert queue(waits(1, waiting_since=ago(200)), back) == [2, 1]


def test_o3_the_order_is_total_down_to_the_id() -> None:
    same = {"user": "ann", "submitted_at": NOW, "waiting_since": NOW}
    tasks = [waits(n, **same) for n in (4, 1, 3, 2)]
    assert queue(*tasks) == queue(*reversed(tasks)) == [1, 2, 3, 4]


def test_o3_turns_rotate_through_three_equals() -> None:
    """A user who has just had a turn has used more than one who has not, so no user starves."""
    had_turn = replace(waits(1), state=TaskState.SUSPENDED, run=a_run(1, ended_at=NOW))
    uses = (Usage(user="user1", group="training", node_seconds=1800, at=NOW),)
    made = decide(snapshot(had_turn, runs(2, "node-1", minutes=31, user="bob"), waits(3), nodes=1, uses=uses))
    assert suspends(made) == {2: 3}
    assert made.verdicts[1].position == 2


# -- O4 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "told"), [(29.9, False), (30, True)], ids=["still above them", "counts as one of them"]
)
def test_o4_above_normal_counts_as_normal_after_half_an_hour_in_a_turn(minutes: float, told: bool) -> None:
    made = decide(snapshot(runs(1, "node-1", level=ABOVE, minutes=minutes), waits(2), nodes=1))
    assert bool(suspends(made)) is told


def test_o4_another_above_normal_task_may_have_its_nodes_at_once_then() -> None:
    """It counts as NORMAL then, so that it is no equal any more, but lower (P1)."""
    running = runs(1, "node-1", level=ABOVE, minutes=30, starting_took=timedelta(hours=1))
    assert suspends(decide(snapshot(running, waits(2, priority=ABOVE), nodes=1))) == {1: 2}


def test_o4_time_in_earlier_turns_does_not_count() -> None:
    running = runs(1, "node-1", level=ABOVE, minutes=29, served=timedelta(hours=3))
    assert suspends(decide(snapshot(running, waits(2), nodes=1))) == {}


@pytest.mark.parametrize("level", [level for level in Priority if level is not ABOVE], ids=lambda level: level.name)
def test_o4_no_other_level_is_demoted(level: Priority) -> None:
    lower = max((one for one in Priority if one < level), default=None)
    if lower is not None:
        running = runs(1, "node-1", level=level, minutes=600)
        assert suspends(decide(snapshot(running, waits(2, priority=lower), nodes=1))) == {}


def test_o4_a_demoted_task_is_not_higher_than_those_of_normal_as_a_victim() -> None:
    demoted, normal = runs(1, "node-1", level=ABOVE, minutes=31), runs(2, "node-2", level=NORMAL, minutes=1)
    made = decide(snapshot(demoted, normal, waits(3, priority=HIGH), nodes=2))
    assert suspends(made) == {1: 3}, "of equal priority now, it is of the higher level"


def test_o4_waiting_it_is_above_normal_again() -> None:
    back = waits(1, priority=ABOVE, served=timedelta(minutes=29))
    assert queue(waits(2), back) == [1, 2]


def test_o4_the_plan_looks_again_when_a_task_is_demoted() -> None:
    made = decide(snapshot(runs(1, "node-1", level=ABOVE, minutes=29), waits(2), nodes=1))
    assert made.look_again == NOW + for_minutes(1)
    assert kinds(made) == {2: VerdictKind.CAPACITY}
