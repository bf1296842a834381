"""Values of the core in JSON: what each is read from, is written as, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from hai_scheduler.core.model.leaving import Profile, ProfileName, Signal
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.sent_as import (
    AS_WRITTEN,
    BY_NAME,
    IN_SECONDS,
    IN_SOME_SECONDS,
    LEVEL,
    annotations_of,
    by_word,
    fields_of,
)

WORD = by_word(Profile, ProfileName)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Annotated[timedelta, IN_SECONDS], "1.5", timedelta(seconds=1.5)),
        (Annotated[timedelta, IN_SOME_SECONDS], "60.0", timedelta(minutes=1)),
        (Annotated[Priority | None, BY_NAME], '"AUTO"', None),
        (Annotated[Priority | None, BY_NAME], '"VERY_HIGH"', Priority.VERY_HIGH),
        (Annotated[Priority, LEVEL], '"LOW"', Priority.LOW),
        (Annotated[Profile, WORD], '"slurm"', Profile.SLURM),
        (Annotated[Signal, AS_WRITTEN] | None, '"USR1@60"', Signal.parse("USR1@60")),
        (Annotated[Signal, AS_WRITTEN] | None, "null", None),
    ],
)
def test_a_value_is_read_and_written_as_it_stands_in_json(kind: Any, text: str, value: object) -> None:
    adapter = TypeAdapter(kind)
    assert adapter.validate_json(text, strict=True) == value
    assert adapter.dump_json(value) == text.encode()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Annotated[timedelta, IN_SECONDS], "-1"),
        (Annotated[timedelta, IN_SECONDS], '"1"'),
        (Annotated[timedelta, IN_SECONDS], "1e99"),
        (Annotated[timedelta, IN_SOME_SECONDS], "0"),
        (Annotated[Priority, LEVEL], '"AUTO"'),
        (Annotated[Priority, LEVEL], "10"),
        (Annotated[Profile, WORD], '"SLURM"'),
    ],
)
def test_what_is_no_such_value_is_refused(kind: Any, text: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_json(text, strict=True)


def test_a_signal_that_is_none_is_refused_with_how_to_write_one() -> None:
    with pytest.raises(Invalid, match="signal: 'HUP' is none: write INT"):
        TypeAdapter(Annotated[Signal, AS_WRITTEN]).validate_json('"HUP"')


def test_a_field_has_a_name_in_json_and_a_type_with_all_its_annotations() -> None:
    @dataclass(frozen=True)
    class Odd:
        """Odd."""

        must: int
        pause: Annotated[Annotated[timedelta, IN_SECONDS] | None, Field(alias="pause_s")] = None

    found = fields_of(Odd)
    assert [(name, one.wire, one.required) for name, one in found.items()] == [
        ("must", "must", True),
        ("pause", "pause_s", False),
    ]
    assert IN_SECONDS in annotations_of(found["pause"].type)
