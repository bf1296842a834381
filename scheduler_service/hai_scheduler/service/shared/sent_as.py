"""How values of the core stand in bodies of JSON, so that a body is read as the value itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING
from datetime import timedelta
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pydantic import Field, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from hai_scheduler.core.model.leaving import Signal
from hai_scheduler.core.model.limits import MAX_SECONDS
from hai_scheduler.core.model.priority import Priority, PriorityChoice, PriorityName, choice_of, level_name, level_of
from hai_scheduler.core.model.secret_refs import REFERENCE_LENGTH, SecretRef
from hai_scheduler.service.shared.errors import Invalid


class SentAs:
    """The annotation of a type that is another one in JSON.

    Args:
        wire: The type in JSON, with its limits.
        load: Makes the value of what was read.
        dump: Makes what is written of the value.
    """

    def __init__(self, wire: Any, load: Callable[[Any], Any], dump: Callable[[Any], Any]) -> None:
        self.wire, self._load, self._dump = wire, load, dump

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the type; pydantic calls this."""
        sent = handler.generate_schema(self.wire)
        written = core_schema.plain_serializer_function_ser_schema(self._dump, return_schema=sent)
        return core_schema.no_info_after_validator_function(self._load, sent, serialization=written)


@dataclasses.dataclass(frozen=True, slots=True)
class ValueField:
    """A field of a dataclass that is a body."""

    #: Its name in JSON.
    wire: str
    #: Its type, with annotations.
    type: Any
    required: bool


@cache
def fields_of(kind: type) -> dict[str, ValueField]:
    """Return the fields of a dataclass that is a body, by their own names."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        one.name: ValueField(
            wire=_alias_of(hints[one.name]) or one.name,
            type=hints[one.name],
            required=one.default is MISSING and one.default_factory is MISSING,
        )
        for one in dataclasses.fields(kind)
    }


def annotations_of(hint: Any) -> tuple[Any, ...]:
    """Return what a type is annotated with, its parts' annotations included."""
    own = hint.__metadata__ if get_origin(hint) is Annotated else ()
    parts = get_args(hint)[:1] if own else get_args(hint)
    return (*own, *(one for part in parts for one in annotations_of(part)))


def _alias_of(hint: Any) -> str | None:
    own = hint.__metadata__ if get_origin(hint) is Annotated else ()
    return next((one.alias for one in own if isinstance(one, FieldInfo) and one.alias), None)


def by_word(kind: type[StrEnum], words: Any) -> SentAs:
    """Return the annotation of an enumeration, by its words; `words` is their Literal."""
    return SentAs(words, kind, str)


def _signal_of(text: str) -> Signal:
    try:
        return Signal.parse(text)
    except ValueError as error:
        raise Invalid("signal", text, str(error)) from None


def _reference_of(text: str) -> SecretRef:
    try:
        return SecretRef.parse(text)
    except ValueError as error:
        raise Invalid("secrets", text, str(error)) from None


#: A length of time is a number of seconds, in a field whose name ends in `_s`.
IN_SECONDS: Final = SentAs(
    Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)],
    lambda seconds: timedelta(seconds=seconds),
    timedelta.total_seconds,
)
#: The same, for one that is not 0.
IN_SOME_SECONDS: Final = SentAs(
    Annotated[float, Field(gt=0, le=MAX_SECONDS, allow_inf_nan=False)],
    lambda seconds: timedelta(seconds=seconds),
    timedelta.total_seconds,
)
#: A level that is asked for, by its name; None is AUTO.
BY_NAME: Final = SentAs(PriorityChoice, level_of, choice_of)
#: A level, by its name.
LEVEL: Final = SentAs(PriorityName, lambda name: Priority[name], level_name)
#: A signal as users write it.
AS_WRITTEN: Final = SentAs(Annotated[str, Field(max_length=16)], _signal_of, str)
#: A secret that a task gets, as users write it.
AS_REFERENCE: Final = SentAs(Annotated[str, Field(min_length=1, max_length=REFERENCE_LENGTH)], _reference_of, str)
