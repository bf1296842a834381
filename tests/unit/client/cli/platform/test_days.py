"""Days and months of reports as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hai_client.cli.platform.days import read_range
from hai_client.errors import Invalid

NOW = datetime(2026, 11, 23, 5, 20, 30, tzinfo=UTC)


def day(month: int, number: int, hour: int = 0) -> datetime:
    return datetime(2026, month, number, hour, tzinfo=UTC)


@pytest.mark.parametrize(
    ("since", "until", "begin", "end"),
    [
        (None, None, day(11, 1), NOW),
        ("2026-11-03", None, day(11, 3), NOW),
        ("2026-11-03", "2026-11-03", day(11, 3), day(11, 4)),
        ("2026-10", "2026-10", day(10, 1), day(11, 1)),
        ("2026-02", "2026-02", day(2, 1), day(3, 1)),
        ("2025-12", "2026-11", datetime(2025, 12, 1, tzinfo=UTC), NOW),
        (None, "2026-09", day(9, 1), day(10, 1)),
        (None, "2026-09-15", day(9, 1), day(9, 16)),
        ("today", None, day(11, 23), NOW),
        ("yesterday", "yesterday", day(11, 22), day(11, 23)),
        ("Yesterday", "now", day(11, 22), NOW),
        ("7d", None, NOW.replace(day=16), NOW),
        ("2w", "7d", NOW.replace(day=9), NOW.replace(day=16)),
        ("2026-11-01", "2027-01-01", day(11, 1), NOW),
    ],
)
def test_times_are_from_the_first_day_to_the_end_of_the_last(
    since: str | None, until: str | None, begin: datetime, end: datetime
) -> None:
    assert read_range(since, until, NOW) == (begin, end)


@pytest.mark.parametrize(
    ("since", "until", "complaint"),
    [
        ("2026-11-24", None, "from: '2026-11-24' is in the future"),
        (None, "2027-03", "to: '2027-03' is in the future"),
        ("2026-11-05", "2026-11-04", "from: '2026-11-05' is after the end of '2026-11-04'"),
        ("2026-13", None, "from: '2026-13' is not a month of the calendar"),
        ("2026-02-29", None, "from: '2026-02-29' is not a day of the calendar"),
        ("0001-01-01", None, "from: '0001-01-01' is not a day of the calendar"),
        ("9999-12", None, "from: '9999-12' is not a month of the calendar"),
        ("11/01/2026", None, "from: '11/01/2026' is not a day"),
        ("7", None, "from: '7' is not a day"),
        ("", None, "from: '' is not a day"),
        ("99999d", None, "from: '99999d' is not a day"),
    ],
)
def test_what_is_no_past_time_is_refused(since: str | None, until: str | None, complaint: str) -> None:
    with pytest.raises(Invalid) as found:
        read_range(since, until, NOW)
    assert found.value.message.startswith(complaint)
