"""Policy numbers on the wire; which there are comes from their table."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import Input, Output
from hai_scheduler.service.policy.numbers import NUMBERS, Kind

_VALUES: dict[Kind, JsonDict] = {
    Kind.DURATION: {"type": ["string", "number"]},
    Kind.FLOAT: {"type": ["number", "string"]},
    Kind.INT: {"type": ["integer", "string"]},
    Kind.WEIGHTS: {"type": ["object", "string"], "additionalProperties": {"type": ["number", "string"]}},
}
#: The policy numbers as the document shows them.
_NUMBERS_SCHEMA: JsonDict = {
    "properties": {number.name: {**_VALUES[number.kind], "description": number.help} for number in NUMBERS},
    "additionalProperties": False,
}


_NAMES_SCHEMA: JsonDict = {"items": {"type": "string", "enum": [number.name for number in NUMBERS]}}


class PolicyValue(Output):
    """A number in force. Lengths of time are texts such as `15m`; weights are an object of users and numbers."""

    value: Any
    #: A length of time in seconds; null for other kinds of numbers.
    length_s: float | None
    source: Literal["default", "configuration", "admin"]
    #: For which node group it was written; null: for all of them.
    group: str | None
    #: The admin who has set it, and when.
    by: str | None
    at: datetime | None


class PolicyNumber(Output):
    """One of the numbers that the rules leave to an admin."""

    name: str
    kind: Literal["duration", "float", "int", "weights"]
    #: The rules that it belongs to (docs/scheduling.md).
    rule: str
    #: One sentence on what it does.
    help: str
    #: What it is when nobody writes it.
    default: Any
    #: In force in node groups that have no number of their own.
    common: PolicyValue
    #: In force in each node group.
    groups: dict[str, PolicyValue]


class PolicyOut(Output):
    """The numbers that the scheduler decides with."""

    numbers: list[PolicyNumber]
    #: Names of the node groups.
    groups: list[str]
    #: Why what admins have set is not used, if it is not.
    trouble: str | None
    #: What looks like a slip of the pen.
    warnings: list[str]


class PolicyChange(Input):
    """Set some numbers, and take others back to the configuration or the default. All of it is done, or nothing."""

    model_config = ConfigDict(json_schema_extra=shapes.POLICY_CHANGE)

    #: The node group; null is all groups that have no number of their own.
    group: Annotated[str, Field(max_length=128)] | None = None
    #: Numbers by name. Lengths of time are texts such as `15m`, or seconds.
    set: dict[str, Any] = Field(default={}, json_schema_extra=_NUMBERS_SCHEMA)
    #: Names of numbers.
    unset: list[str] = Field(default=[], max_length=100, json_schema_extra=_NAMES_SCHEMA)
