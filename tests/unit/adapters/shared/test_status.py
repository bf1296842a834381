"""What a job has had a hand in is fit for every store, or it is not taken over."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.adapters.shared.status import (
    MAX_TEXT,
    OUT_OF_MEMORY,
    caught_of,
    checkpoint_of,
    ending_of,
    signal_of,
    summary_of,
    text_of,
    time_of,
)
from hai_scheduler.core.model.leaving import Source
from hai_scheduler.core.model.run import Checkpoint
from hai_scheduler.core.model.usage_summary import UsageLevel, UsageSummary
from kit.builders import at


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("epoch 3", "epoch 3"),
        ("a\0b", "a?b"),
        ("half a pair: \ud800", "half a pair: ?"),
        ("x" * (MAX_TEXT + 1), "x" * MAX_TEXT),
        (None, None),
        (7, None),
        (["x"], None),
    ],
)
def test_only_text_that_every_store_keeps_is_text(value: Any, text: str | None) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("step", "kept"),
    [(7, 7), (-(2**63 - 1), -(2**63 - 1)), (2**63, None), (True, None), ("7", None), (7.5, None), ({}, None)],
)
def test_only_a_whole_number_that_every_store_keeps_is_a_step(step: Any, kept: int | None) -> None:
    told = {"at": at(0).isoformat(), "step": step, "path": ["x"]}
    assert checkpoint_of(told) == Checkpoint(at=at(0), step=kept, path=None)


@pytest.mark.parametrize(
    ("source", "kept"),
    [("seen", Source.SEEN), ("told", Source.TOLD), (None, Source.TOLD), ("x", Source.TOLD), ([], Source.TOLD)],
)
def test_a_checkpoint_is_seen_only_where_its_supervisor_says_so(source: Any, kept: Source) -> None:
    found = checkpoint_of({"at": at(0).isoformat(), "source": source})
    assert found is not None
    assert found.source is kept


@pytest.mark.parametrize(
    ("value", "signal"),
    [(15, 15), (64, 64), (0, None), (128, None), (-9, None), (True, None), ("15", None), (None, None)],
)
def test_only_the_number_of_a_signal_is_one(value: Any, signal: int | None) -> None:
    assert signal_of({"signal": value}) == signal
    assert signal_of({}) is None


@pytest.mark.parametrize(("value", "caught"), [(True, True), (False, False), (None, None), (1, None), ("yes", None)])
def test_whether_a_signal_was_caught_is_yes_no_or_not_known(value: Any, caught: bool | None) -> None:
    assert caught_of({"caught": value}) is caught
    assert caught_of({}) is None


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ({"log_lost_lines": 2, "log_lost_why": "no space left on device"}, "2 lines of its log were lost: no space"),
        ({"log_lost_lines": 1}, "1 line of its log was lost: they could not be written"),
        ({"log_lost_lines": 0, "log_lost_why": None}, None),
        ({"log_lost_lines": "many"}, None),
        ({"log_lost_lines": True}, None),
        ({}, None),
    ],
)
def test_what_a_supervisor_has_to_say_is_a_sentence(status: dict[str, Any], sentence: str | None) -> None:
    said = ending_of(status)
    assert said is None if sentence is None else (said or "").startswith(sentence)


@pytest.mark.parametrize("known", [False, True], ids=["the supervisor", "the cluster"])
@pytest.mark.parametrize("value", [True, False, 1, "yes", None])
def test_that_memory_was_short_is_said_the_same_by_all_who_know_it(known: bool, value: Any) -> None:
    said = ending_of({"out_of_memory": value, "log_lost_lines": 1}, out_of_memory=known)
    assert said is not None
    assert (OUT_OF_MEMORY in said) is (known or value is True)
    assert said.endswith("1 line of its log was lost: they could not be written")


@pytest.mark.parametrize(
    "text",
    ["9999-12-31T23:59:59-23:59", "9500-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "1969-12-31T23:59:59Z", "x", 7],
)
def test_a_time_that_no_store_gives_back_is_none(text: Any) -> None:
    assert time_of(text) is None
    assert checkpoint_of({"at": text}) is None


def test_a_summary_of_a_supervisor_is_taken_over() -> None:
    said = {
        "seconds": 60,
        "cpu": [1.5, 4],
        "memory": [1e9, 2e9],
        "gpus": 2,
        "gpu_seconds": 120,
        "gpu_idle_seconds": 10,
        "gpu_use": [90, 100],
        "gpu_memory": [3e9, 4e9],
        "gpu_power": [400, 500],
        "joules": 48000,
    }
    assert summary_of({"summary": said}) == UsageSummary(
        seconds=60,
        cpu=UsageLevel(1.5, 4),
        memory=UsageLevel(1e9, 2e9),
        gpus=2,
        gpu_seconds=120,
        gpu_idle_seconds=10,
        gpu_use=UsageLevel(90, 100),
        gpu_memory=UsageLevel(3e9, 4e9),
        gpu_power=UsageLevel(400, 500),
        joules=48000,
    )


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (None, None),
        ("x", None),
        ({}, None),
        ({"seconds": -1}, None),
        ({"seconds": True}, None),
        ({"seconds": 10**400}, None),
        ({"seconds": float("nan")}, None),
        ({"seconds": 1, "cpu": [1]}, UsageSummary(seconds=1)),
        ({"seconds": 1, "cpu": {"mean": 1}}, UsageSummary(seconds=1)),
        ({"seconds": 1, "cpu": [1, float("inf")], "joules": "9"}, UsageSummary(seconds=1)),
        ({"seconds": 1, "gpus": 65, "gpu_seconds": [1], "more": "x" * 9999}, UsageSummary(seconds=1)),
    ],
)
def test_only_numbers_that_make_sense_are_in_a_summary(said: Any, kept: UsageSummary | None) -> None:
    assert summary_of({"summary": said}) == kept
