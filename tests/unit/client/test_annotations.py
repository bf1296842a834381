"""Annotations of dataclasses as values, with spellings that Pythons before 3.10 cannot evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from hai_client.annotations import Either, Maybe, Several, Table, kinds


@dataclass
class Inner:
    """A class that others name."""

    number: int


@dataclass
class Outer(Inner):
    """One attribute of each kind."""

    text: str | None
    each: int | str | None
    either: int | str
    many: tuple[Inner, ...]
    table: dict[str, Inner | None]
    free: Any


def plain(kind: Any) -> Any:
    """A kind as plain values, to compare."""
    if isinstance(kind, Either):
        return ("either", *map(plain, kind.kinds))
    for of in (Maybe, Several, Table):
        if isinstance(kind, of):
            return (of.__name__.lower(), plain(kind.of))
    return kind


def test_each_spelling_is_read_and_those_of_base_classes_come_first() -> None:
    found = {name: plain(kind) for name, kind in kinds(Outer).items()}
    assert found == {
        "number": int,
        "text": ("maybe", str),
        "each": ("maybe", ("either", int, str)),
        "either": ("either", int, str),
        "many": ("several", Inner),
        "table": ("table", ("maybe", Inner)),
        "free": Any,
    }
    assert next(iter(found)) == "number"


class Plain:
    """A class without annotations of its own."""


class Heir(Inner):
    """Has no annotations of its own either: those of its base class are not its own twice."""


class Other(Inner):
    """Another type for the attribute of the base class."""

    number: str  # type: ignore[assignment]


def test_attributes_of_base_classes_are_found_and_may_be_replaced() -> None:
    assert kinds(Plain) == {}
    assert kinds(Heir) == {"number": int}
    assert kinds(Other) == {"number": str}


@pytest.mark.parametrize(
    "text",
    [
        "list[int]",
        "dict[int]",
        "tuple[int, str]",
        "tuple[int]",
        "typing.Any",
        "None | int | f()",
        "'Inner'",
        "int & str",
    ],
)
def test_a_spelling_that_cannot_be_read_here_is_refused(text: str) -> None:
    odd = type("Odd", (), {"__annotations__": {"a": text}, "__module__": __name__})
    with pytest.raises(TypeError, match="is no annotation that can be read here"):
        kinds(odd)


def test_a_name_that_is_unknown_is_an_error() -> None:
    with pytest.raises(AttributeError, match="Missing"):
        kinds(type("Odd", (), {"__annotations__": {"a": "Missing"}, "__module__": __name__}))


def test_every_type_of_the_wire_can_be_read() -> None:
    from hai_client.wire import schema

    classes = [one for one in vars(schema).values() if isinstance(one, type) and hasattr(one, "__dataclass_fields__")]
    assert len(classes) > 10
    assert all(set(kinds(one)) >= set(one.__dataclass_fields__) for one in classes)
