"""When a task would start and what is assumed, in the language of the terminal."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hai_client.cli.language import forecasts
from hai_client.wire.explain import Forecast, ForecastAssumption, ForecastCost
from hai_client.wire.schema import Verdict
from hai_scheduler.service.insight.forecast import Outcome, assumptions_for
from hai_scheduler.service.insight.history import Basis

AT = datetime(2026, 11, 21, 8, tzinfo=UTC)
COST = ForecastCost(
    task_id=7, name="", user="bob", priority="NORMAL", nodes=2, at=AT, unsaved_s=600.0, switch_s=90.0
)  # fmt: skip
FORECAST = Forecast(
    task_id=41, outcome="later", sentence="As the service says it.", at=AT, starts_at=AT + timedelta(minutes=20),
    starts_in_s=1200.0, nodes=("n-1",), gpus=(), suspends=(), cost_s=0.0, assumptions=(), horizon_s=604_800.0,
    computed_until=AT + timedelta(hours=2), plans=3,
)  # fmt: skip
NEXT = Verdict(kind="NEXT", sentence="Will be looked at in a moment.", data={}, holders=())


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")


def test_each_outcome_assumption_and_basis_and_no_other_is_said() -> None:
    assert set(forecasts.OUTCOMES) == {outcome.value for outcome in Outcome}
    assert set(forecasts.BASES) == {basis.value for basis in Basis}
    assert set(forecasts.ASSUMPTIONS) == {one.name for one in every_assumption()}


def every_assumption() -> list[ForecastAssumption]:
    """All that the service can assume, as it says it."""
    made = assumptions_for(dict.fromkeys(Basis, 2), step=timedelta(minutes=1), held=True)
    return [ForecastAssumption(name=one.name, sentence=one.sentence, tasks=dict(one.tasks)) for one in made]


def test_in_english_it_is_what_the_service_says() -> None:
    assert forecasts.forecast(FORECAST) == "As the service says it."
    assert [forecasts.assumption(one) for one in every_assumption()] == [one.sentence for one in every_assumption()]


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"outcome": "now"}, "会立即启动，使用 n-1。"),
        ({"outcome": "now", "nodes": ()}, "会立即启动。"),
        ({}, "预计 {at}（20 分钟后）启动，使用 n-1。"),
        (
            {"nodes": (), "suspends": (COST,)},
            "预计 {at}（20 分钟后）启动。在此之前让出节点的任务：bob 的任务 7（NORMAL，2 个节点）。",
        ),
        ({"outcome": "beyond_horizon"}, "7 天内不会启动。"),
        ({"outcome": "beyond_computed"}, "2 小时内不会启动；之后的情况超出了计算范围。"),
        ({"outcome": "never", "verdict": NEXT}, "预计没有任何情况能让它启动。即将处理。"),
        ({"outcome": "never"}, "预计没有任何情况能让它启动。"),
        ({"outcome": "running"}, "它已有节点：n-1。"),
        ({"outcome": "eclipse"}, "As the service says it."),
        ({"starts_at": None}, "As the service says it."),
    ],
)
def test_when_it_starts(changed: dict[str, Any], said: str) -> None:
    start = (AT + timedelta(minutes=20)).astimezone()
    assert forecasts.forecast(dataclasses.replace(FORECAST, **changed)) == said.format(at=f"{start:%H:%M:%S}")


@pytest.mark.usefixtures("chinese")
def test_what_is_assumed() -> None:
    said = {one.name: forecasts.assumption(one) for one in every_assumption()}
    assert said["lengths"].startswith("组内任务的运行时长：2 个按其上报的步数, 2 个按其时间上限")
    assert said["steps"].startswith("队列较长：每1 分钟查看一次")
    assert all(text.endswith("。") for text in said.values())


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    "found",
    [
        ForecastAssumption(name="eclipse", sentence="There is none.", tasks={}),
        ForecastAssumption(name="lengths", sentence="There is none.", tasks={"weather": 2}),
        ForecastAssumption(name="steps", sentence="There is none.", tasks={}),
        ForecastAssumption(name="steps", sentence="It is looked at every moon, so.", tasks={}),
    ],
)
def test_what_is_not_known_is_said_as_the_service_says_it(found: ForecastAssumption) -> None:
    assert forecasts.assumption(found) == found.sentence
