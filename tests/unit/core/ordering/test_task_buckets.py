"""The parts of a plan, each alone: levels, seats, use, turns, candidates, reservations, ends of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.capacity.preemption import CandidateIndex, RequestClass
from hai_scheduler.core.capacity.reservation import earliest, passes
from hai_scheduler.core.lifecycle.run_outcome import SIGNALLING, RunOutcome, outcome_of
from hai_scheduler.core.model.leaving import Left, Profile
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.fair_share import FairShare
from hai_scheduler.core.ordering.order import level_at, own_order, submission_keys
from hai_scheduler.core.ordering.positions import Queue
from hai_scheduler.core.ordering.queue import Subqueue, Unplaceable
from hai_scheduler.core.ordering.quota import LEVELS
from hai_scheduler.core.ordering.rules import HaiRules
from hai_scheduler.core.ordering.task_buckets import TaskBucket, shape_of
from hai_scheduler.core.ordering.turns import protected_until, slice_of, work_lost
from hai_scheduler.core.ordering.usage import decayed, held, share_of, with_run
from kit.builders import a_checkpoint, a_notice, a_run, a_task, a_use, at, some_nodes
from unit.core.tables import HIGH, LOW, NORMAL, NOW, POLICY, ago, for_minutes, leaving, runs, shares, turn_of, waits

HOUR = timedelta(hours=1)
NOBODY = FairShare((), (), POLICY, NOW)
HOPEFUL = Unplaceable(frozenset(), lambda _: False)


def rules() -> HaiRules:
    """HAI's rules for one plan, which remember results."""
    return HaiRules(POLICY, NOW, NOBODY, {})


# -- order --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("minutes", "level"), [(0, 0), (29.99, 0), (30, 1), (239.99, 1), (240, 2), (9999, 2)])
def test_the_level_follows_from_service(minutes: float, level: int) -> None:
    assert level_at(for_minutes(minutes), POLICY) == level


def test_seats_are_dealt_out_again_within_a_hand() -> None:
    first, second = a_task(1, submitted_at=at(1), custom_rank=2.0), a_task(3, submitted_at=at(3), custom_rank=1.0)
    assert own_order([first, second]) == [second, first]
    dealt = submission_keys([[first, second]])
    assert dealt == {3: (at(1), 1), 1: (at(3), 3)}, "the seats are those of before"


def subqueue(*tasks: Task, before: Sequence[Task] = ()) -> Subqueue:
    """A subqueue of `tasks`, all of rank 0, with those of `before` of one user indexed; no user has any decayed use."""
    buckets = {(0.0, before[0].user): TaskBucket(before)} if before else {}
    made = Subqueue(buckets, {task.user: 0.0 for task in (*tasks, *before)})
    for task in tasks:
        made.add(TaskBucket([task]), 0.0)
    made.begin()
    return made


def looked_at(subqueue: Subqueue, unplaceable: Unplaceable = HOPEFUL) -> list[int]:
    """The ids of the subqueue's tasks, in the order in which a plan looks at them."""
    order = []
    while (entry := subqueue.pop(unplaceable)) is not None:
        order.append(int(entry.task.id))
    return order


def test_a_queue_gives_places_through_its_subqueues() -> None:
    queue = Queue(
        {level: subqueue() for level in LEVELS} | {NORMAL: subqueue(waits(1), waits(2)), HIGH: subqueue(waits(3))}
    )
    assert [queue.position_of(waits(n), 0.0).position for n in (3, 1, 2)] == [1, 2, 3]
    with pytest.raises(KeyError):
        queue.position_of(waits(9), 0.0)


def test_a_lane_is_in_order_of_rank_then_use_then_seat() -> None:
    """The order is the same for tasks that were there from the start and for tasks that came one by one."""
    users = {1: "alice", 2: "bob", 3: "cy", 4: "dora", 5: "cy"}
    use = {"alice": 0.0, "bob": 5.0, "cy": 1.0, "dora": 1.0}
    buckets = {(1.0, "alice"): TaskBucket([waits(1, user="alice")]), (0.0, "cy"): TaskBucket([waits(5, user="cy")])}
    made = Subqueue(buckets, use)
    for number in (2, 3, 4):
        made.add(TaskBucket([waits(number, user=users[number])]), 0.0)
    made.begin()
    made.remove(waits(2), 0.0)
    assert looked_at(made) == [3, 4, 5, 1], "the second waits in another subqueue"
    made.begin()
    assert looked_at(made) == [3, 4, 5, 1], "once more"
    assert made.precedences() == {0.0, 1.0}


def test_the_hopeless_are_not_looked_at_unless_they_were_promised_nodes() -> None:
    made = subqueue(
        waits(4, 2, promise=frozenset({"node-1"}), user="ann"),
        before=[waits(1, 1, user="bob"), waits(2, 2, user="bob"), waits(3, 1, user="bob")],
    )
    unplaceable = Unplaceable(
        {shape_of(waits(9, 2))}, lambda task: not task.promise and (task.id == 3 or task.nodes == 2)
    )
    assert looked_at(made, unplaceable) == [1, 4]


def test_a_users_own_order_deals_out_the_seats_of_all_their_tasks_of_the_level() -> None:
    """Hopeless tasks keep their part in the order, and so do tasks that came one by one."""
    last = waits(3, submitted_at=at(3), custom_rank=-1.0, avoid=frozenset({"node-1"}), user="bob")
    made = subqueue(
        last,
        waits(4, submitted_at=at(1.5)),
        before=[
            waits(1, submitted_at=at(1), user="bob"),
            waits(2, submitted_at=at(2), user="bob", custom_rank=0.0),
        ],
    )
    assert looked_at(made) == [3, 4, 2, 1]
    made.begin()
    assert looked_at(made, Unplaceable(frozenset(), lambda task: task.id == 3)) == [4, 2, 1]


def test_a_task_that_its_user_has_ordered_takes_the_seat_of_one_without_an_order() -> None:
    before = [waits(number, submitted_at=at(number), user="bob") for number in (1, 2)]
    assert looked_at(subqueue(waits(3, submitted_at=at(3), custom_rank=-1.0, user="bob"), before=before)) == [3, 1, 2]


def test_a_lane_knows_its_sizes_and_promises() -> None:
    made = subqueue(waits(1, 2), waits(2, 1, gpus=3, promise=frozenset({"node-1"})), before=[waits(3, 4)])
    assert made.shapes == {shape_of(waits(1, 2)), (3, 1), shape_of(waits(3, 4))}
    assert made.promised == 1
    assert shape_of(waits(1, 1)) > shape_of(waits(1, 1, gpus=1_000)), "a whole node is more than any part of one"
    assert looked_at(made) == [1, 2, 3]
    assert made.promised == 0


# -- use ----------------------------------------------------------------------------------------------


def test_an_hour_just_now_counts_more_than_an_hour_before() -> None:
    assert held(at(hours=9), NOW, NOW, HOUR) == pytest.approx(2 * held(at(hours=8), at(hours=9), NOW, HOUR))
    assert held(NOW, NOW, NOW, HOUR) == held(NOW, at(), NOW, HOUR) == 0


@given(st.floats(0, 50), st.floats(0, 50), st.floats(0, 50))
def test_use_is_the_same_however_a_time_is_cut_in_pieces(first: float, second: float, later: float) -> None:
    begin, middle, end = at(), at(hours=first), at(hours=first + second)
    now = end + timedelta(hours=later)
    whole = held(begin, end, now, HOUR)
    assert held(begin, middle, now, HOUR) + held(middle, end, now, HOUR) == pytest.approx(whole, abs=1e-3)


@given(st.floats(0, 50), st.floats(0, 50))
def test_use_decays_the_same_in_one_step_or_two(first: float, second: float) -> None:
    use = a_use(node_seconds=1000.0, at=at())
    middle, end = at(hours=first), at(hours=first + second)
    halfway = replace(use, node_seconds=decayed(use, middle, HOUR), at=middle)
    assert decayed(halfway, end, HOUR) == pytest.approx(decayed(use, end, HOUR), abs=1e-6)


def test_a_run_that_has_ended_is_added_to_what_is_left_of_before() -> None:
    task = a_task(nodes=2, user="alice")
    run = a_run(nodes=2, started_at=at(hours=1), ended_at=at(hours=1, minutes=6))
    after = with_run(a_use(node_seconds=100.0, at=at(minutes=6)), task, run, gpus_per_node=8, half_life=HOUR)
    assert after.at == at(hours=1, minutes=6)
    assert after.node_seconds == pytest.approx(50 + 2 * 360, rel=0.05)
    with pytest.raises(ValueError, match="has not ended"):
        with_run(None, task, a_run(nodes=2), gpus_per_node=8, half_life=HOUR)


def test_a_share_is_that_part_of_a_node() -> None:
    assert share_of(waits(1, 3), 8) == 3
    assert share_of(waits(1, 3, gpus=2), 8) == 0.75
    assert share_of(waits(1, 3), 0) == 3


def test_a_users_use_is_the_sum_of_what_ended_and_what_runs() -> None:
    running = runs(1, "node-1", "node-2", minutes=1, user="alice")
    use = FairShare((a_use(node_seconds=100.0, at=NOW),), (turn_of(running),), POLICY, NOW)
    assert use.of("alice") == pytest.approx(100 + 120, rel=0.02)
    assert use.of("bob") == 0


# -- turns --------------------------------------------------------------------------------------------


def test_a_slice_grows_with_the_level_at_the_start_of_the_turn() -> None:
    lengths = [slice_of(waits(1, served=for_minutes(served)), POLICY) for served in (0, 29, 30, 239, 240)]
    assert lengths == [for_minutes(minutes) for minutes in (30, 30, 60, 60, 120)]
    assert slice_of(waits(1, served=HOUR), Policy(slice_growth=1)) == for_minutes(30)


def test_work_is_lost_since_the_last_checkpoint_of_the_run() -> None:
    run = a_run(started_at=ago(30))
    assert work_lost(run, NOW) == for_minutes(30)
    assert work_lost(replace(run, checkpoint=a_checkpoint(at=ago(10))), NOW) == for_minutes(10)
    assert work_lost(replace(run, checkpoint=a_checkpoint(at=ago(50))), NOW) == for_minutes(30)
    assert work_lost(replace(run, running_at=None), NOW) == timedelta(0)


def test_a_task_is_protected_an_hour_from_its_last_rotation() -> None:
    often = waits(1, rotations=(ago(40), ago(30), ago(20), ago(10)))
    assert protected_until(often, POLICY) == ago(10) + HOUR
    assert protected_until(waits(1, rotations=(ago(40), ago(30), ago(20))), POLICY) is None


def test_a_turn_ends_by_its_time_limit() -> None:
    assert turn_of(runs(1, "node-1", minutes=20, time_limit=for_minutes(30))).ends_at == NOW + for_minutes(10)
    assert turn_of(runs(1, "node-1")).ends_at is None


# -- candidates ---------------------------------------------------------------------------------------


def candidate_index(*tasks: Task, nodes: int = 3) -> tuple[GroupCapacity, CandidateIndex]:
    turns = [turn_of(task) for task in tasks]
    capacity = GroupCapacity(NodeGroup(some_nodes(nodes)), turns)
    return capacity, CandidateIndex(capacity, turns, rules())


def test_offers_are_sorted_by_harm_and_counted() -> None:
    _, found = candidate_index(runs(1, "node-1", "node-2", level=LOW), runs(2, "node-3", minutes=1, level=LOW))
    candidates = found.candidates(RequestClass(NORMAL, 0, None))
    assert [candidate.nodes for candidate in candidates.sorted] == [("node-1", "node-2"), ("node-3",)], (
        "the higher level first"
    )
    assert candidates.total == 3
    assert found.candidates(RequestClass(LOW, 0, None)).total == 2, "of equals, the one whose turn may end"


def test_an_offer_is_gone_when_its_turn_has_been_told_to_leave() -> None:
    capacity, found = candidate_index(runs(1, "node-1", level=LOW), runs(2, "node-2", level=LOW))
    candidates = found.candidates(RequestClass(NORMAL, 0, None))
    capacity.leave(candidates.sorted[0].turns[0])
    assert len(found.candidates(RequestClass(NORMAL, 0, None)).sorted) == 1
    found.forget()
    assert found.candidates(RequestClass(NORMAL, 0, None)).total == 1


def test_of_a_shared_node_as_few_leave_as_will_do() -> None:
    there = (shares(1, {"node-1": (0, 1)}, minutes=5, level=LOW), shares(2, {"node-1": (2, 3, 4, 5)}, level=LOW))
    _, found = candidate_index(*there, nodes=1)
    (candidate,) = found.candidates(RequestClass(NORMAL, 0, 4)).sorted
    assert [one.task.id for one in candidate.turns] == [2]
    (candidate,) = found.candidates(RequestClass(NORMAL, 0, None)).sorted
    assert {one.task.id for one in candidate.turns} == {1, 2}
    assert found.candidates(RequestClass(NORMAL, 0, 2)).sorted == [], "two are free"


def test_the_harm_of_several_is_that_of_the_worst() -> None:
    small = shares(1, {"node-1": (0, 1, 2, 3)}, minutes=1, level=LOW)
    large = shares(2, {"node-1": (4, 5, 6, 7)}, minutes=9, level=LOW)
    assert rules().harm_of(turn_of(large)) > rules().harm_of(turn_of(small))
    (candidate,) = candidate_index(small, large, nodes=1)[1].candidates(RequestClass(NORMAL, 0, None)).sorted
    assert candidate.key.harm == rules().harm_of(turn_of(large))


# -- reservations -------------------------------------------------------------------------------------


def test_the_earliest_start_is_when_the_last_of_its_nodes_can_be_had() -> None:
    turns = [turn_of(runs(1, "node-1", minutes=20)), turn_of(leaving(runs(2, "node-2"), None))]
    found = earliest(waits(3, 2), NORMAL, 0, GroupCapacity(NodeGroup(some_nodes(3)), turns), rules())
    assert found is not None
    assert (found.at, set(found.nodes)) == (NOW + for_minutes(2), {"node-2", "node-3"})
    found = earliest(waits(3, 3), NORMAL, 0, GroupCapacity(NodeGroup(some_nodes(3)), turns), rules())
    assert found is not None
    assert found.at == NOW + for_minutes(10)
    assert earliest(waits(3, 4), NORMAL, 0, GroupCapacity(NodeGroup(some_nodes(3)), turns), rules()) is None


def test_nodes_that_it_was_unlucky_on_are_not_counted_on_and_parts_of_nodes_are() -> None:
    turns = [turn_of(runs(1, "node-1", minutes=20)), turn_of(leaving(runs(2, "node-2"), None))]
    capacity = GroupCapacity(NodeGroup(some_nodes(3)), turns)
    found = earliest(waits(3, 2, avoid=frozenset({"node-2"})), NORMAL, 0, capacity, rules())
    assert found is not None
    assert (found.at, set(found.nodes)) == (NOW + for_minutes(10), {"node-1", "node-3"})
    found = earliest(waits(3, 2, gpus=2), NORMAL, 0, capacity, rules())
    assert found is not None
    assert (found.at, set(found.nodes)) == (NOW + for_minutes(2), {"node-2", "node-3"})


def test_who_passes_gives_back_in_time() -> None:
    capacity = GroupCapacity(NodeGroup(some_nodes(3)), [turn_of(runs(1, "node-1", minutes=20))])
    found = earliest(waits(3, 3), NORMAL, 0, capacity, rules())
    assert found is not None
    assert passes(waits(4, time_limit=for_minutes(10)), found, rules())
    assert not passes(waits(4, time_limit=for_minutes(11)), found, rules())


# -- ends of runs -------------------------------------------------------------------------------------


def ended(profile: Profile, codes: list[int], *, told: bool, state: TaskState = TaskState.SUSPENDING) -> RunOutcome:
    run = a_run(nodes=len(codes), notice=a_notice() if told else None)
    signalled = told and profile in SIGNALLING
    ranks = tuple(
        replace(rank, state=RankState.EXITED, exit_code=code, signalled=signalled)
        for rank, code in zip(run.ranks, codes, strict=True)
    )
    run = replace(run, ranks=ranks)
    return outcome_of(a_task(1, state=state, nodes=len(codes), profile=profile, run=run), run)


@pytest.mark.parametrize(
    ("profile", "code", "state", "left"),
    [
        (Profile.SIGTERM, 0, TaskState.SUSPENDED, Left.UNKNOWN),
        (Profile.SIGTERM, 143, TaskState.SUSPENDED, Left.UNKNOWN),
        (Profile.SIGTERM, 1, TaskState.SUSPENDED, Left.ENDED),
        (Profile.SLURM, 138, TaskState.SUSPENDED, Left.UNKNOWN),
        (Profile.SLURM, 75, TaskState.SUSPENDED, Left.ENDED),
        (Profile.AUTO, 0, TaskState.SUSPENDED, Left.UNKNOWN),
        (Profile.AUTO, 143, TaskState.SUSPENDED, Left.UNKNOWN),
        (Profile.AUTO, 138, TaskState.SUSPENDED, Left.ENDED),
        (Profile.KILL, 0, TaskState.SUCCEEDED, None),
        (Profile.KILL, 1, TaskState.SUSPENDED, Left.ENDED),
        (Profile.COOPERATIVE, 0, TaskState.SUCCEEDED, None),
        (Profile.COOPERATIVE, 1, TaskState.FAILED, None),
    ],
)
def test_an_exit_after_the_notice_means_what_the_profile_says(
    profile: Profile, code: int, state: TaskState, left: Left | None
) -> None:
    found = ended(profile, [0, code], told=True)
    assert (found.state, found.left) == (state, left)


def test_without_a_notice_an_exit_is_an_ending() -> None:
    assert ended(Profile.SIGTERM, [0, 0], told=False) == RunOutcome(TaskState.SUCCEEDED, Reason.SUCCEEDED)
    assert ended(Profile.SIGTERM, [0, 143], told=False) == RunOutcome(TaskState.FAILED, Reason.FAILED)
    assert ended(Profile.SIGTERM, [143], told=True, state=TaskState.STOPPING).state is TaskState.STOPPED


def test_a_task_is_in_a_bucket_by_its_id_and_size() -> None:
    """Tasks that would stand before, between and behind those of the bucket are not in it."""
    bucket = TaskBucket([waits(2, user="ann"), waits(4, user="ann")])
    assert [waits(number, user="ann") in bucket for number in (1, 2, 3, 4, 5)] == [False, True, False, True, False]
    assert waits(2, 2, user="ann") not in bucket
    assert "2" not in bucket
    assert (bucket.dealt, bucket.promised) == (0, 0)
    promised = waits(3, user="ann", promise=frozenset({"node-1"}), custom_rank=1)
    assert [getattr(TaskBucket([promised, waits(5, user="ann")]), name) for name in ("dealt", "promised")] == [1, 1]
