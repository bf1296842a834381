"""Fields that are asked for by their definition alone: what is read of it, and how a file's value is read by it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from hai_scheduler.service.shared.sent_as import IN_SECONDS
from hai_scheduler.service.tasks.asked_fields import AskedField, asked_fields
from hai_scheduler.service.tasks.experiment_file import ExperimentFile
from hai_scheduler.service.tasks.submission import AskedFor

_ASKED = AskedFor("Word", "what it says")


@dataclass(frozen=True, kw_only=True)
class Odd:
    """A submission of fields of every kind, and one that needs more than its definition."""

    other: tuple[str, ...] = ()
    count: Annotated[int, Field(ge=2, le=9), _ASKED] = 3
    most: Annotated[Annotated[int, Field(ge=1)] | None, _ASKED] = None
    pause: Annotated[Annotated[timedelta, IN_SECONDS] | None, Field(alias="pause_s"), _ASKED] = None
    eager: Annotated[bool, _ASKED] = False
    note: Annotated[str | None, _ASKED] = None
    shape: Annotated[Literal["round", "flat"], _ASKED] = "round"


FOUND = {field.name: field for field in asked_fields(Odd)}


def test_each_kind_is_known_with_its_limits_and_its_usual_value() -> None:
    def kept(field: AskedField) -> tuple[Any, ...]:
        return (field.wire, field.kind, field.words, field.least, field.most, field.default)

    assert [kept(field) for field in FOUND.values()] == [
        ("count", "number", (), 2, 9, 3),
        ("most", "number", (), 1, None, None),
        ("pause_s", "length", (), 0, 315_360_000, None),
        ("eager", "flag", (), None, None, False),
        ("note", "text", (), None, None, None),
        ("shape", "word", ("round", "flat"), None, None, "round"),
    ]
    assert {(field.label, field.help) for field in FOUND.values()} == {("Word", "what it says")}


def test_a_type_that_needs_more_is_refused_with_what_to_do() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Listed:
        """It has a list."""

        names: Annotated[tuple[str, ...], _ASKED] = ()

    with pytest.raises(TypeError, match=r"^names: .* or leave out `AskedFor` and write its places"):
        asked_fields(Listed)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("count", 9, 9),
        ("pause", "1m30s", timedelta(seconds=90)),
        ("eager", True, True),
        ("note", "a b", "a b"),
        ("shape", "flat", "flat"),
        ("shape", None, None),
        ("count", None, None),
    ],
)
def test_a_file_says_it_under_the_fields_own_name(name: str, given: object, value: object) -> None:
    file = ExperimentFile({})
    assert file.asked({name: given}, FOUND[name]) == value
    assert file.faults == []


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("count", 1, "must be a whole number, from 2 to 9"),
        ("most", 0, "must be a whole number, 1 or more"),
        ("pause", "soon", "is not a length of time: write for example 30s or 5m"),
        ("pause", True, "is not a length of time"),
        ("eager", "yes", "must be true or false"),
        ("note", ["a"], "must be a text, not a list"),
        ("shape", "square", "must be one of round, flat"),
    ],
)
def test_a_wrong_value_in_a_file_is_named_with_its_key_and_what_is_right(name: str, given: object, said: str) -> None:
    file = ExperimentFile({})
    file.asked({name: given}, FOUND[name])
    (fault,) = file.faults
    assert (fault.field, said in fault.message) == (f"options.{name}", True)
