"""Whose turn ends for whom (rules P1 to P8)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.decisions import Suspend
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.verdicts import why
from kit.builders import a_checkpoint, a_node, a_notice, a_run, a_task, a_use
from kit.snapshots import carried_out
from unit.core.tables import (
    ABOVE,
    HIGH,
    LOW,
    NOW,
    ago,
    decide,
    for_minutes,
    kinds,
    leaving,
    runs,
    shares,
    snapshot,
    starts,
    suspends,
    waits,
)

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)

# -- P1 -----------------------------------------------------------------------------------------------


def test_p1_a_higher_task_has_a_lower_one_suspended_at_any_time() -> None:
    there = (runs(1, "node-1", "node-2", minutes=1), runs(2, "node-3", "node-4", minutes=1))
    made = decide(snapshot(*there, waits(3, 2, priority=Priority.VERY_HIGH)))
    assert len(suspends(made)) == 1
    assert made.verdicts[3].kind is VerdictKind.DRAINING
    assert [d.reason for d in made.decisions if isinstance(d, Suspend)] == [Reason.PREEMPTED]


@pytest.mark.parametrize(
    ("sentence", "running"),
    [
        ("that has just begun", runs(1, "node-1", minutes=0)),
        ("whose ranks are not up yet", a_task(1, state=TaskState.STARTING, user="user1")),
        ("that costs much to suspend", runs(1, "node-1", minutes=1, leaving_took=HOUR)),
        ("that has been told to leave often", runs(1, "node-1", minutes=1, rotations=(ago(4), ago(3), ago(2), ago(1)))),
        ("of the same user", runs(1, "node-1", minutes=1, user="user2")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_p1_neither_min_run_nor_the_user_protects_a_lower_task(sentence: str, running: Task) -> None:
    assert suspends(decide(snapshot(running, waits(2, priority=HIGH), nodes=1))) == {1: 2}, sentence


@pytest.mark.parametrize("level", Priority, ids=lambda level: level.name)
def test_p1_each_level_is_above_the_one_below_it_and_not_above_itself(level: Priority) -> None:
    higher = min((one for one in Priority if one > level), default=None)
    running = runs(1, "node-1", level=level, minutes=1)
    assert suspends(decide(snapshot(running, waits(2, priority=level), nodes=1))) == {}
    if higher is not None:
        assert suspends(decide(snapshot(running, waits(2, priority=higher), nodes=1))) == {1: 2}


# -- P2: just before, at and after each number --------------------------------------------------------

#: sentence, minutes in the turn, what it had been served before, what the waiting one was served, whether it leaves
TURNS = [
    ("new for new: not before the slice", 29.99, 0, 0, False),
    ("new for new: from the slice on", 30, 0, 0, True),
    ("it rises to level 1 in its turn: then, for a new one", 20, 10, 0, True),
    ("it rises to level 1 in its turn: not a moment before", 19.99, 10, 0, False),
    ("level 1 for new: not before min_run", 14.99, 31, 0, False),
    ("level 1 for new: from min_run on", 15, 31, 0, True),
    ("level 1 for level 1: not after one slice", 30, 31, 31, False),
    ("level 1 for level 1: not before two slices", 59.99, 31, 31, False),
    ("level 1 for level 1: from two slices on", 60, 31, 31, True),
    ("level 1 rises to level 2 in its turn", 20, 220, 31, True),
    ("level 2 for level 1: from min_run on", 15, 240, 31, True),
    ("level 2 for level 1: not before min_run", 14.99, 240, 31, False),
    ("level 2 for level 2: not before four slices", 119.99, 240, 240, False),
    ("level 2 for level 2: from four slices on", 120, 240, 240, True),
    ("new for level 1: not before the slice", 29.99, 0, 31, False),
    ("new for level 1: from the slice of the level at its start", 30, 0, 31, True),
    ("a turn that began at level 0 lasts one slice, though it is at level 1 by then", 30, 29, 31, True),
    ("a turn that began at level 1 lasts two, though it is at level 2 by then", 59.99, 230, 240, False),
]


@pytest.mark.parametrize(
    ("minutes", "before", "waited_with", "told"), [row[1:] for row in TURNS], ids=[row[0] for row in TURNS]
)
def test_p2_a_turn_ends_for_an_equal(minutes: float, before: float, waited_with: float, told: bool) -> None:
    running = runs(1, "node-1", minutes=minutes, served=for_minutes(before))
    made = decide(snapshot(running, waits(2, served=for_minutes(waited_with)), nodes=1))
    assert bool(suspends(made)) is told
    if told:
        assert made.decisions[0] == Suspend(task_id=1, reason=Reason.TURN_OVER, beneficiary=2)
    else:
        assert kinds(made) == {2: VerdictKind.TURN}


def test_p2_who_waits_is_told_when_the_turn_may_end() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=10), waits(2), nodes=1))
    assert made.verdicts[2].earliest_start == made.look_again == NOW + for_minutes(20)


def test_p2_a_turn_begins_when_every_rank_is_up() -> None:
    slow = runs(1, "node-1", minutes=40, run={"running_at": ago(20)})
    assert suspends(decide(snapshot(slow, waits(2), nodes=1))) == {}
    starting = runs(1, "node-1", minutes=30, run={"running_at": None})
    assert suspends(decide(snapshot(starting, waits(2), nodes=1))) == {1: 2}, "one that does not come up has its slice"


def test_p2_the_numbers_are_the_policys() -> None:
    policy = Policy(min_run=for_minutes(1), slice=for_minutes(2), slice_growth=3, long_after=for_minutes(9))
    for minutes, before, told in (
        (1.9, 0, False),
        (2, 0, True),
        (5.9, 2, False),
        (6, 2, True),
        (17.9, 9, False),
        (18, 9, True),
    ):
        running = runs(1, "node-1", minutes=minutes, served=for_minutes(before))
        equal = waits(2, served=for_minutes(before))
        assert bool(suspends(decide(snapshot(running, equal, nodes=1), policy))) is told, (minutes, before)


def test_p2_a_gang_waits_for_as_many_turns_as_it_needs() -> None:
    there = (runs(1, "node-1", minutes=40), runs(2, "node-2", minutes=10))
    made = decide(snapshot(*there, waits(3, 2), nodes=2))
    assert suspends(made) == {}
    assert made.verdicts[3].earliest_start == NOW + for_minutes(20)


# -- P3 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "user", "level", "told"),
    [
        ("never for a task of the same user", "user2", Priority.NORMAL, False),
        ("for one of another", "bob", Priority.NORMAL, True),
        ("one of the same user and lower may leave", "user2", LOW, True),
    ],
)
def test_p3_nobody_leaves_for_his_own_equal(sentence: str, user: str, level: Priority, told: bool) -> None:
    running = runs(1, "node-1", minutes=600, user=user, level=level)
    assert bool(suspends(decide(snapshot(running, waits(2), nodes=1)))) is told, sentence


def test_p3_compares_what_they_count_as_now() -> None:
    """A demoted ABOVE_NORMAL task is no equal of its user's other ABOVE_NORMAL tasks, but of its NORMAL tasks."""
    demoted = runs(1, "node-1", level=ABOVE, minutes=31, user="ann")
    assert suspends(decide(snapshot(demoted, waits(2, user="ann", priority=ABOVE), nodes=1))) == {1: 2}
    assert suspends(decide(snapshot(demoted, waits(2, user="ann"), nodes=1))) == {}


def test_p3_the_user_next_in_line_may_have_what_the_first_may_not() -> None:
    running = runs(1, "node-1", minutes=600, user="ann")
    uses = (a_use("bob", node_seconds=1e9, at=NOW),)
    made = decide(snapshot(running, waits(2, user="ann"), waits(3, user="bob"), nodes=1, uses=uses))
    assert suspends(made) == {1: 3}
    assert made.verdicts[2].position == 1


@pytest.mark.parametrize(("own_gpus", "gives"), [(4, 4), (2, 6)])
def test_p3_a_shared_node_is_freed_by_others_than_the_own_task(own_gpus: int, gives: int) -> None:
    """The own task would be the least harmful to end; it has just saved."""
    saved = {"checkpoint": a_checkpoint(at=NOW)}
    own = shares(1, {"node-1": tuple(range(own_gpus))}, minutes=40, user="ann", run=saved)
    other = shares(2, {"node-1": tuple(range(own_gpus, 8))}, minutes=40)
    assert suspends(decide(snapshot(own, other, waits(3, user="ann", gpus=gives), nodes=1))) == {2: 3}
    assert suspends(decide(snapshot(own, other, waits(3, user="ann", gpus=gives + 1), nodes=1))) == {}
    assert suspends(decide(snapshot(own, other, waits(3, user="bob", gpus=own_gpus), nodes=1))) == {1: 3}


# -- P4 -----------------------------------------------------------------------------------------------

#: sentence, the victim, the one who stays
HARM: list[tuple[str, Task, Task]] = [
    ("the lower priority first", runs(1, "node-1", level=LOW, minutes=300), runs(2, "node-2", minutes=1)),
    (
        "a lower priority comes before a higher level",
        runs(2, "node-2", level=LOW, minutes=1),
        runs(1, "node-1", minutes=900),
    ),
    ("then the higher level", runs(2, "node-2", minutes=50), runs(1, "node-1", minutes=5)),
    (
        "a higher level comes before work that is lost",
        runs(2, "node-2", minutes=20, served=timedelta(hours=5)),
        runs(1, "node-1", minutes=1),
    ),
    (
        "then the one that loses less work",
        runs(2, "node-2", minutes=29, run={"checkpoint": a_checkpoint(at=ago(1))}),
        runs(1, "node-1", minutes=2),
    ),
    (
        "a checkpoint of an earlier run saves nothing of this one",
        runs(1, "node-1", minutes=5, checkpoint=a_checkpoint(at=ago(1))),
        runs(2, "node-2", minutes=6),
    ),
    (
        "what a switch costs is work that is lost",
        runs(2, "node-2", minutes=20),
        runs(1, "node-1", minutes=19, leaving_took=for_minutes(2)),
    ),
    ("then the one that loses less node time", runs(2, "node-2", minutes=5), runs(1, "node-1", minutes=20)),
    ("then the smaller id", runs(1, "node-2", minutes=5), runs(2, "node-1", minutes=5)),
]


@pytest.mark.parametrize(("victim", "stays"), [row[1:] for row in HARM], ids=[row[0] for row in HARM])
def test_p4_victims_are_chosen_to_do_least_harm(victim: Task, stays: Task) -> None:
    urgent = waits(9, 1, priority=Priority.VERY_HIGH)
    assert suspends(decide(snapshot(stays, victim, urgent, nodes=2))) == {victim.id: 9}


def saved(id: int, *names: str, minutes: float = 5) -> Task:  # noqa: A002
    """A running task that has just saved, so that it loses nothing."""
    return runs(id, *names, minutes=minutes, run={"checkpoint": a_checkpoint(at=NOW)})


def test_p4_of_equal_harm_the_one_that_frees_fewest_nodes_beyond_the_need() -> None:
    made = decide(snapshot(saved(1, "node-1", "node-2", "node-3"), saved(2, "node-4"), waits(3, priority=HIGH)))
    assert suspends(made) == {2: 3}


def test_p4_of_equal_harm_and_size_the_one_that_started_last() -> None:
    made = decide(
        snapshot(saved(1, "node-1", minutes=20), saved(2, "node-2", minutes=5), waits(3, priority=HIGH), nodes=2)
    )
    assert suspends(made) == {2: 3}


def test_p4_nobody_is_suspended_for_nothing() -> None:
    small, large = runs(1, "node-1", minutes=1), runs(2, "node-2", "node-3", minutes=2)
    made = decide(snapshot(small, large, waits(3, 2, priority=HIGH), nodes=3))
    assert suspends(made) == {2: 3}, "the small one was taken first and let off again"


def test_p4_free_nodes_are_used_before_anybody_is_told_to_leave() -> None:
    made = decide(snapshot(runs(1, "node-1", level=LOW), runs(2, "node-2", level=LOW), waits(3, 3, priority=HIGH)))
    assert len(suspends(made)) == 1
    made = decide(snapshot(runs(1, "node-1", level=LOW), waits(3, 3, priority=HIGH)))
    assert suspends(made) == {}


def test_p4_nodes_that_are_being_freed_anyway_are_used_first() -> None:
    going = leaving(runs(1, "node-1", level=LOW), None)
    made = decide(snapshot(going, runs(2, "node-2", level=LOW), waits(3, priority=HIGH), nodes=2))
    assert suspends(made) == {}
    assert kinds(made) == {3: VerdictKind.DRAINING}


def test_p4_nobody_is_suspended_unless_the_beneficiary_then_starts() -> None:
    there = (runs(1, "node-1", level=LOW), runs(2, "node-2", level=Priority.EXTREME_HIGH))
    made = decide(snapshot(*there, waits(3, 2, priority=HIGH), nodes=2))
    assert made.decisions == ()
    assert made.verdicts[3].kind is VerdictKind.CAPACITY


def test_p4_nobody_leaves_twice_for_two_who_wait() -> None:
    made = decide(snapshot(runs(1, "node-1", level=LOW), waits(2, priority=HIGH), waits(3, priority=HIGH), nodes=1))
    assert suspends(made) == {1: 2}
    assert made.verdicts[3].kind in (VerdictKind.CAPACITY, VerdictKind.TURN)


# -- P5 -----------------------------------------------------------------------------------------------


def came_back(beneficiary: int) -> Task:
    """An AUTO task that ran at LOW, left for that task and could now run at HIGH."""
    notice = a_notice(Reason.PREEMPTED, at=NOW, beneficiary=beneficiary)
    run = a_run(1, nodes=("node-1",), priority=LOW, ended_at=NOW, notice=notice)
    return a_task(1, user="ann", priority=None, state=TaskState.SUSPENDED, run=run)


def test_p5_planning_again_changes_nothing() -> None:
    shot = snapshot(runs(1, "node-1"), runs(2, "node-2"), waits(3, 2), waits(4, priority=HIGH), nodes=2)
    made = decide(shot)
    assert made.decisions
    assert decide(carried_out(shot, made)).decisions == ()


def test_p5_a_victim_does_not_take_the_promised_nodes_back() -> None:
    made = decide(snapshot(came_back(2), waits(2, promise=frozenset({"node-1"})), nodes=1))
    assert starts(made) == {2: ("node-1",)}


@pytest.mark.parametrize(("minutes", "told"), [(0, False), (14.99, False), (15, True)])
def test_p5_a_victim_may_suspend_its_beneficiary_only_after_min_run(minutes: float, told: bool) -> None:
    made = decide(snapshot(came_back(2), runs(2, "node-1", minutes=minutes), nodes=1))
    assert bool(suspends(made)) is told


def test_p5_another_than_the_victim_may() -> None:
    made = decide(snapshot(came_back(7), runs(2, "node-1", minutes=1), nodes=1))
    assert suspends(made) == {2: 1}


def test_p5_a_third_task_may_take_the_nodes_over_when_it_is_higher() -> None:
    going = leaving(runs(1, "node-1", level=LOW), 2)
    promised = waits(2, promise=frozenset({"node-1"}))
    made = decide(snapshot(going, promised, waits(3, priority=HIGH), nodes=1))
    assert kinds(made)[3] is VerdictKind.DRAINING
    assert kinds(decide(snapshot(going, promised, waits(3), nodes=1)))[2] is VerdictKind.DRAINING


# -- P6 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "cost", "minutes", "told"),
    [
        ("ten times the cost is less than the slice", 2.9, 30, True),
        ("ten times the cost is just the slice", 3, 30, True),
        ("ten times the cost is more: not before", 5, 49.99, False),
        ("ten times the cost is more: then", 5, 50, True),
    ],
)
def test_p6_a_turn_is_worth_what_it_costs(sentence: str, cost: float, minutes: float, told: bool) -> None:
    running = runs(1, "node-1", minutes=minutes, starting_took=for_minutes(cost))
    assert bool(suspends(decide(snapshot(running, waits(2), nodes=1)))) is told, sentence


@pytest.mark.parametrize(("minutes", "told"), [(39.9, False), (40, True)])
def test_p6_the_cost_is_suspend_plus_resume(minutes: float, told: bool) -> None:
    running = runs(1, "node-1", minutes=minutes, starting_took=for_minutes(1), leaving_took=for_minutes(3))
    assert bool(suspends(decide(snapshot(running, waits(2), nodes=1)))) is told


@pytest.mark.parametrize(("minutes", "told"), [(19.9, False), (20, True)])
def test_p6_holds_against_a_task_of_a_lower_level_too(minutes: float, told: bool) -> None:
    running = runs(1, "node-1", minutes=minutes, served=for_minutes(31), starting_took=for_minutes(2))
    assert bool(suspends(decide(snapshot(running, waits(2), nodes=1)))) is told


def test_p6_without_a_measurement_a_switch_costs_nothing() -> None:
    assert suspends(decide(snapshot(runs(1, "node-1", minutes=30), waits(2), nodes=1))) == {1: 2}


def test_p6_the_factor_is_the_policys() -> None:
    running = runs(1, "node-1", minutes=30, starting_took=for_minutes(20))
    assert suspends(decide(snapshot(running, waits(2), nodes=1), Policy(min_run_per_switch=0))) == {1: 2}


# -- P7 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "rotations", "told"),
    [
        ("three times in the hour are fine", (50, 40, 31), True),
        ("four times within an hour protect it", (85, 70, 50, 31), False),
        ("... from the first to the last in just an hour", (91, 70, 50, 31), False),
        ("four times in more than an hour do not", (91.1, 70, 50, 31), True),
        ("until an hour after the last", (119, 100, 80, 60.1), True),
        ("... and not before", (119, 100, 80, 59.9), False),
        ("only the last ones count", (500, 400, 85, 70, 50, 31), False),
    ],
)
def test_p7_four_times_an_hour_protect_for_an_hour(sentence: str, rotations: tuple[float, ...], told: bool) -> None:
    running = runs(1, "node-1", minutes=30, rotations=tuple(ago(one) for one in rotations))
    assert bool(suspends(decide(snapshot(running, waits(2), nodes=1)))) is told, sentence


def test_p7_who_waits_is_told_until_when_it_is_protected() -> None:
    running = runs(1, "node-1", minutes=30, rotations=tuple(ago(one) for one in (80, 60, 50, 31)))
    made = decide(snapshot(running, waits(2), nodes=1))
    assert made.verdicts[2].earliest_start == NOW + for_minutes(29)


def test_p7_another_turn_ends_instead() -> None:
    often = runs(1, "node-1", minutes=30, rotations=tuple(ago(one) for one in (80, 60, 50, 31)))
    made = decide(snapshot(often, runs(2, "node-2", minutes=300), waits(3), nodes=2))
    assert suspends(made) == {2: 3}


def test_p7_the_number_is_the_policys() -> None:
    running = runs(1, "node-1", minutes=30, rotations=(ago(31),))
    assert suspends(decide(snapshot(running, waits(2), nodes=1), Policy(max_rotations=1))) == {}


# -- P8 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "unsaved", "most", "told"),
    [
        ("one interruption without a checkpoint is no pattern", 1, 2, True),
        ("two are", 2, 2, False),
        ("... and more", 7, 2, False),
        ("the number is the policy's", 2, 3, True),
        ("0 switches the rule off", 7, 0, True),
    ],
)
def test_p8_who_never_saves_leaves_for_no_equal(sentence: str, unsaved: int, most: int, told: bool) -> None:
    running = runs(1, "node-1", minutes=3000, unsaved=unsaved)
    made = decide(snapshot(running, waits(2), nodes=1), Policy(max_unsaved=most))
    assert bool(suspends(made)) is told, sentence


def test_p8_a_higher_priority_interrupts_it_all_the_same() -> None:
    running = runs(1, "node-1", minutes=5, unsaved=9)
    assert suspends(decide(snapshot(running, waits(2, priority=HIGH), nodes=1))) == {1: 2}


def test_p8_another_turn_ends_instead() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=300, unsaved=2), runs(2, "node-2", minutes=40), waits(3), nodes=2))
    assert suspends(made) == {2: 3}


def test_p8_who_waits_behind_it_is_told_so() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=300, unsaved=2), waits(2), nodes=1))
    verdict = made.verdicts[2]
    assert (verdict.kind, verdict.earliest_start) == (VerdictKind.CAPACITY, None)
    assert why(ENGLISH, verdict, NOW).endswith(
        "Task 1 keeps its nodes until it saves: it was interrupted 2 times in a row without a checkpoint."
    )


def test_p8_whom_a_higher_priority_keeps_waiting_reads_nothing_of_it() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=300, unsaved=2, level=HIGH), waits(2), nodes=1))
    assert "P8" not in why(ENGLISH, made.verdicts[2], NOW)


def test_p8_such_a_task_gives_no_reserved_node_back() -> None:
    """B2: it could not be told to leave when the head of the queue may start."""
    there = runs(1, "node-1", minutes=0)
    head = waits(2, 2)
    made = decide(snapshot(there, head, waits(3, unsaved=2), nodes=2))
    assert starts(made) == {}
    assert starts(decide(snapshot(there, head, waits(3), nodes=2))) != {}


# -- runs that are told to leave while no task waits --------------------------------------------------


def test_no_turn_ends_while_no_task_waits() -> None:
    nodes = (a_node("node-1"), a_node("node-2"))
    made = decide(snapshot(runs(1, "node-1", minutes=9000), waits(2, held=True), nodes=nodes))
    assert made.decisions == ()
