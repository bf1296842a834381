from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.durations import format_duration, parse_duration
from hai_client.errors import Invalid
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.words import duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("0", 0),
        ("120s", 120),
        ("2m", 120),
        ("4h", 14_400),
        ("1h30m", 5400),
        ("1h 30m 5s", 5405),
        ("1.5h", 5400),
        ("0.5", 0.5),
        ("250ms", 0.25),
        ("2d", 172_800),
        ("1w", 604_800),
        (" 2 Minutes ", 120),
        ("1 hour 1 min", 3660),
    ],
)
def test_a_length_of_time_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    ["", " ", "h", "4x", "-5m", "1h-5m", "30m1h", "1h1h", "1h30", "4 h h", "nan", "inf", "1e3", "1,5h", "99999d"],
)
def test_what_is_no_length_of_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Invalid, match=r"grace: .*write for example") as caught:
        parse_duration(text, field="grace")
    assert repr(text) in caught.value.message


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"), (0.4, "0 s"), (45, "45 s"), (60, "1 min"), (200, "3 min 20 s"), (7080, "1 h 58 min"),
        (3600, "1 h"), (3605, "1 h"), (187_200, "2 d 4 h"), (-3, "0 s"), (3599.6, "1 h"),
    ],
)  # fmt: skip
def test_a_length_of_time_is_written_with_its_two_largest_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.floats(0, 1e7))
def test_the_services_sentences_have_the_same_notation(seconds: float) -> None:
    length = timedelta(seconds=seconds)
    assert format_duration(length.total_seconds()) == duration(ENGLISH, length)


@given(st.integers(0, 10**7))
def test_what_is_written_can_be_read(seconds: int) -> None:
    assert 0 <= seconds - parse_duration(format_duration(seconds)) < 86_400
