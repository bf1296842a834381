"""What a job has had a hand in is fit for every store, or it is not taken over."""

from __future__ import annotations

from typing import Any

import pytest

from builders import at
from hai_scheduler.adapters.status import MAX_TEXT, checkpoint_of, lost_lines_of, text_of, time_of
from hai_scheduler.core.model import Checkpoint


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
def test_lost_lines_are_said_in_a_sentence(status: dict[str, Any], sentence: str | None) -> None:
    said = lost_lines_of(status)
    assert said is None if sentence is None else (said or "").startswith(sentence)


@pytest.mark.parametrize(
    "text",
    ["9999-12-31T23:59:59-23:59", "9500-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "1969-12-31T23:59:59Z", "x", 7],
)
def test_a_time_that_no_store_gives_back_is_none(text: Any) -> None:
    assert time_of(text) is None
    assert checkpoint_of({"at": text}) is None
