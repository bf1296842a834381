"""The table of policy numbers, and the forms in which people and files write them."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.model.policy import IDLE_ACTIONS, SNAPSHOT_MODES, Policy, PolicyError
from hai_scheduler.service.shared.policy_numbers import (
    BY_NAME,
    NUMBERS,
    NumberKind,
    changed,
    number_of,
    read,
    written,
)


def test_every_number_of_the_policy_is_in_the_table_once() -> None:
    assert sorted(number.name for number in NUMBERS) == sorted(field.name for field in fields(Policy))
    assert all(number.help.endswith(".") for number in NUMBERS)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_a_choice_has_all_its_words_and_no_other_number_has_any(number: Any) -> None:
    assert bool(number.choices) == (number.kind is NumberKind.CHOICE)
    for choice in number.choices:
        assert getattr(changed(Policy(), {number.name: choice.word}), number.name) == choice.word
        assert f"{choice.word} ({choice.meaning})" in number.help


def test_the_words_of_choices_are_those_of_the_policy() -> None:
    words = {number.name: tuple(choice.word for choice in number.choices) for number in NUMBERS if number.choices}
    assert words == {"idle_action": IDLE_ACTIONS, "snapshots": SNAPSHOT_MODES}


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_a_default_is_read_as_it_is_written(number: Any) -> None:
    assert read(number.name, number.default) == getattr(Policy(), number.name)


#: name, what is given, what is read
READ: list[tuple[str, object, object]] = [
    ("slice", "15m", timedelta(minutes=15)),
    ("slice", "1h30m", timedelta(minutes=90)),
    ("slice", 90, timedelta(seconds=90)),
    ("slice", 0.5, timedelta(milliseconds=500)),
    ("slice", 0, timedelta(0)),
    ("slice", 315_360_000, timedelta(days=3650)),
    ("slice_growth", 2, 2.0),
    ("slice_growth", "2", 2.0),
    ("slice_growth", " 0.5 ", 0.5),
    ("slice_growth", "1e3", 1000.0),
    ("max_rotations", 4, 4),
    ("max_rotations", "4", 4),
    ("max_rotations", 4.0, 4),
    ("weights", "", {}),
    ("weights", "alice:2,bob:0.5", {"alice": 2.0, "bob": 0.5}),
    ("weights", " alice : 2 , , bob:1,", {"alice": 2.0, "bob": 1.0}),
    ("weights", "team:a:2", {"team:a": 2.0}),
    ("weights", {"alice": "2"}, {"alice": 2.0}),
    ("weights", {}, {}),
]


@pytest.mark.parametrize(("name", "given_", "value"), READ, ids=str)
def test_what_is_given_is_read(name: str, given_: object, value: object) -> None:
    found = read(name, given_)
    assert found == value
    assert type(found) is (type(value) if not isinstance(value, dict) else type(found))


#: name, what is given, what the error says
REFUSED: list[tuple[str, object, str]] = [
    ("slice", "soon", "slice"),
    ("slice", "", "slice"),
    ("slice", -1, "slice is -1 seconds: write a length of time such as 90s, 15m or 4h"),
    ("slice", 315_360_001, "write a length of time"),
    ("slice", float("nan"), "slice is nan: write a number"),
    ("slice", True, "slice is True: write a number"),
    ("slice", None, "slice is None: write a number"),
    ("slice", [], "slice is []: write a number"),
    ("slice_growth", "two", "slice_growth is 'two': write a number such as 2 or 0.5"),
    ("slice_growth", "inf", "slice_growth is 'inf'"),
    ("slice_growth", 10**400, "slice_growth is 1000"),
    ("max_rotations", 4.5, "max_rotations is 4.5: write a whole number"),
    ("max_rotations", False, "max_rotations is False: write a number"),
    ("weights", "alice", "weights names no user for 'alice': write for example alice:2"),
    ("weights", ":2", "weights names no user for '2'"),
    ("weights", {"": 2}, "weights names no user for 2"),
    ("weights", {7: 2}, "weights names no user for 2"),
    ("weights", {"alice": "many"}, "weights: the weight of alice is 'many': write a number"),
    ("weights", {"alice": None}, "weights: the weight of alice is None"),
    ("weights", {f"u{number}": 2 for number in range(1001)}, "weights names 1001 users: name 1000 at most"),
    ("weights", ["alice"], "weights is ['alice']: write users and numbers, such as alice:2,bob:0.5"),
    ("slices", 1, "'slices' is not a policy number: use min_run, slice, "),
]


@pytest.mark.parametrize(("name", "given_", "said"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_is_wrong_is_named_with_its_value_and_a_remedy(name: str, given_: object, said: str) -> None:
    with pytest.raises(PolicyError) as refused:
        read(name, given_)
    assert said in str(refused.value)
    assert refused.value.name == name
    assert len(str(refused.value)) < 600


@given(st.integers(0, 315_360_000_000))
def test_a_length_of_time_is_written_exactly_to_the_millisecond_and_read_again(milliseconds: int) -> None:
    length = timedelta(milliseconds=milliseconds)
    assert read("slice", written(length)) == length


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(0), "0s"),
        (timedelta(seconds=90), "1m30s"),
        (timedelta(days=1, hours=1, milliseconds=5), "1d1h5ms"),
        (timedelta(microseconds=400), "0s"),
        (2.5, 2.5),
        (3, 3),
        ({"b": 1.0, "a": 2.0}, {"a": 2.0, "b": 1.0}),
    ],
    ids=str,
)
def test_how_a_value_is_written(value: object, text: object) -> None:
    assert written(value) == text
    if isinstance(text, dict):
        assert list(written(value)) == sorted(text)


def test_a_copy_of_a_policy_has_the_changes_and_all_else_as_it_was() -> None:
    before = Policy(strikes=7)
    after = changed(before, {"slice": "2h", "weights": "alice:2"})
    assert (after.strikes, after.slice, dict(after.weights)) == (7, timedelta(hours=2), {"alice": 2.0})
    assert before == Policy(strikes=7)
    assert changed(before, {}) == before


def test_a_value_in_a_wrong_range_is_the_policys_to_refuse() -> None:
    with pytest.raises(PolicyError) as refused:
        changed(Policy(), {"quarantine_share": 2})
    assert refused.value.name == "quarantine_share"


def test_a_number_is_found_by_its_name_alone() -> None:
    assert number_of("slice").kind is NumberKind.DURATION
    assert set(BY_NAME) == {number.name for number in NUMBERS}
