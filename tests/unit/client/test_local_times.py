"""Times in sentences of the service, which are UTC, as the command shows them: in the reader's time zone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from hai_client.cli.shared.output import local, local_times

NOW = datetime(2026, 11, 21, 18, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _in_shanghai(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("it can keep them until 19:12:01 UTC, in 42 min.", "it can keep them until 03:12:01, in 42 min."),
        ("from 14:00:00 UTC to 15:59 UTC.", "from 2026-11-21 22:00:00 to 2026-11-21 23:59."),
        ("at 2026-12-01 23:30 UTC at the latest", "at 2026-12-02 07:30 at the latest"),
        ("its name is 99:99 UTC, or 2026-13-01 10:00 UTC", "its name is 99:99 UTC, or 2026-13-01 10:00 UTC"),
        ("最迟 19:12:01 UTC（42 分钟后）", "最迟 03:12:01（42 分钟后）"),
        ("needs 2 nodes and 1 is free", "needs 2 nodes and 1 is free"),
    ],
    ids=["today", "another day here", "with a date", "no time", "in Chinese", "none"],
)
def test_they_are_shown_in_local_time(sentence: str, shown: str) -> None:
    assert local_times(sentence, now=NOW) == shown


def test_a_screen_has_one_time_zone(hai, platform) -> None:
    at = datetime.now(UTC).replace(microsecond=0)
    platform.add("digits", state="running", message=f"Running since {at:%H:%M:%S} UTC.", verdict=None)
    out = hai("status", "digits").out
    assert "UTC" not in out
    assert local(at)[11:] in out
