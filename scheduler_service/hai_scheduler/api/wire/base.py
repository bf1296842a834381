"""What all bodies of the wire have in common, and the types of their fields."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from hai_scheduler.core.model.priority import Priority

PriorityName = Literal["LOW", "BELOW_NORMAL", "NORMAL", "ABOVE_NORMAL", "HIGH", "VERY_HIGH", "EXTREME_HIGH"]
PriorityChoice = Literal["AUTO", "LOW", "BELOW_NORMAL", "NORMAL", "ABOVE_NORMAL", "HIGH", "VERY_HIGH", "EXTREME_HIGH"]
TaskStateName = Literal[
    "queued", "starting", "running", "suspending", "suspended", "stopping", "succeeded", "failed", "stopped"
]
ProfileName = Literal["auto", "sigterm", "cooperative", "slurm", "kill"]


def _name_of(level: Any) -> Any:
    return level.name if isinstance(level, Priority) else level


#: The name of a level, read from the level itself too: a model can then take over a value of the core as it is.
LevelName = Annotated[PriorityName, BeforeValidator(_name_of)]

#: The longest length of time that is read, in seconds: ten years.
MAX_SECONDS = 315_360_000
#: The largest number that every database keeps.
MAX_NUMBER = 2**63 - 1

#: Years of times that are read: with room on both sides for zones and for what is added to them.
_YEARS = range(1971, 8999)


def in_range(when: datetime) -> datetime:
    """The time, if every store keeps it. Raises PydanticCustomError."""
    if when.year not in _YEARS:
        raise PydanticCustomError("time", "is in the year {year}: give a time from 1971 to 8998", {"year": when.year})
    return when


#: A time that every store keeps.
Moment = Annotated[datetime, AfterValidator(in_range)]
Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]


class Input(BaseModel):
    """A body that a client sends."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)

    @model_validator(mode="after")
    def _no_nul(self) -> Self:
        """No database and no environment can hold a NUL character."""
        for name, value in self.__dict__.items():
            if _holds_nul(value):
                raise PydanticCustomError("nul", "holds a NUL character: remove it", {"field": name})
        return self


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds_nul(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(map(_holds_nul, value))


class Output(BaseModel):
    """A body that the service sends."""

    model_config = ConfigDict(from_attributes=True)
