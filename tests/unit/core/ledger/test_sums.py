"""Sums: rows are shared out to hours exactly, and any cut of them has the same sum."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.ledger.row import LedgerRow
from hai_scheduler.core.ledger.sums import MEASURES, Sums, by_hour, by_period, total
from hai_scheduler.core.model.reasons import Reason
from kit.builders import T0, a_run, a_task, at
from kit.ledger import ended_rows, rows_for, sums_of_rows

US = timedelta(microseconds=1)
HOUR_US = timedelta(hours=1) // US


def test_a_row_is_shared_out_to_hours_phase_by_phase() -> None:
    run = a_run(
        1,
        nodes=2,
        started_at=at(minutes=50),
        running_at=at(minutes=70),
        ended_at=at(minutes=200),
        reason=Reason.TURN_OVER,
        lost=timedelta(minutes=2 * 80),
    )
    shares = by_hour(rows_for(run)[0])
    minutes = {
        (hour - T0) // timedelta(hours=1): tuple(
            span // 60_000_000 for span in (share.starting_us, share.useful_us, share.lost_us, share.gpu_lost_us)
        )
        for hour, share in shares.items()
    }
    assert minutes == {0: (20, 0, 0, 0), 1: (20, 100, 0, 0), 2: (0, 0, 120, 960), 3: (0, 0, 40, 320)}
    assert [(share.starts, share.ends, share.interruptions) for share in shares.values()] == [
        (1, 0, 0),
        (0, 0, 0),
        (0, 0, 0),
        (0, 1, 1),
    ]


def test_an_end_at_a_full_hour_belongs_to_the_hour_that_begins() -> None:
    shares = by_hour(ended_rows(hours=1)[0])
    assert [(hour, share.ends) for hour, share in sorted(shares.items())] == [(T0, 0), (at(hours=1), 1)]


def test_what_runs_that_failed_took_is_told_beside_the_rest() -> None:
    sums = sums_of_rows(ended_rows(hours=2, reason=Reason.FAILED))
    assert (sums.failures, sums.failed_us, sums.useful_us) == (1, 2 * HOUR_US, 2 * HOUR_US)
    assert sums.gpu_failed_us == sums.gpu_us == 16 * HOUR_US


def test_a_run_without_length_is_counted() -> None:
    sums = sums_of_rows(ended_rows(hours=0, reason=Reason.START_FAILED))
    assert (sums.starts, sums.ends, sums.broken, sums.node_us) == (1, 1, 1, 0)
    assert not sums.nothing


def test_nothing_is_nothing() -> None:
    assert Sums().nothing
    assert (sums_of_rows(ended_rows(hours=1)) - sums_of_rows(ended_rows(hours=1))).nothing
    assert total([]) == Sums()


@st.composite
def rows(draw: st.DrawFn) -> LedgerRow:
    """A row of any run on shared or whole nodes, with odd microseconds."""
    length = draw(st.integers(0, 3 * HOUR_US))
    lost = draw(st.integers(0, length))
    run = a_run(
        1,
        nodes=(nodes := draw(st.integers(1, 3))),
        started_at=T0 + draw(st.integers(0, 2 * HOUR_US)) * US,
        running_at=T0 + draw(st.integers(0, 2 * HOUR_US)) * US,
        reason=draw(st.sampled_from(list(Reason))),
    )
    run = replace(run, ended_at=run.started_at + length * US, lost=lost * nodes * US)
    task = a_task(nodes=nodes, gpus=draw(st.sampled_from([None, 1, 3, 7])), waiting_since=T0)
    return rows_for(run, task=task)[0]


@given(rows())
def test_hours_sum_up_to_the_row_exactly(row: LedgerRow) -> None:
    sums, facts = total(by_hour(row).values()), row.facts
    assert sums.gpu_us == row.length // US * facts.gpus
    assert sums.gpu_lost_us == row.lost // US * facts.gpus
    whole = row.length // US
    assert sums.node_us == (whole * facts.gpus // facts.node_gpus if facts.node_gpus else whole * facts.nodes)
    assert (sums.starts, sums.ends) == (1, 1)
    for hour, share in by_hour(row).items():
        assert begin_of(Period.HOUR, hour) == hour
        assert all(getattr(share, name) >= 0 for name in MEASURES)
        assert share.node_us <= HOUR_US * facts.nodes


@given(st.lists(rows(), max_size=6))
def test_days_and_months_are_the_sums_of_their_hours(some: list[LedgerRow]) -> None:
    hours: dict[datetime, Sums] = {}
    for row in some:
        for hour, share in by_hour(row).items():
            hours[hour] = hours.get(hour, Sums()) + share
    days = by_period(hours, Period.DAY)
    assert total(days.values()) == total(hours.values())
    assert by_period(days, Period.MONTH) == by_period(hours, Period.MONTH)
    assert total(by_period(days, Period.MONTH).values()) == sums_of_rows(some)
