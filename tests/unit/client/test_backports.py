"""What the client has instead of names that are newer than Python 3.8."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from hai_client.backports import _by_keyword, without_prefix


@pytest.mark.parametrize(
    ("text", "prefix", "rest"),
    [
        ("weights.alice", "weights.", "alice"),
        ("alice", "weights.", "alice"),
        ("a", "", "a"),
        ("", "a", ""),
        ("aa", "a", "a"),
    ],
)
def test_a_prefix_is_removed_once(text: str, prefix: str, rest: str) -> None:
    assert without_prefix(text, prefix) == rest == text.removeprefix(prefix)


def make(kind: type[Any], **options: Any) -> Any:
    return _by_keyword(kind, options)


class Plain:
    """A default comes before a field without one, which the dataclasses of Python 3.8 refuse."""

    first: int = 1
    second: str
    third: list[int] = dataclasses.field(default_factory=list)
    fourth: str = dataclasses.field(repr=False)


class Newer:
    first: int = 1
    second: str
    third: list[int] = dataclasses.field(default_factory=list)
    fourth: str = dataclasses.field(repr=False)


def facts(kind: type[Any]) -> list[tuple[str, bool, bool, bool]]:
    missing = dataclasses.MISSING
    return [
        (one.name, one.default is missing, one.default_factory is missing, one.repr) for one in dataclasses.fields(kind)
    ]


def test_it_is_the_dataclass_that_a_newer_python_makes() -> None:
    newer = dataclasses.dataclass(frozen=True, kw_only=True)(Newer)
    made = make(Plain, frozen=True)
    assert facts(made) == facts(newer)
    one, other = made(second="b", fourth="d"), newer(second="b", fourth="d")
    assert dataclasses.asdict(one) == dataclasses.asdict(other)
    assert repr(one).partition("(")[2] == repr(other).partition("(")[2]
    assert made(second="b", fourth="d") == one
    assert made(second="c", fourth="d") != one
    assert made(second="b", fourth="d").third is not one.third
    assert not hasattr(made, "second"), "no default is left in the class"
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.first = 2


def test_a_missing_argument_is_named() -> None:
    class Two:
        first: int
        second: int
        third: int = 0

    made = make(Two)
    with pytest.raises(TypeError, match=r"Two\(\) misses the keyword arguments first, second"):
        made(third=1)
    with pytest.raises(TypeError):
        made(first=1, second=2, fourth=4)
    with pytest.raises(TypeError):
        made(1, 2)


def test_what_a_base_needs_its_subclass_needs_too() -> None:
    class Base:
        number: int
        name: str = "x"

    base = make(Base)

    class Below(base):  # type: ignore[misc, valid-type]
        color: str

    made = make(Below)
    assert dataclasses.asdict(made(number=1, color="red")) == {"number": 1, "name": "x", "color": "red"}
    with pytest.raises(TypeError, match="number"):
        made(color="red")
    with pytest.raises(TypeError, match="number"):
        base()
