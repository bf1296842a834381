"""`hai top`: what running tasks use now."""

from __future__ import annotations

from datetime import datetime

import pytest

from hai_client.backports import UTC
from hai_client.cli.tasks.top import RankUse, _cells, newest, why_nothing
from hai_client.wire.metrics import RankSeries, RunSeries, TaskSeries

AT = datetime(2026, 1, 5, tzinfo=UTC)


def rank(number: int, **means: tuple[float | None, ...]) -> RankSeries:
    ends = tuple(range(10, 10 * len(next(iter(means.values()), ())) + 10, 10))
    return RankSeries(rank=number, node=f"node-{number}", at=ends, least={}, mean=dict(means), greatest={})


def series(*runs: tuple[RankSeries, ...]) -> TaskSeries:
    return TaskSeries(
        step=10,
        units={},
        runs=tuple(RunSeries(run=number, started_at=AT, ranks=ranks) for number, ranks in enumerate(runs, 1)),
    )


def test_the_newest_point_of_the_latest_run_is_shown() -> None:
    old, new = rank(0, cpu=(9.0,)), rank(0, cpu=(1.0, 2.0), memory=(5.0, None))
    assert newest(series((old,), (new, rank(1)))) == {0: RankUse({"cpu": 2.0})}
    assert newest(series()) == {}


def texts(*usages: RankUse) -> list[str]:
    return [cell if isinstance(cell, str) else cell.text for cell in _cells(usages)]


def test_ranks_are_summed_and_gpus_are_averaged() -> None:
    one = RankUse({"cpu": 1.5, "memory": 1 << 30, "gpu0_use": 90, "gpu1_use": 100, "gpu0_power": 300.4})
    other = RankUse({"cpu": 2.04, "memory": 1 << 29, "gpu0_use": 50, "net_sent": 1024.0, "gpu0_memory": 2 << 30})
    assert texts(one, other) == ["3.5", "1.5 GiB", "-", "-/1 KiB", "80%", "2 GiB", "300"]


def test_what_was_not_measured_is_a_dash() -> None:
    assert texts(RankUse({})) == ["-"] * 7
    assert texts() == ["-"] * 7


@pytest.mark.parametrize(("use", "style"), [(0, "red"), (4.9, "red"), (5, None)])
def test_gpus_that_idle_are_red(use: float, style: str | None) -> None:
    cell = _cells([RankUse({"gpu0_use": use})])[4]
    assert getattr(cell, "style", None) == style


@pytest.mark.parametrize(
    ("state", "runs", "said"),
    [
        ("queued", 0, "train is queued and has never run; `hai explain train` says why"),
        ("stopped", 0, "train is stopped and has never run; `hai explain train` says why"),
        ("running", 1, "in the last 5 minutes; after a start the first numbers take some 20 s"),
        (
            "succeeded",
            1,
            "train is succeeded, and nothing was measured in the last 5 minutes; see `hai status train`",
        ),
    ],
)
def test_where_nothing_was_measured_the_state_says_why(state: str, runs: int, said: str) -> None:
    assert why_nothing("train", state, runs).endswith(said)
