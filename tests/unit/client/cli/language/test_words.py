"""Numbers, times and reasons in another language."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hai_client.cli.language import words
from hai_scheduler.core.model.reasons import Reason


@pytest.fixture(autouse=True)
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")


def test_each_reason_and_no_other_is_said() -> None:
    assert set(words.REASONS) == {reason.value for reason in Reason}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 秒"), (-5, "0 秒"), (42, "42 秒"), (60, "1 分钟"), (7500, "2 小时 5 分钟"), (273_600, "3 天 4 小时")],
)
def test_a_length_of_time_has_two_units(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


def test_sizes_and_lists() -> None:
    assert words.size(2, None) == "2 个节点"
    assert words.size(1, 4) == "1 个节点 × 4 个 GPU"
    assert words.amount(1200.5) == "1,200.5"
    assert words.node_list([f"n-{at}" for at in range(6)]) == "n-0, n-1, n-2, n-3 及另外 2 个"


def test_a_time_that_is_none_is_not_said() -> None:
    now = datetime(2026, 11, 21, 8, tzinfo=UTC)
    assert words.when("soon", now) is None
    assert words.when(None, now) is None
    assert words.moment(datetime(2026, 11, 25, 12, tzinfo=UTC), now).startswith("2026-11-25 ")


def test_an_unknown_reason_is_shown_as_it_is() -> None:
    assert words.reason("struck_by_lightning") == "struck by lightning"
    assert words.ended("running") is None
