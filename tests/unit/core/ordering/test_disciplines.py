"""The disciplines that HAI is compared with: which tasks wait, pass others and leave in each of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.rules import RULES
from kit.builders import a_quota
from unit.core.tables import (
    EVERYBODY,
    HIGH,
    LOW,
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

FIFO, BACKFILL, LAS, SJF, SRTF = (
    Discipline.FIFO,
    Discipline.BACKFILL,
    Discipline.LAS,
    Discipline.SJF,
    Discipline.SRTF,
)
OTHERS = [discipline for discipline in Discipline if discipline is not Discipline.HAI]

# -- what all of them share ---------------------------------------------------------------------------


@pytest.mark.parametrize("discipline", Discipline)
def test_a_higher_task_has_a_lower_one_suspended(discipline: Discipline) -> None:
    shot = snapshot(runs(1, "node-1", level=LOW, minutes=1), waits(2, priority=HIGH), nodes=1)
    assert suspends(decide(shot, discipline=discipline)) == {1: 2}


@pytest.mark.parametrize("discipline", Discipline)
def test_quota_gangs_and_order_of_priorities_are_the_same(discipline: Discipline) -> None:
    quotas = (*EVERYBODY, a_quota("user:ann", limit=1))
    tasks = (waits(1, 2, user="ann"), waits(2, 2), waits(3, 1, priority=HIGH))
    made = decide(snapshot(*tasks, nodes=3, quotas=quotas), discipline=discipline)
    assert list(starts(made)) == [3, 2]
    assert kinds(made) == {1: VerdictKind.NEVER}


@pytest.mark.parametrize("discipline", Discipline)
def test_parts_of_nodes_are_packed(discipline: Discipline) -> None:
    made = decide(snapshot(waits(1, gpus=4), waits(2, gpus=4), nodes=2), discipline=discipline)
    assert starts(made) == {1: ("node-1",), 2: ("node-1",)}


@pytest.mark.parametrize("discipline", [FIFO, BACKFILL, SJF])
def test_without_rotation_no_equal_ever_leaves(discipline: Discipline) -> None:
    left = {1: timedelta(hours=99), 2: timedelta(minutes=1)}
    shot = snapshot(runs(1, "node-1", minutes=9999), waits(2), nodes=1, remaining=left)
    made = decide(shot, discipline=discipline)
    assert (suspends(made), kinds(made)) == ({}, {2: VerdictKind.CAPACITY})


# -- FIFO ---------------------------------------------------------------------------------------------


def test_fifo_the_head_of_the_queue_blocks_all_behind_it() -> None:
    shot = snapshot(runs(1, "node-1"), waits(2, 4), waits(3, 1), waits(4, 1, priority=LOW))
    made = decide(shot, discipline=FIFO)
    assert starts(made) == {}
    assert order(made) == [2, 3, 4]


def test_fifo_tasks_before_the_head_start_and_tasks_that_cannot_start_for_themselves_block_no_other() -> None:
    tasks = (waits(1, 1), waits(2, 9), waits(3, 1, held=True), waits(4, 1))
    made = decide(snapshot(*tasks, nodes=4), discipline=FIFO)
    assert set(starts(made)) == {1, 4}


def test_fifo_goes_by_first_submission_whatever_has_been_used_or_served() -> None:
    full = runs(9, "node-1", user="user1")
    shot = snapshot(full, waits(1, served=timedelta(hours=9)), waits(2), nodes=1)
    assert order(decide(shot, discipline=FIFO)) == [1, 2]


# -- EASY backfill ------------------------------------------------------------------------------------

#: The head can have all nodes in ten minutes.
RUNNING = runs(1, "node-1", minutes=50, time_limit=for_minutes(60))

#: sentence, the later task, whether it may start before
EASY: list[tuple[str, Task, bool]] = [
    ("it ends by its time limit before", waits(3, time_limit=for_minutes(9.9)), True),
    ("it ends just then", waits(3, time_limit=for_minutes(10)), True),
    ("it ends after", waits(3, time_limit=for_minutes(10.1)), False),
    ("it has no time limit", waits(3), False),
    ("turns do not end, so it would not give back", waits(3, served=timedelta(hours=9)), False),
]


@pytest.mark.parametrize(("later", "begins"), [row[1:] for row in EASY], ids=[row[0] for row in EASY])
def test_backfill_goes_by_time_limits_alone(later: Task, begins: bool) -> None:
    made = decide(snapshot(RUNNING, waits(2, 4), later), discipline=BACKFILL)
    assert (3 in starts(made)) is begins
    assert made.verdicts[2].earliest_start is not None


def test_backfill_without_known_limits_keeps_nothing() -> None:
    made = decide(snapshot(runs(1, "node-1"), waits(2, 4), waits(3)), discipline=BACKFILL)
    assert set(starts(made)) == {3}


# -- least attained service ---------------------------------------------------------------------------


def test_las_orders_by_node_time_not_by_time() -> None:
    """20 minutes on two nodes are 40 minutes of node time, and that is the second queue."""
    full = runs(9, "node-1", "node-2", level=HIGH)
    wide, long = waits(1, 2, served=for_minutes(20)), waits(2, 1, served=for_minutes(25))
    assert order(decide(snapshot(full, wide, long, nodes=2), discipline=LAS)) == [2, 1]
    assert order(decide(snapshot(full, wide, long, nodes=2))) == [1, 2], "HAI's levels go by time (O2)"


@pytest.mark.parametrize(
    ("sentence", "minutes", "served", "told"),
    [
        ("in the same queue", 29.9, 0, False),
        ("in a lower queue, at once", 30, 0, True),
        ("in a lower queue from before", 0.1, 31, True),
    ],
)
def test_las_suspends_who_has_had_more(sentence: str, minutes: float, served: float, told: bool) -> None:
    running = runs(1, "node-1", minutes=minutes, served=for_minutes(served))
    assert bool(suspends(decide(snapshot(running, waits(2), nodes=1), discipline=LAS))) is told, sentence


# -- those that know ----------------------------------------------------------------------------------

LEFT = {1: timedelta(hours=5), 2: timedelta(hours=2), 3: timedelta(hours=1)}


@pytest.mark.parametrize("discipline", [SJF, SRTF])
def test_the_shortest_goes_first_and_those_of_unknown_length_last(discipline: Discipline) -> None:
    full = runs(9, "node-1", level=HIGH)
    shot = snapshot(full, waits(1), waits(2), waits(3), waits(4), nodes=1, remaining=LEFT)
    assert order(decide(shot, discipline=discipline)) == [3, 2, 1, 4]


@pytest.mark.parametrize(("waiting", "told"), [(2, True), (1, False)])
def test_srtf_suspends_who_takes_longer_at_once(waiting: int, told: bool) -> None:
    running = runs(7, "node-1", minutes=0)
    shot = snapshot(running, waits(waiting), nodes=1, remaining={**LEFT, 7: timedelta(hours=5)})
    assert bool(suspends(decide(shot, discipline=SRTF))) is told


def test_srtf_the_longest_leaves() -> None:
    there = (runs(1, "node-1", minutes=0), runs(2, "node-2", minutes=0))
    shot = snapshot(*there, waits(3), nodes=2, remaining=LEFT)
    assert suspends(decide(shot, discipline=SRTF)) == {1: 3}


@pytest.mark.parametrize("discipline", OTHERS)
def test_the_rule_of_turns_is_hais_alone(discipline: Discipline) -> None:
    """A turn that is over for HAI, of equal length and service: no other discipline ends it."""
    left = {1: timedelta(hours=1), 2: timedelta(hours=1)}
    shot = snapshot(runs(1, "node-1", minutes=29), waits(2), nodes=1, remaining=left)
    assert suspends(decide(shot, discipline=discipline)) == {}


def test_every_discipline_has_its_rules() -> None:
    assert set(RULES) == set(Discipline)
