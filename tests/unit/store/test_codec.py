"""Any dataclass as a row and back, by the types of its fields; and what cannot be a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
from sqlalchemy import JSON, BigInteger, Column, Integer, MetaData, Table, Text

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.store.codec import RowCodec
from kit.builders import T0


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, kw_only=True)
class Part:
    number: int
    at: datetime
    took: timedelta | None = None
    colours: frozenset[Colour] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Whole:
    id: int = 0
    task: TaskId | None = None
    day: date
    price: Decimal = Decimal("0.10")
    note: str = ""
    names: tuple[str, ...] = ()
    where: str = ""
    parts: tuple[Part, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)


TABLE = Table(
    "hai_wholes",
    MetaData(),
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("task_id", BigInteger),
    Column("day", Text, nullable=False),
    Column("price", Text, nullable=False),
    Column("note", Text),
    Column("names", JSON),
    Column("data", JSON, nullable=False),
)
WHOLE = RowCodec(Whole, TABLE, given=("where",), task="task_id")
FULL = Whole(
    id=3,
    task=TaskId(7),
    day=date(2026, 1, 5),
    note="n",
    names=("b", "a"),
    where="here",
    parts=(Part(number=1, at=T0, took=timedelta(microseconds=1), colours=frozenset(Colour)), Part(number=2, at=T0)),
    params={"a": [1]},
)
BARE = Whole(day=date(2026, 1, 5))


def row_of(value: Whole) -> tuple[Any, ...]:
    values = {"id": value.id, **WHOLE.values(value)}
    return tuple(values[column.name] for column in TABLE.columns)


@pytest.mark.parametrize("value", [FULL, BARE], ids=["full", "bare"])
def test_a_value_comes_back(value: Whole) -> None:
    assert WHOLE.of((*row_of(value), "of another table"), where=value.where) == value


def test_a_row_that_is_older_than_any_field_without_a_column_has_their_defaults() -> None:
    table = Table("hai_parts", MetaData(), Column("at", BigInteger), Column("number", Integer), Column("data", JSON))
    part = RowCodec(Part, table).of((0, 3, None))
    assert (part.number, part.took, part.colours) == (3, None, frozenset())


def test_a_row_has_a_column_for_each_field_and_the_rest_in_one() -> None:
    assert WHOLE.values(FULL, task_id=8) == {
        "task_id": 8,
        "day": "2026-01-05",
        "price": "0.10",
        "note": "n",
        "names": ["b", "a"],
        "data": {
            "parts": [
                {"number": 1, "at": 1767600000000000, "took": 1, "colours": ["red"]},
                {"number": 2, "at": 1767600000000000, "took": None, "colours": []},
            ],
            "params": {"a": [1]},
        },
    }


def test_what_is_empty_is_null_where_a_column_may_be() -> None:
    assert (WHOLE.values(BARE)["note"], WHOLE.values(BARE)["names"], WHOLE.values(BARE)["task_id"]) == (None,) * 3


def test_a_field_without_a_column_is_found_when_the_codec_is_made() -> None:
    with pytest.raises(TypeError, match=r"Part has fields without a column in hai_parts: took, colours"):
        RowCodec(Part, Table("hai_parts", MetaData(), Column("number", Integer), Column("at", BigInteger)))
