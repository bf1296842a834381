"""Numbers, times and names in sentences."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.words import amount, duration, gang


@pytest.mark.parametrize(
    ("length", "text"),
    [(0, "0 s"), (59.6, "1 min"), (3900, "1 h 5 min"), (90_061, "1 d 1 h"), (86_405, "1 d"), (-5, "0 s")],
)
def test_spans(length: float, text: str) -> None:
    assert duration(ENGLISH, timedelta(seconds=length)) == text


@pytest.mark.parametrize(
    ("value", "text"), [(2.0, "2"), (2, "2"), (1.25, "1.25"), (0.5, "0.5"), (0, "0"), (1e6, "1000000"), (1 / 3, "0.33")]
)
def test_a_number_of_nodes_has_no_needless_digits(value: float, text: str) -> None:
    assert amount(value) == text


@pytest.mark.parametrize(
    ("count", "gpus", "text"),
    [
        (1, None, "1 node"),
        (3, None, "3 nodes"),
        (1, 1, "1 GPU on 1 node"),
        (1, 2, "2 GPUs on 1 node"),
        (3, 2, "2 GPUs on each of 3 nodes"),
    ],
)
def test_what_a_task_asks_for(count: int, gpus: int | None, text: str) -> None:
    assert gang(ENGLISH, count, gpus) == text
