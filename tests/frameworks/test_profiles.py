"""`hai profile` of an unmodified script on two ranks: phases, the slowest rank, and traces of the same moment."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import Platform
from frameworks.drive import ENVIRONMENT, Driver
from kit.waiting import wait_for

pytestmark = pytest.mark.frameworks

SCRIPT = Path(__file__).with_name("scripts") / "plain_ddp.py"
#: The whole command may take so long, seconds.
WITHIN_S = 20.0


@pytest.fixture(scope="module")
def platform(driver: Driver) -> Platform:
    return driver.platform


@pytest.fixture(scope="module")
def training(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A task that trains on two nodes until all tests are over."""
    until = tmp_path_factory.mktemp("profiles") / "until"
    words = ["submit", "--name", "plain-ddp", "--nodes", "2", "--environment", ENVIRONMENT, "--"]
    number = platform.json(*words, "python", str(SCRIPT), str(until))["id"]
    wait_for("an epoch", lambda: "an epoch is over" in platform.hai("logs", str(number)).stdout)
    yield number
    until.touch()
    ended = ("succeeded", "failed")
    state = wait_for(
        "the training to end", lambda: platform.json("status", str(number))["state"], met=ended.__contains__
    )
    assert state == "succeeded"


@pytest.fixture(scope="module")
def recorded(platform: Platform, training: int, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `hai profile --seconds 2` says of it, and how long it took."""
    began = time.monotonic()
    found = platform.json("profile", str(training), "--seconds", "2", "-o", str(tmp_path_factory.mktemp("traces")))
    return {**found, "took": time.monotonic() - began}


def test_it_is_there_in_time(recorded: dict[str, Any]) -> None:
    assert recorded["recording"]["state"] == "done"
    assert recorded["took"] <= WITHIN_S


def test_each_rank_has_steps_with_all_phases(recorded: dict[str, Any]) -> None:
    for part in recorded["recording"]["parts"]:
        [trace] = part["traces"]
        summary = trace["summary"]
        assert summary["device"] == "cpu"
        assert summary["steps"] >= 5
        assert summary["step_s"] >= 0.03
        assert min(summary["phases"][name] for name in ("data", "forward", "backward", "optimizer")) > 0
        assert sum(summary["phases"].values()) == pytest.approx(summary["step_s"])
        assert "aten::addmm" in {one["name"] for one in summary["operators"]}


def test_who_makes_the_others_wait_is_named(recorded: dict[str, Any]) -> None:
    waiting, slow = (part["traces"][0]["summary"]["phases"] for part in recorded["recording"]["parts"])
    assert recorded["recording"]["summary"]["slowest"]["rank"] == 1
    assert waiting["communication"] > 0.015
    assert slow["idle"] > 0.015
    assert slow["communication"] < waiting["communication"]


def test_the_traces_are_of_one_moment_and_json_for_perfetto(recorded: dict[str, Any]) -> None:
    spans = []
    for path in recorded["files"]:
        trace = json.loads(gzip.decompress(Path(path).read_bytes()))
        base = trace["baseTimeNanoseconds"] / 1000
        times = [event["ts"] for event in trace["traceEvents"] if event.get("cat") == "cpu_op"]
        spans.append((base + min(times), base + max(times)))
    assert len(spans) == 2
    overlap = min(end for _, end in spans) - max(begin for begin, _ in spans)
    assert overlap > 1e6, spans


def test_the_trace_of_all_ranks_has_each_rank_by_name(recorded: dict[str, Any]) -> None:
    whole = json.loads(gzip.decompress(Path(recorded["all_ranks"]).read_bytes()))
    events = whole["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    for rank, path in enumerate(recorded["files"]):
        own = json.loads(gzip.decompress(Path(path).read_bytes()))["traceEvents"]
        count = sum(event.get("cat") == "cpu_op" for event in own)
        found = [names[event["pid"]] for event in events if event.get("cat") == "cpu_op"]
        assert found.count(f"rank {rank}: python") == count > 0


def test_steps_may_be_counted(platform: Platform, training: int, recorded: dict[str, Any], tmp_path: Path) -> None:
    found = platform.json("profile", str(training), "--steps", "5", "--ranks", "0", "-o", str(tmp_path))["recording"]
    [part] = found["parts"]
    assert (part["rank"], part["message"]) == (0, None)
    assert 3 <= part["traces"][0]["summary"]["steps"] <= 6
