"""The numbers by which each discipline orders tasks and ends turns (O2, P2, P4, B2; docs/simulator.md)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.fair_share import FairShare
from hai_scheduler.core.ordering.rules import RULES, Rules
from kit.builders import a_use
from unit.core.tables import HIGH, LOW, NORMAL, NOW, ago, for_minutes, runs, shares, turn_of, waits

#: Queues begin at 30 and 90 minutes; of HAI a turn lasts 15 minutes at least.
POLICY = Policy(long_after=for_minutes(90), starve_after=for_minutes(600), min_run_per_switch=2.0)
UNKNOWN = float("inf")


def rules(discipline: Discipline, **left: float) -> Rules:
    """The rules at `NOW`; `left` has the minutes that tasks are known to run still, by `t<id>`."""
    remaining = {TaskId(int(name[1:])): for_minutes(minutes) for name, minutes in left.items()}
    use = FairShare((a_use("ann", at=NOW),), (), POLICY, NOW)
    return RULES[discipline](POLICY, NOW, use, remaining)


def served(minutes: float, nodes: int = 1, **fields: object) -> Task:
    return waits(1, nodes, served=for_minutes(minutes), **fields)


STARVES, LATE = {"waiting_since": ago(600.1)}, {"waiting_since": ago(600)}


@pytest.mark.parametrize(
    ("discipline", "task", "rank"),
    [
        (Discipline.HAI, served(29), 0),
        (Discipline.HAI, served(30), 1),
        (Discipline.HAI, served(90), 2),
        (Discipline.HAI, served(29, 4), 0),
        (Discipline.HAI, served(90, **STARVES), 0),
        (Discipline.HAI, served(90, **LATE), 2),
        (Discipline.LAS, served(29), 0),
        (Discipline.LAS, served(15, 2), 1),
        (Discipline.LAS, served(45, 2), 2),
        (Discipline.LAS, served(60, gpus=4), 1),
        (Discipline.LAS, served(59, gpus=4), 0),
        (Discipline.FIFO, served(90), 0),
        (Discipline.BACKFILL, served(90), 0),
        (Discipline.SJF, served(90), 600),
        (Discipline.SRTF, served(90), 600),
    ],
)
def test_a_waiting_task_has_the_rank(discipline: Discipline, task: Task, rank: float) -> None:
    assert rules(discipline, t1=10).precedences([task]) == [rank]


def test_a_task_of_unknown_length_is_behind_all_others() -> None:
    assert rules(Discipline.SJF, t2=1).precedences([waits(1), waits(2)]) == [UNKNOWN, 60]


@pytest.mark.parametrize(
    ("discipline", "task", "rank", "minutes"),
    [
        (Discipline.LAS, runs(1, "node-1", minutes=31), 0, 0),
        (Discipline.LAS, runs(1, "node-1", minutes=29), 0, None),
        (Discipline.LAS, runs(1, "node-1", minutes=31), 1, None),
        (Discipline.LAS, runs(1, "node-1", "node-2", minutes=16), 0, 0),
        (Discipline.LAS, shares(1, {"node-1": (0, 1)}, minutes=100), 0, None),
        (Discipline.LAS, runs(1, "node-1", minutes=20, served=for_minutes(10)), 0, 0),
        (Discipline.LAS, runs(1, "node-1", minutes=90, run={"running_at": None}), 0, None),
        (Discipline.SRTF, runs(1, "node-1"), 599, 0),
        (Discipline.SRTF, runs(1, "node-1"), 600, None),
        (Discipline.SJF, runs(1, "node-1"), 0, None),
        (Discipline.FIFO, runs(1, "node-1", minutes=900), 0, None),
        (Discipline.HAI, runs(1, "node-1", minutes=20), 0, 10),
    ],
)
def test_the_turn_may_end_for_an_equal_of_that_rank(
    discipline: Discipline, task: Task, rank: float, minutes: float | None
) -> None:
    """In minutes from now."""
    found = rules(discipline, t1=10).equal_at(turn_of(task, POLICY), rank)
    assert found == (None if minutes is None else NOW + for_minutes(minutes))


@pytest.mark.parametrize(
    ("discipline", "task", "times"),
    [
        (Discipline.HAI, runs(1, "node-1", minutes=20), [10, 10, 10]),
        (Discipline.HAI, runs(1, "node-1", minutes=10, served=for_minutes(30)), [5, 50, 50]),
        (Discipline.LAS, runs(1, "node-1", minutes=20), [10, 70]),
        (Discipline.LAS, runs(1, "node-1", "node-2", minutes=10), [5, 35]),
        (Discipline.LAS, runs(1, "node-1", minutes=20, served=for_minutes(4)), [6, 66]),
        (Discipline.LAS, shares(1, {"node-1": (0, 1, 2, 3)}, minutes=20), [40, 160]),
        (Discipline.LAS, runs(1, "node-1", run={"running_at": None}), []),
        (Discipline.SRTF, runs(1, "node-1"), []),
        (Discipline.FIFO, runs(1, "node-1"), []),
    ],
)
def test_time_alone_changes_for_whom_a_turn_may_end(discipline: Discipline, task: Task, times: list[float]) -> None:
    """In minutes from now, for waiting tasks of the ranks 0, 1 and 2."""
    found = rules(discipline, t1=10).changes_at(turn_of(task, POLICY), (0, 1, 2))
    assert [(when - NOW).total_seconds() / 60 for when in found] == times


def test_a_turn_that_stays_until_a_save_changes_at_no_time() -> None:
    policy = replace(POLICY, max_unsaved=1)
    made = RULES[Discipline.HAI](policy, NOW, FairShare((), (), policy, NOW), {})
    turn = turn_of(runs(1, "node-1", unsaved=1), policy)
    assert made.stays(turn)
    assert list(made.changes_at(turn, (0, 1))) == []
    assert not made.stays(turn_of(runs(1, "node-1"), policy))


@pytest.mark.parametrize("discipline", Discipline)
def test_turns_stay_where_no_turn_ends_for_an_equal(discipline: Discipline) -> None:
    rotates = {Discipline.HAI, Discipline.LAS, Discipline.SRTF}
    assert rules(discipline).stays(turn_of(runs(1, "node-1"), POLICY)) == (discipline not in rotates)


@pytest.mark.parametrize(
    ("discipline", "harm"),
    [
        (Discipline.HAI, (NORMAL, -1, 2 * 3600.0)),
        (Discipline.FIFO, (NORMAL, 2 * 3600.0)),
        (Discipline.LAS, (NORMAL, -(2 * 600.0))),
        (Discipline.SRTF, (NORMAL, -600.0)),
    ],
)
def test_the_end_of_a_turn_does_harm(discipline: Discipline, harm: tuple[float, ...]) -> None:
    """A gang of two nodes that has run for an hour, after ten minutes before; it runs for ten minutes still."""
    turn = turn_of(runs(1, "node-1", "node-2", minutes=60, served=for_minutes(10)), POLICY)
    found = rules(discipline, t1=10).harm_of(turn)
    assert found.order == harm
    assert found.started == -turn.run.started_at.timestamp()
    assert found.task_id == 1


@pytest.mark.parametrize(
    ("level", "reason"),
    [(HIGH, Reason.PREEMPTED), (NORMAL, Reason.TURN_OVER), (LOW, None)],
    ids=["higher", "equal", "lower"],
)
def test_the_reason_follows_from_the_priorities(level: object, reason: Reason | None) -> None:
    turn = turn_of(runs(1, "node-1", minutes=31), POLICY)
    assert rules(Discipline.HAI).reason(turn, level, 0) is reason  # type: ignore[arg-type]


#: When a task left for equals four times.
LATELY, EARLIER, LONG_AGO = (tuple(map(ago, times)) for times in ((50, 40, 30, 20), (59, 58, 57, 56), (90, 80, 75, 70)))


@pytest.mark.parametrize(
    ("sentence", "fields", "rank", "minutes"),
    [
        ("a new one after its slice", {}, 0, 30),
        ("one that rises within the least time", {"served": for_minutes(15)}, 0, 15),
        ("one that does not quite", {"served": for_minutes(14)}, 0, 30),
        ("one of the same level after its longer slice", {"served": for_minutes(40)}, 1, 60),
        ("one that rises to level 2 within the least time", {"served": for_minutes(75)}, 1, 15),
        ("not before it was worth its cost", {"served": for_minutes(40), "leaving_took": for_minutes(10)}, 0, 20),
        ("not while it is protected", {"served": for_minutes(40), "rotations": LATELY}, 0, 40),
        ("a slice if that is longer than the protection", {"rotations": EARLIER}, 0, 30),
        ("it is protected no longer", {"served": for_minutes(40), "rotations": LONG_AGO}, 0, 15),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_task_that_passes_the_head_gives_back(
    sentence: str, fields: dict[str, object], rank: float, minutes: float
) -> None:
    """In minutes after its start."""
    policy = replace(POLICY, max_rotations=4)
    made = RULES[Discipline.HAI](policy, NOW, FairShare((), (), policy, NOW), {})
    assert made.gives_back(waits(1, **fields), rank) == for_minutes(minutes), sentence


def test_only_hai_gives_back_and_not_before_a_save() -> None:
    assert rules(Discipline.LAS).gives_back(waits(1), 0) is None
    policy = replace(POLICY, max_unsaved=1)
    made = RULES[Discipline.HAI](policy, NOW, FairShare((), (), policy, NOW), {})
    assert made.gives_back(waits(1, unsaved=1), 0) is None


def test_only_hai_orders_by_use_and_lets_tasks_starve() -> None:
    hai, fifo = rules(Discipline.HAI), rules(Discipline.FIFO)
    assert (hai.use_of("ann"), hai.use_of("bob"), fifo.use_of("ann")) == (3600, 0, 0)
    assert fifo.pace_of("ann") == 0
    assert (hai.precedence_until(waits(1)), fifo.precedence_until(waits(1))) == (in_minutes(600), None)


def in_minutes(minutes: float) -> datetime:
    return NOW + for_minutes(minutes)
