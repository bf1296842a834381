"""Describes the models of the wire as plain values, so that writers of other languages need no pydantic."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from hai_scheduler.api.bindings.comments import comments_of
from hai_scheduler.api.wire.base import Input, Output
from hai_scheduler.api.wire.values import defaults_of, is_body, wire_name
from hai_scheduler.service.shared.sent_as import SentAs, fields_of


class UnknownTypeError(TypeError):
    """A field has a type that cannot be described; the message names the field and the remedy."""


@dataclass(frozen=True, slots=True)
class PlainValue:
    """The type of a value without parts: `str`, `int`, `float`, `bool`, `time`, `any` or `null`."""

    name: Literal["str", "int", "float", "bool", "time", "any", "null"]


@dataclass(frozen=True, slots=True)
class TextChoice:
    """The type of a text that is one of some words, in the order of the model."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Several:
    """The type of a list."""

    of: Shape


@dataclass(frozen=True, slots=True)
class Table:
    """The type of an object with any keys, and values of one type."""

    of: Shape


@dataclass(frozen=True, slots=True)
class OneOf:
    """A union of types."""

    parts: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """The type of another model, by its name in the REST interface."""

    model: str


Shape = PlainValue | TextChoice | Several | Table | OneOf | Reference
NULL: Final = PlainValue("null")

_PLAIN: Final[Mapping[Any, PlainValue]] = {
    str: PlainValue("str"),
    int: PlainValue("int"),
    float: PlainValue("float"),
    bool: PlainValue("bool"),
    datetime: PlainValue("time"),
    Any: PlainValue("any"),
    NoneType: NULL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelField:
    """A field of a model."""

    name: str
    shape: Shape
    #: Its comment; empty if it has none.
    comment: str
    #: Whether the field is required: it has no default.
    required: bool
    #: The default of the Python model; None where the field is required.
    default: Any

    @property
    def nullable(self) -> bool:
        """Whether the field can be null."""
        return self.shape == NULL or (isinstance(self.shape, OneOf) and NULL in self.shape.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A body of the REST interface."""

    #: Its name in the OpenAPI document.
    name: str
    #: The module that defines it, without its package.
    module: str
    #: Name of the base model that it adds fields to.
    base: str | None
    #: Lines of its docstring.
    doc: tuple[str, ...]
    #: Fields that its base does not have.
    fields: tuple[ModelField, ...]
    #: True: clients send it; False: the service sends it.
    sent: bool


def read(roots: Iterable[type]) -> list[Model]:
    """Describe these bodies and all that they refer to, in the order in which their modules define them.

    Raises:
        UnknownTypeError: A field has a type that cannot be described.
    """
    found: dict[type, Model] = {}
    waiting = list(roots)
    while waiting:
        model = waiting.pop()
        if model not in found:
            found[model] = _model(model)
            waiting += [*_bases(model), *parts_of(model)]
    return [found[model] for model in sorted(found, key=lambda model: (model.__module__, _line(model)))]


def parts_of(model: Any) -> list[type]:
    """Return the bodies that the fields of a body name."""
    if issubclass(model, BaseModel):
        kinds = [field.annotation for field in model.model_fields.values()]
    else:
        kinds = [field.type for field in fields_of(model).values()]
    return [other for kind in kinds for other in _bodies_in(kind)]


def _bodies_in(annotation: Any) -> list[type]:
    if get_origin(annotation) is Annotated:
        sent = _sent_as(annotation)
        return _bodies_in(annotation.__origin__ if sent is None else sent)
    if isinstance(annotation, type) and is_body(annotation):
        return [annotation]
    return [model for part in get_args(annotation) for model in _bodies_in(part)]


def _sent_as(annotation: Any) -> Any:
    """Return the type in JSON of an annotated type, where it is another one; else None."""
    return next((one.wire for one in annotation.__metadata__ if isinstance(one, SentAs)), None)


def _bases(model: type) -> list[type]:
    """Return the models whose fields a model inherits."""
    return [base for base in model.__bases__ if issubclass(base, BaseModel) and base not in (Input, Output)]


def _line(model: type) -> int:
    return inspect.getsourcelines(model)[1]


def _model(model: type) -> Model:
    base = next(iter(_bases(model)), None)
    name = wire_name(model)
    return Model(
        name=name,
        module=model.__module__.rpartition(".")[2],
        base=None if base is None else base.__name__,
        doc=tuple(inspect.cleandoc(model.__doc__ or "").splitlines()),
        fields=tuple(_of_model(model, base) if issubclass(model, BaseModel) else _of_value(model)),
        sent=not issubclass(model, Output),
    )


def _of_model(model: type[BaseModel], base: type[BaseModel] | None) -> Iterator[ModelField]:
    inherited = set() if base is None else set(base.model_fields)
    comments = comments_of(model)
    for name, field in model.model_fields.items():
        if name not in inherited:
            required = field.is_required()
            yield ModelField(
                name=name,
                shape=_shape_in(model, name, field),
                comment=comments.get(name, ""),
                required=required,
                default=None if required else field.get_default(call_default_factory=True, validated_data={}),
            )


def _shape_in(model: type, name: str, field: FieldInfo) -> Shape:
    sent = next((one.wire for one in field.metadata if isinstance(one, SentAs)), None)
    return shape_of(field.annotation if sent is None else sent, f"{model.__name__}.{name}")


def _of_value(model: type) -> Iterator[ModelField]:
    comments, defaults = comments_of(model), defaults_of(model)
    for field in fields_of(model).values():
        yield ModelField(
            name=field.wire,
            shape=shape_of(field.type, f"{model.__name__}.{field.wire}"),
            comment=comments.get(field.wire, ""),
            required=field.required,
            default=defaults.get(field.wire),
        )


def shape_of(annotation: Any, where: str) -> Shape:
    """Describe the type of the field `where`.

    Raises:
        UnknownTypeError: There is no description for it.
    """
    origin, parts = get_origin(annotation), get_args(annotation)
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if origin is Annotated:
        sent = _sent_as(annotation)
        return shape_of(parts[0] if sent is None else sent, where)
    if origin is Literal and all(isinstance(part, str) for part in parts):
        return TextChoice(parts)
    if origin in (Union, UnionType):
        return OneOf(tuple(shape_of(part, where) for part in parts))
    if origin is list or (origin is tuple and parts[1:] == (...,)):
        return Several(shape_of(parts[0], where))
    if origin is dict and parts[0] is str:
        return Table(shape_of(parts[1], where))
    if is_body(annotation):
        return Reference(wire_name(annotation))
    raise UnknownTypeError(
        f"{where}: {annotation!r} is a type that bindings do not know: use one that JSON has, or add it to "
        "hai_scheduler.api.bindings.catalogue"
    )
