"""Models of the wire as plain values: which types are described, and how."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from hai_scheduler.api.bindings.catalogue import (
    NULL,
    OneOf,
    PlainValue,
    Reference,
    Several,
    Shape,
    Table,
    TextChoice,
    UnknownTypeError,
    parts_of,
    read,
    shape_of,
)
from hai_scheduler.api.wire.base import Output
from hai_scheduler.service.shared.sent_as import IN_SECONDS
from unit.api.bindings.models import MoreOut, PartOut, ThingPut, WholeOut

SHAPES: list[tuple[Any, Shape]] = [
    (str, PlainValue("str")),
    (bool, PlainValue("bool")),
    (datetime, PlainValue("time")),
    (Any, PlainValue("any")),
    (type(None), NULL),
    (Annotated[int, Field(ge=1)], PlainValue("int")),
    (Literal["b", "a"], TextChoice(("b", "a"))),
    (list[float], Several(PlainValue("float"))),
    (dict[str, list[int]], Table(Several(PlainValue("int")))),
    (PartOut, Reference("PartOut")),
    (int | Literal["all"] | None, OneOf((PlainValue("int"), TextChoice(("all",)), NULL))),
    (list[PartOut] | None, OneOf((Several(Reference("PartOut")), NULL))),
]


@pytest.mark.parametrize(("annotation", "shape"), SHAPES, ids=lambda value: str(value)[:40])
def test_a_type_that_json_has_is_described(annotation: Any, shape: Shape) -> None:
    assert shape_of(annotation, "here") == shape


@pytest.mark.parametrize("annotation", [tuple[int, int], set[str], dict[int, str], Literal[1], bytes, list[bytes]])
def test_a_type_that_json_does_not_have_is_refused_with_its_field(annotation: Any) -> None:
    with pytest.raises(
        UnknownTypeError, match=r"^Some\.field: .* is a type that bindings do not know: use one that JSON"
    ):
        shape_of(annotation, "Some.field")


def test_a_type_without_a_description_is_refused_with_its_field() -> None:
    class OddOut(Output):
        """Odd."""

        pair: tuple[int, int]

    with pytest.raises(UnknownTypeError, match=r"OddOut\.pair: tuple\[int, int\] is a type that bindings do not know"):
        read([OddOut])


def test_what_a_model_refers_to_and_its_base_are_described_too_in_the_order_of_their_module() -> None:
    assert [model.name for model in read([ThingPut, MoreOut])] == ["PartOut", "WholeOut", "MoreOut", "ThingPut"]
    assert [model.name for model in read([PartOut, PartOut])] == ["PartOut"]


def test_a_model_has_the_fields_that_its_base_lacks() -> None:
    part, whole, more = read([MoreOut])
    assert (part.base, whole.base, more.base) == (None, None, "WholeOut")
    assert [field.name for field in more.fields] == ["ready"]
    assert [field.name for field in whole.fields] == ["at", "parts", "names", "each", "tags", "data"]
    assert whole.doc == ("Something whole.", "", "With a second paragraph.")
    assert whole.module == "models"


def test_a_field_says_whether_it_may_be_left_out_what_it_is_then_and_whether_it_can_be_null() -> None:
    fields = {field.name: field for model in read([WholeOut, ThingPut]) for field in model.fields}
    assert {name for name, field in fields.items() if field.required} == {
        "limit", "kind", "at", "parts", "names", "data", "name",
    }  # fmt: skip
    assert {name for name, field in fields.items() if field.nullable} == {"limit", "at", "each"}
    assert (fields["tags"].default, fields["grace_s"].default, fields["at"].default) == ([], 1.5, None)
    assert (fields["at"].comment, fields["parts"].comment) == ("When it was made; null: nobody knows.", "")


def test_a_body_that_clients_send_is_told_from_an_answer() -> None:
    assert {model.name: model.sent for model in read([ThingPut, PartOut])} == {"ThingPut": True, "PartOut": False}


def test_a_default_that_is_made_by_a_function_is_described_as_what_it_makes() -> None:
    class ListOut(Output):
        """A list."""

        names: list[str] = Field(default_factory=lambda: ["a"])

    ((names,),) = [model.fields for model in read([ListOut])]
    assert (names.required, names.default) == (False, ["a"])


def test_bodies_are_found_at_any_depth_of_a_field() -> None:
    class DeepOut(Output):
        """Deep."""

        a: dict[str, list[PartOut | None]] | ThingPut | int
        b: str
        c: BaseModel

    assert parts_of(DeepOut) == [PartOut, ThingPut, BaseModel]


def test_a_value_of_the_service_is_described_as_it_stands_in_json() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Odd:
        """Odd."""

        __pydantic_config__ = ConfigDict(title="OddPut")

        length: Annotated[Annotated[timedelta, IN_SECONDS] | None, Field(alias="length_s")] = None
        names: tuple[str, ...] = ()
        size: int

    (model,) = read([Odd])
    assert (model.name, model.sent) == ("OddPut", True)
    assert [(one.name, one.shape, one.required, one.default) for one in model.fields] == [
        ("length_s", OneOf((PlainValue("float"), NULL)), False, None),
        ("names", Several(PlainValue("str")), False, []),
        ("size", PlainValue("int"), True, None),
    ]
