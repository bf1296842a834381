"""Models of policy numbers; the list of numbers comes from `service.shared.policy_numbers`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import Input, Length, Output, PriorityChoice
from hai_scheduler.api.wire.cluster import AssumptionOut
from hai_scheduler.service.shared.policy_numbers import NUMBERS, NumberKind

_VALUES: dict[NumberKind, JsonDict] = {
    NumberKind.DURATION: {"type": ["string", "number"]},
    NumberKind.FLOAT: {"type": ["number", "string"]},
    NumberKind.INT: {"type": ["integer", "string"]},
    NumberKind.CHOICE: {"type": "string"},
    NumberKind.WEIGHTS: {"type": ["object", "string"], "additionalProperties": {"type": ["number", "string"]}},
}
#: The policy numbers as the OpenAPI document shows them.
_NUMBERS_SCHEMA: JsonDict = {
    "properties": {
        number.name: {
            **_VALUES[number.kind],
            **({"enum": [choice.word for choice in number.choices]} if number.choices else {}),
            "description": number.help,
        }
        for number in NUMBERS
    },
    "additionalProperties": False,
}


_NAMES_SCHEMA: JsonDict = {"items": {"type": "string", "enum": [number.name for number in NUMBERS]}}


class PolicyValue(Output):
    """A policy number in force. Lengths of time are texts such as `15m`; weights are an object of users and numbers."""

    value: Any
    #: A length of time in seconds; null for other kinds of numbers.
    length_s: Length | None
    source: Literal["default", "configuration", "admin"]
    #: The node group for which it was set; null: all groups.
    group: str | None
    #: The admin who has set it, and the time; null: no admin has set it.
    by: str | None
    at: datetime | None


class NumberChoiceOut(Output):
    """One of the words that a number of kind `choice` may be."""

    word: str
    #: What happens then, in a few words.
    meaning: str


class PolicyNumber(Output):
    """A number of a rule of scheduling that admins may change."""

    name: str
    kind: Literal["duration", "float", "int", "weights", "choice"]
    #: The ids of the rules that use it (docs/scheduling.md).
    rule: str
    #: What the number does, in one sentence.
    help: str
    #: All its words, if its kind is `choice`; no other value is allowed then.
    choices: list[NumberChoiceOut] = []
    #: Its value when neither the configuration nor an admin sets it.
    default: Any
    #: The value in force in node groups that have no value of their own.
    common: PolicyValue
    #: The value in force in each node group.
    groups: dict[str, PolicyValue]


class PolicyOut(Output):
    """The policy numbers that the scheduler uses."""

    numbers: list[PolicyNumber]
    #: Names of the node groups.
    groups: list[str]
    #: Why the values that admins have set are not used; null: they are used.
    trouble: str | None
    #: Warnings on values that are probably mistakes.
    warnings: list[str]
    #: Of all that admins have set: sent back in `If-Match`, it makes a change fail if an admin has changed numbers in
    #: the meantime.
    version: str = ""


class LevelTrialOut(Output):
    """The tasks of a trial that ask for one priority. Waits are those for the first turn, in seconds."""

    level: PriorityChoice
    tasks: int
    wait_p50_s: float | None
    wait_p90_s: float | None
    interruptions: int


class GroupTrialOut(Output):
    """The tasks of a trial in one node group."""

    group: str
    nodes: int
    tasks: int
    #: The parts of the node time that runs held, and that was useful, 0 to 1.
    occupancy: float | None
    useful: float | None
    wait_p50_s: float | None
    wait_p90_s: float | None
    interruptions: int


class TrialSideOut(Output):
    """What happens with some policy numbers, or what has happened."""

    #: The parts of the node time that runs held, and that was useful, 0 to 1; null: not known.
    occupancy: float | None
    useful: float | None
    turns: int
    interruptions: int
    #: Node time whose work was lost, in seconds; null: not known.
    lost_node_s: float | None
    #: Tasks that never end, because they never can start.
    unfinished: int
    levels: list[LevelTrialOut]
    groups: list[GroupTrialOut]


class TrialOut(Output):
    """The tasks of the last days, simulated with the policy numbers in force and with others."""

    since: datetime
    until: datetime
    #: How many tasks were simulated.
    tasks: int
    old: TrialSideOut
    new: TrialSideOut
    #: What has happened, as the ledger has it: it tells how near the simulation with the old numbers comes.
    measured: TrialSideOut
    #: What the figures rest on, and what they cannot know.
    assumptions: list[AssumptionOut]


class TrialProgressOut(Output):
    """How far a trial has come."""

    #: From 0 to 1.
    done: float


class PolicyChange(Input):
    """Set some numbers, and reset others to the configuration or the default. Either all changes are made or none."""

    model_config = ConfigDict(json_schema_extra=shapes.POLICY_CHANGE)

    #: The node group; null: all groups that have no value of their own.
    group: Annotated[str, Field(max_length=128)] | None = None
    #: New values, by name of the number. Lengths of time are texts such as `15m`, or seconds.
    set: dict[str, Any] = Field(default={}, json_schema_extra=_NUMBERS_SCHEMA)
    #: Names of the numbers to reset.
    unset: list[str] = Field(default=[], max_length=100, json_schema_extra=_NAMES_SCHEMA)


class PolicyTrial(PolicyChange):
    """A change of policy numbers that is tried on the tasks of the last days, and not made."""

    #: How many days back, from a midnight in UTC on.
    days: Annotated[int, Field(ge=1, le=14)] = 3
