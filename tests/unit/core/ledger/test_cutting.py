"""Rows of runs: what of their time was what, cut at midnight."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.ledger.cutting import LONGEST, GpuUse, facts_of
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.row import LedgerOutcome, LedgerRow, counted_as
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run
from kit.builders import T0, a_notice, a_run, a_task, at
from kit.ledger import check_run, ended_rows, rows_for

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def phases(row: LedgerRow) -> tuple[float, float, float, float]:
    """Starting, useful, saving and lost, in seconds."""
    return tuple([span / SECOND for span in (row.starting, row.useful, row.saving, row.lost)])  # type: ignore[return-value]


CASES: list[tuple[str, dict[str, object], tuple[float, float, float, float]]] = [
    ("it ended by itself", {"ended_at": at(100)}, (10, 90, 0, 0)),
    ("it was never up", {"running_at": None, "ended_at": at(100), "reason": Reason.START_FAILED}, (100, 0, 0, 0)),
    (
        "it saved after its notice",
        {"notice": a_notice(at=at(80)), "ended_at": at(100), "reason": Reason.TURN_OVER, "lost": timedelta(0)},
        (10, 70, 20, 0),
    ),
    (
        "it did not save: what came after its checkpoint is lost, the notice too",
        {"notice": a_notice(at=at(80)), "ended_at": at(100), "reason": Reason.TURN_OVER, "lost": 60 * SECOND},
        (10, 60, 0, 30),
    ),
    (
        "it saved after its notice, and stayed until it was ended",
        {"notice": a_notice(at=at(80)), "ended_at": at(100), "reason": Reason.TURN_OVER, "lost": 10 * SECOND},
        (10, 70, 15, 5),
    ),
    ("all was lost", {"ended_at": at(100), "reason": Reason.NODE_LOST, "lost": 180 * SECOND}, (10, 0, 0, 90)),
    ("more was lost than there was", {"ended_at": at(100), "lost": 999 * SECOND}, (10, 0, 0, 90)),
    ("a clock was set back", {"ended_at": at(-5)}, (0, 0, 0, 0)),
    ("it was up before it began", {"running_at": at(-5), "ended_at": at(100)}, (0, 100, 0, 0)),
    ("it was told to leave before it was up", {"notice": a_notice(at=at(5)), "ended_at": at(100)}, (10, 0, 90, 0)),
    ("it was told to leave after its end", {"notice": a_notice(at=at(500)), "ended_at": at(100)}, (10, 90, 0, 0)),
    ("it goes on", {}, (10, 40, 0, 0)),
    ("it goes on, and saves", {"notice": a_notice(at=at(30))}, (10, 20, 20, 0)),
]


@pytest.mark.parametrize(("why", "fields", "expected"), CASES, ids=[case[0] for case in CASES])
def test_what_of_a_run_was_what(why: str, fields: dict[str, object], expected: tuple[float, ...]) -> None:
    run = a_run(1, nodes=2, **{"started_at": at(), "running_at": at(10), **fields})
    (row,) = rows_for(run, until=at(50))
    assert phases(row) == expected, why
    assert sum(phases(row)) == row.length / SECOND


def test_a_run_over_days_has_a_row_for_each() -> None:
    midnight = datetime(2026, 1, 6, tzinfo=UTC)
    rows = ended_rows(hours=24 * 2)
    assert [(row.part, row.started_at, row.ended_at) for row in rows] == [
        (1, T0, midnight),
        (2, midnight, midnight + 24 * HOUR),
        (3, midnight + 24 * HOUR, at(hours=48)),
    ]
    assert [(row.last, row.outcome) for row in rows] == [
        (False, LedgerOutcome.SUCCEEDED),
        (False, LedgerOutcome.SUCCEEDED),
        (True, LedgerOutcome.SUCCEEDED),
    ]


def test_a_run_that_ends_at_midnight_has_no_empty_row() -> None:
    assert [row.length for row in ended_rows(hours=16)] == [16 * HOUR]
    assert [row.length for row in ended_rows(hours=24, since=at(hours=16))] == [24 * HOUR]


def test_what_was_lost_was_lost_on_the_days_before_too() -> None:
    rows = ended_rows(hours=20, reason=Reason.NODE_LOST, lost=10 * HOUR)
    assert [(row.useful / HOUR, row.lost / HOUR) for row in rows] == [(10, 6), (0, 4)]


def test_a_run_of_absurd_length_has_a_bounded_number_of_rows() -> None:
    rows = ended_rows(hours=24 * 365 * 50)
    assert len(rows) <= LONGEST.days + 1
    assert sum((row.length for row in rows), timedelta(0)) == LONGEST


def test_what_was_measured_is_spread_over_the_parts_to_the_last_joule() -> None:
    use = GpuUse(idle=timedelta(microseconds=1_000_003), energy_j=1_000_003)
    rows = rows_for(a_run(1, started_at=T0, ended_at=at(hours=50)), use=use)
    assert sum((row.idle for row in rows), timedelta(0)) == use.idle
    assert sum(row.energy_j or 0 for row in rows) == use.energy_j
    assert rows_for(a_run(1, started_at=T0, ended_at=T0), use=use)[0].energy_j == use.energy_j
    assert rows_for(a_run(1, started_at=T0, ended_at=T0))[0].energy_j is None, "not known is not 0"


@pytest.mark.parametrize(
    ("minutes", "reason", "short"),
    [
        (14, Reason.SUCCEEDED, True),
        (14, Reason.FAILED, True),
        (14, Reason.USER_STOPPED, True),
        (15, Reason.SUCCEEDED, False),
        (14, Reason.PREEMPTED, False),
        (14, Reason.NODE_LOST, False),
    ],
)
def test_short_runs(minutes: int, reason: Reason, short: bool) -> None:
    assert ended_rows(hours=minutes / 60, reason=reason)[-1].short is short


def test_a_run_over_midnight_is_short_by_its_whole_length() -> None:
    assert [row.short for row in ended_rows(hours=0.2, since=at(hours=15.9))] == [False, True]
    assert [row.short for row in ended_rows(hours=0.3, since=at(hours=15.9))] == [False, False]


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_counted_as_something(reason: Reason) -> None:
    expected = {
        Reason.SUCCEEDED: LedgerOutcome.SUCCEEDED,
        Reason.FAILED: LedgerOutcome.FAILED,
        Reason.TIME_LIMIT: LedgerOutcome.FAILED,
        Reason.USER_STOPPED: LedgerOutcome.STOPPED,
        Reason.OWNER_ARCHIVED: LedgerOutcome.STOPPED,
        Reason.NODE_LOST: LedgerOutcome.BROKEN,
        Reason.SUPERVISOR_KILLED: LedgerOutcome.BROKEN,
        Reason.RESTORED: LedgerOutcome.BROKEN,
        Reason.START_FAILED: LedgerOutcome.BROKEN,
    }
    assert counted_as(reason) is expected.get(reason, LedgerOutcome.INTERRUPTED)


@pytest.mark.parametrize(
    ("asked", "nodes", "expected"),
    [(None, 2, (16, 0)), (8, 1, (8, 0)), (3, 2, (6, 8)), (1, 1, (1, 8))],
)
def test_gpus_of_a_run(asked: int | None, nodes: int, expected: tuple[int, int]) -> None:
    task, run = a_task(gpus=asked, nodes=nodes), a_run(1, nodes=nodes)
    facts = facts_of(task, run, kind=WorkKind.TASK, groups=frozenset(), gpus={"training": 8})
    assert (facts.gpus, facts.node_gpus) == expected


def test_where_the_gpus_of_a_node_are_not_known_a_run_counts_whole_nodes() -> None:
    facts = facts_of(a_task(gpus=3), a_run(1), kind=WorkKind.TASK, groups=frozenset(), gpus={})
    assert (facts.gpus, facts.node_gpus) == (3, 0)
    facts = facts_of(a_task(), a_run(1), kind=WorkKind.TASK, groups=frozenset(), gpus={})
    assert (facts.gpus, facts.nodes) == (0, 1)


moments = st.integers(-100, 400_000_000_000).map(lambda micro: T0 + timedelta(microseconds=micro))


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Any run, with times in any order."""
    run = a_run(1, nodes=draw(st.integers(1, 5)), started_at=draw(moments), running_at=draw(st.none() | moments))
    if draw(st.booleans()):
        run = replace(run, notice=a_notice(at=draw(moments)))
    if draw(st.booleans()):
        end = draw(moments)
        reason = draw(st.sampled_from(list(Reason)))
        whole = max(timedelta(0), end - max(run.running_at or end, run.started_at))
        lost = draw(st.none() | st.timedeltas(timedelta(0), whole).map(lambda span: span * len(run.ranks)))
        run = replace(run, ended_at=end, reason=reason, lost=lost)
    return run


@given(runs(), moments)
def test_the_rows_of_any_run_are_the_run(run: Run, until: datetime) -> None:
    check_run(run, rows_for(run, until=until))
