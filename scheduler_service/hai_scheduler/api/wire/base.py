"""Base classes of all bodies of the REST interface, and the types of their fields."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from hai_scheduler.core.model.leaving import ProfileName as ProfileName
from hai_scheduler.core.model.limits import MAX_SECONDS as MAX_SECONDS
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.priority import PriorityChoice as PriorityChoice
from hai_scheduler.core.model.priority import PriorityName as PriorityName

TaskStateName = Literal[
    "queued", "starting", "running", "suspending", "suspended", "stopping", "succeeded", "failed", "stopped"
]


def _name_of(level: Any) -> Any:
    return level.name if isinstance(level, Priority) else level


#: The name of a level. It is also read from the level itself, so that a model can be made from a value of the core.
LevelName = Annotated[PriorityName, BeforeValidator(_name_of)]
#: The priority that was asked for, also read from the level; None is AUTO.
ChoiceName = Annotated[PriorityChoice, BeforeValidator(lambda level: "AUTO" if level is None else _name_of(level))]
#: Seconds, also read from a length of time.
Length = Annotated[float, BeforeValidator(lambda span: span.total_seconds() if isinstance(span, timedelta) else span)]

#: The largest number that every database can store.
MAX_NUMBER = 2**63 - 1

#: Years of times that are accepted: time zones and sums stay within what every database can store.
_YEARS = range(1971, 8999)


def in_range(when: datetime) -> datetime:
    """Return the time if every store can keep it. Raises PydanticCustomError."""
    if when.year not in _YEARS:
        raise PydanticCustomError("time", "is in the year {year}: give a time from 1971 to 8998", {"year": when.year})
    return when


#: A time that every store can keep.
Moment = Annotated[datetime, AfterValidator(in_range)]
Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]


class Input(BaseModel):
    """A body that a client sends."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False, defer_build=True)

    @model_validator(mode="after")
    def _no_nul(self) -> Self:
        """Refuse NUL characters, which no database and no environment variable can hold."""
        refuse_nul(self.__dict__.items())
        return self


def refuse_nul(values: Iterable[tuple[str, Any]]) -> None:
    """Raise PydanticCustomError if one of these values, given with its name, holds a NUL character."""
    for name, value in values:
        if _holds_nul(value):
            raise PydanticCustomError("nul", "holds a NUL character: remove it", {"field": name})


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds_nul(part) for pair in value.items() for part in pair)
    return isinstance(value, list | tuple) and any(map(_holds_nul, value))


class Output(BaseModel):
    """A body that the service sends."""

    model_config = ConfigDict(from_attributes=True, defer_build=True)

    @classmethod
    def of(cls, value: object, /, **more: Any) -> Self:
        """Return the model of a value of the service.

        Its fields are `more`, and the value's attributes of the same names; `left_s` is also read from `left`.
        """
        for name in cls.model_fields:
            if name not in more:
                own = name if hasattr(value, name) else name.removesuffix("_s")
                if hasattr(value, own):
                    more[name] = getattr(value, own)
        return cls.model_validate(more)
