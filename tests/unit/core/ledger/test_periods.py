"""Periods, and how a time is covered with few of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.ledger.periods import Period, Span, begin_of, cover, end_of
from kit.builders import T0

hours = st.integers(0, 24 * 1200).map(lambda count: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=count))


@pytest.mark.parametrize(
    ("period", "begin", "end"),
    [
        (Period.HOUR, datetime(2028, 2, 29, 23, tzinfo=UTC), datetime(2028, 3, 1, tzinfo=UTC)),
        (Period.DAY, datetime(2028, 2, 29, tzinfo=UTC), datetime(2028, 3, 1, tzinfo=UTC)),
        (Period.MONTH, datetime(2028, 2, 1, tzinfo=UTC), datetime(2028, 3, 1, tzinfo=UTC)),
    ],
)
def test_begin_and_end(period: Period, begin: datetime, end: datetime) -> None:
    moment = datetime(2028, 2, 29, 23, 59, 59, 999999, tzinfo=UTC)
    assert (begin_of(period, moment), end_of(period, moment)) == (begin, end)
    elsewhere = moment.astimezone(timezone(timedelta(hours=8)))
    assert begin_of(period, elsewhere) == begin, "days are those of UTC"


def test_long_times_are_months_with_days_and_hours_at_the_edges() -> None:
    since, until = datetime(2026, 1, 30, 22, tzinfo=UTC), datetime(2026, 5, 2, 1, tzinfo=UTC)
    assert list(cover(since, until)) == [
        Span(Period.HOUR, since, datetime(2026, 1, 31, tzinfo=UTC)),
        Span(Period.DAY, datetime(2026, 1, 31, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)),
        Span(Period.MONTH, datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)),
        Span(Period.DAY, datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 2, tzinfo=UTC)),
        Span(Period.HOUR, datetime(2026, 5, 2, tzinfo=UTC), until),
    ]


@given(hours, hours, st.sampled_from(list(Period)))
def test_spans_cover_a_time_without_gap_or_overlap(since: datetime, until: datetime, longest: Period) -> None:
    spans = list(cover(since, until, longest=longest))
    at = since
    for span in spans:
        assert span.since == at
        assert span.until > span.since
        assert span.period <= longest
        assert begin_of(span.period, span.since) == span.since
        assert begin_of(span.period, span.until) == span.until
        at = span.until
    assert at == max(since, until) if spans else since >= until
    assert len(spans) <= 5


def test_only_full_hours_can_be_covered() -> None:
    with pytest.raises(ValueError, match="full hours"):
        list(cover(T0 + timedelta(minutes=30), T0 + timedelta(hours=2)))
