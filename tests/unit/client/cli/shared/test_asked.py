"""Options of fields that need nothing but their definition."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from hai_client.cli.shared.asked import TaskOption, add_options
from hai_client.errors import Invalid


def a_field(name: str, kind: str, default: Any = None, **more: Any) -> TaskOption:
    given = {"words": (), "least": None, "most": None, "label": lambda: "", "help": "what it says", **more}
    return TaskOption(name=name, kind=kind, default=default, **given)


FIELDS = [
    a_field("count_of", "number", 3, least=2, most=9),
    a_field("pause_s", "length", least=1, most=60),
    a_field("eager", "flag", False),
    a_field("note", "text"),
    a_field("shape", "word", "round", words=("round", "flat")),
]


def read(*words: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    add_options(parser, FIELDS)
    return vars(parser.parse_args(words))


def test_each_has_its_usual_value() -> None:
    assert read() == {"count_of": 3, "pause_s": None, "eager": False, "note": None, "shape": "round"}


def test_each_is_read_as_its_kind() -> None:
    words = ["--count-of", "9", "--pause", "1m", "--eager", "--note", "x", "--shape", "flat"]
    assert read(*words) == {"count_of": 9, "pause_s": 60.0, "eager": True, "note": "x", "shape": "flat"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--count-of", "1"], "count-of: '1' is not a whole number of 2 or more"),
        (["--count-of", "10"], "count-of: '10' is too much; give at most 9"),
        (["--pause", "0s"], "pause: '0s' is too short"),
        (["--pause", "2m"], "pause: '2m' is too much; give at most 60"),
    ],
)
def test_a_wrong_value_is_named_with_its_limits(words: list[str], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        read(*words)


def test_the_help_names_the_usual_value() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser, FIELDS)
    assert "what it says (3)" in parser.format_help()


def test_a_length_is_shown_as_one() -> None:
    assert [field.text(value) for field, value in zip(FIELDS, (5, 90.0), strict=False)] == ["5", "1 min 30 s"]
