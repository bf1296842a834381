"""The facts of a turn: from when it may end, what its end costs, and what protects it (O2, O4, P2, P4, P6, P7, P8)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.turns import Turn, keeps, protected_until, slice_left, slice_of, work_lost
from kit.builders import a_checkpoint, a_node, a_run
from unit.core.tables import ABOVE, NORMAL, NOW, ago, for_minutes, runs, shares, turn_of, waits

#: A turn lasts 10 minutes at least and 20 as a rule; from 60 minutes of service on a task is of level 2.
POLICY = Policy(
    min_run=for_minutes(10),
    slice=for_minutes(20),
    long_after=for_minutes(60),
    slice_growth=3.0,
    min_run_per_switch=2.0,
    max_rotations=2,
    demote_after=for_minutes(30),
    default_grace=for_minutes(1),
)


def turn(minutes: float = 5, **fields: object) -> Turn:
    return turn_of(runs(1, "node-1", minutes=minutes, **fields), POLICY)  # type: ignore[arg-type]


def after(minutes: float) -> object:
    """The time this number of minutes after the beginning of `turn()`."""
    return ago(5) + for_minutes(minutes)


@pytest.mark.parametrize(
    ("served", "minutes", "level"),
    [(0, 19, 0), (0, 20, 1), (15, 4, 0), (15, 5, 1), (0, 59, 1), (0, 60, 2), (50, 10, 2), (50, 9, 1)],
)
def test_the_level_goes_by_the_service_with_this_turn(served: float, minutes: float, level: int) -> None:
    assert turn(minutes, served=for_minutes(served)).level(POLICY, NOW) == level


def test_a_turn_that_has_not_begun_is_of_the_level_of_its_task() -> None:
    starting = turn(40, served=for_minutes(25), run={"running_at": None})
    assert starting.level(POLICY, NOW) == 1
    assert turn(40, run={"running_at": None}).level(POLICY, NOW) == 0


RISEN = {"served": for_minutes(30)}


@pytest.mark.parametrize(
    ("sentence", "fields", "level", "minutes"),
    [
        ("new for new, after the slice", {}, 0, 20),
        ("new for level 1, after the slice", {}, 1, 20),
        ("new for level 2, after the slice", {}, 2, 20),
        ("it rises to level 1 in its turn", {"served": for_minutes(5)}, 0, 15),
        ("it rises at once, and stays for the least time", {"served": for_minutes(15)}, 0, 10),
        ("it has risen before", {"served": for_minutes(30)}, 0, 10),
        ("it rises to level 2 in its turn", {"served": for_minutes(45)}, 1, 15),
        ("level 1 for level 1, after its longer slice", {"served": for_minutes(20)}, 1, 40),
        ("level 1 for level 2, after its longer slice", {"served": for_minutes(45)}, 2, 60),
        ("level 2 for level 2, after the longest slice", {"served": for_minutes(60)}, 2, 180),
        (
            "what it costs protects it",
            {**RISEN, "leaving_took": for_minutes(4), "starting_took": for_minutes(3)},
            0,
            14,
        ),
        ("it protects a new one, if it is more than a slice", {"leaving_took": for_minutes(12)}, 0, 24),
        ("a cost below the least time does not count", {**RISEN, "leaving_took": for_minutes(4)}, 0, 10),
        ("who left twice in an hour is protected", {**RISEN, "rotations": (ago(50), ago(20))}, 0, 45),
        ("that protection has passed", {**RISEN, "rotations": (ago(90), ago(62))}, 0, 10),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_turn_may_end_for_an_equal(sentence: str, fields: dict[str, object], level: int, minutes: float) -> None:
    """In minutes after its beginning."""
    assert turn(**fields).free_at(level, POLICY) == after(minutes), sentence  # type: ignore[arg-type]


def test_a_turn_that_stays_until_a_save_ends_for_no_equal() -> None:
    policy = replace(POLICY, max_unsaved=2)
    kept = turn_of(runs(1, "node-1", unsaved=2), policy)
    assert [kept.free_at(level, policy) for level in (0, 1, 2)] == [None, None, None]


@pytest.mark.parametrize(("most", "unsaved", "kept"), [(0, 5, False), (3, 2, False), (3, 3, True), (3, 4, True)])
def test_who_was_interrupted_too_often_without_a_save_stays(most: int, unsaved: int, kept: bool) -> None:
    assert keeps(waits(1, unsaved=unsaved), replace(POLICY, max_unsaved=most)) == kept


@pytest.mark.parametrize(
    ("sentence", "rotations", "until"),
    [
        ("once is not too often", (10,), None),
        ("twice within an hour", (70, 10), 10),
        ("twice in more than an hour", (70.1, 10), None),
        ("the last two count", (200, 40, 10), 10),
        ("not the first two", (80, 70, 5), None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_who_left_for_equals_too_often_is_protected_for_an_hour(
    sentence: str, rotations: tuple[float, ...], until: float | None
) -> None:
    task = waits(1, rotations=tuple(map(ago, rotations)))
    expected = None if until is None else ago(until) + for_minutes(60)
    assert protected_until(task, POLICY) == expected, sentence


@pytest.mark.parametrize(
    ("sentence", "fields", "passed", "left"),
    [
        ("it has just begun", {}, 0, 20),
        ("some of the slice is over", {}, 15, 5),
        ("the slice is over", {}, 20, 0),
        ("and no less than nothing is left", {}, 500, 0),
        ("a long task has a longer slice", {"served": for_minutes(60)}, 0, 180),
        ("who was asked to leave too often is protected", {"rotations": (ago(10), ago(5))}, 30, 55),
        ("who cannot save is asked by no equal", {"unsaved": POLICY.max_unsaved}, 5, None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_left_of_a_slice_is_as_the_plan_sees_it(
    sentence: str, fields: dict[str, object], passed: float, left: float | None
) -> None:
    one = turn(passed, **fields)
    found = slice_left(one.task, one.run, POLICY, NOW)
    assert found == (None if left is None else for_minutes(left)), sentence
    if not one.kept:
        assert found == max(for_minutes(0), one.slice_at - NOW), sentence


@pytest.mark.parametrize(("served", "minutes"), [(0, 20), (19, 20), (20, 60), (59, 60), (60, 180)])
def test_the_slice_grows_with_the_level(served: float, minutes: float) -> None:
    assert slice_of(waits(1, served=for_minutes(served)), POLICY) == for_minutes(minutes)


@pytest.mark.parametrize(
    ("sentence", "run", "minutes"),
    [
        ("since its start", {}, 30),
        ("nothing before it is up", {"running_at": None}, 0),
        ("since its checkpoint", {"checkpoint": a_checkpoint(at=ago(10))}, 10),
        ("since its start, if the checkpoint is of an earlier run", {"checkpoint": a_checkpoint(at=ago(50))}, 30),
        ("nothing if the clock of the job is ahead", {"checkpoint": a_checkpoint(at=ago(-5))}, 0),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_work_would_be_lost(sentence: str, run: dict[str, object], minutes: float) -> None:
    assert work_lost(a_run(**{"started_at": ago(30), **run}), NOW) == for_minutes(minutes), sentence  # type: ignore[arg-type]


def test_a_suspension_costs_node_time_and_a_switch() -> None:
    """Of two nodes, and of a quarter of one."""
    cost = {"leaving_took": for_minutes(2), "starting_took": for_minutes(1)}
    node_group = NodeGroup([a_node("node-1"), a_node("node-2")])
    whole = turn_of(runs(1, "node-1", "node-2", minutes=30, **cost), POLICY, node_group=node_group)  # type: ignore[arg-type]
    part = turn_of(shares(1, {"node-1": (0, 1)}, minutes=30, **cost), POLICY, node_group=node_group)
    assert whole.lost(NOW) == 2 * 33 * 60
    assert part.lost(NOW) == 0.25 * 33 * 60
    assert (whole.whole, part.whole) == (True, False)


@pytest.mark.parametrize(("minutes", "counts"), [(29.9, ABOVE), (30, NORMAL), (31, NORMAL)])
def test_above_normal_counts_as_normal_after_a_while(minutes: float, counts: object) -> None:
    assert turn(minutes, level=ABOVE).priority is counts
    assert turn(minutes, level=NORMAL).priority is NORMAL


def test_the_time_limit_counts_what_was_served_before() -> None:
    assert turn(time_limit=for_minutes(50), served=for_minutes(20)).ends_at == after(30)
    assert turn().ends_at is None


@pytest.mark.parametrize(
    ("run", "leaving"), [({}, False), ({"killed_at": NOW}, True)], ids=["it goes on", "it is being ended"]
)
def test_a_run_that_is_being_ended_is_leaving(run: dict[str, object], leaving: bool) -> None:
    assert turn(run=run).leaving == leaving
