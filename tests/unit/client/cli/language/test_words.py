"""Numbers and times in another language."""

from __future__ import annotations

import pytest

from hai_client.cli.language import words


@pytest.fixture(autouse=True)
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 秒"), (-5, "0 秒"), (42, "42 秒"), (60, "1 分钟"), (7500, "2 小时 5 分钟"), (273_600, "3 天 4 小时")],
)
def test_a_length_of_time_has_two_units(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


def test_sizes() -> None:
    assert words.size(2, None) == "2 个节点"
    assert words.size(1, 4) == "1 个节点 × 4 个 GPU"
    assert words.amount(1200.5) == "1,200.5"
