"""The parts that the plan and the table of states are made of, each alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import a_node, a_notice, a_run, a_task, at, some_nodes
from hai_scheduler.core.endings import Ending, ending_of
from hai_scheduler.core.ledger import Ledger
from hai_scheduler.core.model import NodeMark, Priority, Profile, RankState, TaskState
from hai_scheduler.core.order import places, queue_key
from hai_scheduler.core.placement import place
from hai_scheduler.core.reasons import Reason

LOW, NORMAL, HIGH = Priority.LOW, Priority.NORMAL, Priority.HIGH


def test_a_gang_has_all_its_nodes_or_none() -> None:
    assert place(("node-3", "node-1", "node-2"), 2) == ("node-1", "node-3"), "preferred ones, in rank order by name"
    assert place(("node-1",), 2) is None


def test_places_are_by_submission_then_by_id() -> None:
    late, early, same = a_task(1, place=at(9)), a_task(2, place=at(1)), a_task(3, place=at(1))
    seats = places([late, early, same])
    assert sorted(seats, key=seats.__getitem__) == [2, 3, 1]


def test_a_users_own_order_deals_out_his_own_places_alone() -> None:
    anns = [a_task(1, user="ann", place=at(1), custom_rank=2), a_task(3, user="ann", place=at(3), custom_rank=1)]
    bobs = a_task(2, user="bob", place=at(2))
    seats = places([*anns, bobs])
    assert sorted(seats, key=seats.__getitem__) == [3, 2, 1]
    assert seats[bobs.id] == (at(2), bobs.id)


def test_a_higher_level_goes_first_whatever_the_place() -> None:
    assert queue_key(HIGH, (at(9), 2)) < queue_key(NORMAL, (at(1), 1))


def test_a_ledger_knows_free_leaving_and_promised_nodes() -> None:
    leaver = a_task(1, state=TaskState.SUSPENDING, run=a_run(notice=a_notice()))
    ledger = Ledger(some_nodes(3), [leaver])
    mine, other = a_task(2), a_task(3)
    assert (ledger.free_for(mine, NORMAL), ledger.coming_for(mine, NORMAL)) == (["node-2", "node-3"], ["node-1"])
    ledger.promise(["node-1", "node-3"], mine.id, NORMAL)
    assert ledger.promised_to(mine.id) == ["node-1", "node-3"]
    assert ledger.free_for(mine, NORMAL) == ["node-3", "node-2"], "its own promise first"
    assert ledger.free_for(other, NORMAL) == ["node-2"], "B3: nobody of equal priority"
    assert ledger.free_for(other, HIGH) == ["node-2", "node-3"], "B3: a strictly higher task may"
    victim = replace(other, run=a_run(3, notice=a_notice(beneficiary=mine.id)))
    assert ledger.free_for(victim, HIGH) == ["node-2"], "P5: but not the one that left for it"
    ledger.take(["node-2"])
    assert ledger.free_for(mine, NORMAL) == ["node-3"]


def test_a_ledger_opens_no_node_that_is_marked_lost_or_avoided() -> None:
    nodes = (a_node("a", mark=NodeMark.CORDONED), a_node("b", ready=False), a_node("c"), a_node("d"))
    task = a_task(avoid=frozenset({"c"}))
    ledger = Ledger(nodes, [])
    assert ledger.free_for(task, HIGH) == ledger.usable(task, "abcde") == ["d"]


def ended(profile: Profile, codes: list[int], *, told: bool, state: TaskState = TaskState.SUSPENDING) -> Ending:
    run = a_run(nodes=len(codes), notice=a_notice() if told else None)
    ranks = tuple(
        replace(rank, state=RankState.EXITED, exit_code=code) for rank, code in zip(run.ranks, codes, strict=True)
    )
    run = replace(run, ranks=ranks)
    return ending_of(a_task(1, state=state, nodes=len(codes), profile=profile, run=run), run)


@pytest.mark.parametrize(
    ("profile", "code", "state", "clean"),
    [
        (Profile.SIGTERM, 0, TaskState.SUSPENDED, True),
        (Profile.SIGTERM, 143, TaskState.SUSPENDED, True),
        (Profile.SIGTERM, 1, TaskState.SUSPENDED, False),
        (Profile.SLURM, 138, TaskState.SUSPENDED, True),
        (Profile.SLURM, 75, TaskState.SUSPENDED, False),
        (Profile.KILL, 0, TaskState.SUSPENDED, False),
        (Profile.COOPERATIVE, 0, TaskState.SUCCEEDED, None),
        (Profile.COOPERATIVE, 1, TaskState.FAILED, None),
    ],
)
def test_an_exit_after_the_notice_means_what_the_profile_says(
    profile: Profile, code: int, state: TaskState, clean: bool | None
) -> None:
    found = ended(profile, [0, code], told=True)
    assert (found.state, found.clean) == (state, clean)


def test_without_a_notice_an_exit_is_an_ending() -> None:
    assert ended(Profile.SIGTERM, [0, 0], told=False) == Ending(TaskState.SUCCEEDED, Reason.SUCCEEDED)
    assert ended(Profile.SIGTERM, [0, 143], told=False) == Ending(TaskState.FAILED, Reason.FAILED)
    assert ended(Profile.SIGTERM, [143], told=True, state=TaskState.STOPPING).state is TaskState.STOPPED
