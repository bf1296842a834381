"""`hai top`: what running tasks use now."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime
from typing import Any

import pytest

from hai_client.backports import UTC
from hai_client.cli.shared.output import Output
from hai_client.cli.tasks.top import RankUse, _cells, newest, why_nothing
from hai_client.wire.metrics import RankSeries, RunSeries, TaskSeries
from unit.client.conftest import Hai

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


USE = {
    "cpu": 3.24, "memory": 1.5 * 2**30, "disk_read": None, "disk_written": None, "net_received": None, "net_sent": None,
    "gpu_use": 87.4, "gpu_memory": 2**34, "gpu_power": 612.3,
}  # fmt: skip
PROGRESS = {"step": 1200, "total": 10_000, "at": "2026-11-21T04:00:00Z", "left_s": 7200.0}


@pytest.fixture
def busy(platform: Any) -> None:
    """Two running tasks of alice, one of bob, and one that waits."""
    platform.add("waits")
    platform.add("small", state="running", nodes=1, use={**USE, "cpu": 9.0, "gpu_use": 1.0})
    platform.add("large", state="running", nodes=4, gpus=2, use=USE, progress=PROGRESS)
    platform.add("secret", state="running", nodes=3, user="bob")


def rows_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.split()[:1] and line.split()[0].isdigit()]


@pytest.mark.usefixtures("busy")
def test_the_screen_shows_the_cluster_and_the_tasks_on_it(hai: Hai, platform: Any) -> None:
    out = hai("top", "--once").out
    assert (
        "training: 3 nodes: 1 busy, 1 idle, 1 down, 50% occupied, 8 of 24 GPUs free, 1 task on nodes, "
        "2 waiting for 3 nodes"
    ) in out
    large = next(line for line in out.splitlines() if "large" in line)
    assert large.split("  ")[-1] == "step 1,200 of 10,000, about 2 h left"
    assert "4 x 2 GPUs" in large
    assert all(word in large for word in ("3.2", "1.5 GiB", "87%", "16 GiB", "612", "may end"))
    assert [call.path.rpartition("/v1")[2] for call in platform.calls if call.method == "GET"] == [
        "/cluster", "/cluster/use",
    ]  # fmt: skip


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], ["small", "large", "secret"]),
        (["--mine"], ["small", "large"]),
        (["--sort", "gpu"], ["large", "small", "secret"]),
        (["--sort", "cores"], ["small", "large", "secret"]),
        (["--sort", "nodes"], ["large", "secret", "small"]),
        (["--sort", "newest", "-n", "1"], ["secret"]),
    ],
)
def test_tasks_are_chosen_and_sorted(hai: Hai, words: list[str], names: list[str]) -> None:
    assert [row[2] for row in rows_of(hai("top", "--once", *words).out)] == names


@pytest.mark.usefixtures("busy")
def test_what_does_not_fit_is_counted(hai: Hai) -> None:
    assert hai("top", "--once", "-n", "1").out.endswith("and 2 tasks more; --mine shows yours alone\n")
    assert hai("top", "--once", "-n", "1", "--mine").out.endswith("and 1 task more\n")


def test_an_empty_cluster_says_so(hai: Hai) -> None:
    assert hai("top", "--once").out.endswith("\nno task holds a node\n")
    assert hai("top", "--once", "--mine").out.endswith("\nno task of yours holds a node\n")


@pytest.mark.usefixtures("busy")
def test_a_program_gets_all_of_it(hai: Hai) -> None:
    found = json.loads(hai("top", "--json").out)
    assert found["cluster"]["groups"][0]["held"] == 1
    assert [item["task_id"] for item in found["use"]["items"]] == [42, 43, 44]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sort", "color"], "sort"),
        (["-n", "0"], "limit"),
        (["train", "--mine"], "mine: is for the whole cluster; leave it out, or TASK"),
        (["train", "--sort", "gpu"], "sort: is for the whole cluster"),
    ],
)
def test_words_that_make_no_sense_are_refused(hai: Hai, words: list[str], said: str) -> None:
    result = hai("top", "--once", *words)
    assert result.code == 2
    assert said in result.err


@pytest.mark.usefixtures("busy")
def test_live_it_is_written_again_until_it_is_interrupted(hai: Hai, monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", rest)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LINES", "11")
    usual = Output.of_process
    monkeypatch.setattr(Output, "of_process", lambda: dataclasses.replace(usual(), terminal=True, width=200))
    result = hai("top")
    assert result.code == 0
    assert rests == [10, 10]
    screens = result.out.split("\x1b[H\x1b[2J")[1:]
    assert len(screens) == 2
    for screen in screens:
        assert "and 1 task more" in screen
        assert "Ctrl-C ends it" in screen
        assert screen.count("\n") <= 11
