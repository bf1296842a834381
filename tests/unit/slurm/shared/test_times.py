"""Points in time as `sacct --starttime` takes them."""

from __future__ import annotations

from datetime import datetime

import pytest

from hai_slurm.shared.getting import BadOption
from hai_slurm.shared.times import point_of

NOW = datetime.fromisoformat("2026-11-27T22:30:15").astimezone()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-01-31", "2026-01-31T00:00:00"),
        ("2026-01-31T08:00", "2026-01-31T08:00:00"),
        ("2026-01-31T08:00:01", "2026-01-31T08:00:01"),
        ("2026-01", "2026-01-01T00:00:00"),
        ("now", "2026-11-27T22:30:15"),
        ("now-2days", "2026-11-25T22:30:15"),
        ("now-1hour", "2026-11-27T21:30:15"),
        ("now+10", "2026-11-27T22:30:25"),
        ("now-2weeks", "2026-11-13T22:30:15"),
        ("today", "2026-11-27T00:00:00"),
        ("midnight", "2026-11-27T00:00:00"),
        ("noon", "2026-11-27T12:00:00"),
        ("tomorrow", "2026-11-28T00:00:00"),
        ("08:15", "2026-11-27T08:15:00"),
        ("8:15:30 pm", "2026-11-27T20:15:30"),
        ("12:01AM", "2026-11-27T00:01:00"),
        ("04/20", "2026-04-20T00:00:00"),
        ("04/20/25", "2025-04-20T00:00:00"),
        ("04/20-06:30", "2026-04-20T06:30:00"),
        ("04.20.25", "2025-04-20T00:00:00"),
        ("0420", "2026-04-20T00:00:00"),
        ("042025", "2025-04-20T00:00:00"),
    ],
)
def test_slurms_notations(text: str, found: str) -> None:
    assert point_of(text, "starttime", now=NOW) == datetime.fromisoformat(found).astimezone()


@pytest.mark.parametrize(
    "text", ["", "soon", "2026-99-01", "now-", "25:00", "13:00 pm", "now-999999999weeks", "1h", "०१/०२"]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(BadOption, match="--endtime="):
        point_of(text, "endtime", now=NOW)
