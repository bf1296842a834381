"""Policy numbers, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hai_client.backports import dataclass
from hai_client.wire.schema import Assumption


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyValue:
    """A policy number in force. Lengths of time are texts such as `15m`; weights are an object of users and numbers."""

    value: Any
    length_s: float | None = None  #: A length of time in seconds; None for other kinds of numbers.
    source: str  #: One of default, configuration, admin.
    group: str | None = None  #: The node group for which it was set; None: all groups.
    by: str | None = None  #: The admin who has set it, and the time; None: no admin has set it.
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberChoice:
    """One of the words that a number of kind `choice` may be."""

    word: str
    meaning: str  #: What happens then, in a few words.


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyNumber:
    """A number of a rule of scheduling that admins may change."""

    name: str
    kind: str  #: One of duration, float, int, weights, choice.
    rule: str  #: The ids of the rules that use it (docs/scheduling.md).
    help: str  #: What the number does, in one sentence.
    choices: tuple[NumberChoice, ...] = ()  #: All its words, if its kind is `choice`; no other value is allowed then.
    default: Any  #: Its value when neither the configuration nor an admin sets it.
    common: PolicyValue  #: The value in force in node groups that have no value of their own.
    groups: dict[str, PolicyValue]  #: The value in force in each node group.


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The policy numbers that the scheduler uses."""

    numbers: tuple[PolicyNumber, ...]
    groups: tuple[str, ...]  #: Names of the node groups.
    trouble: str | None = None  #: Why the values that admins have set are not used; None: they are used.
    warnings: tuple[str, ...]  #: Warnings on values that are probably mistakes.
    #: Of all that admins have set: sent back in `If-Match`, it makes a change fail if an admin has changed numbers in
    #: the meantime.
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelTrial:
    """The tasks of a trial that ask for one priority. Waits are those for the first turn, in seconds."""

    level: str
    tasks: int
    wait_p50_s: float | None = None
    wait_p90_s: float | None = None
    interruptions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTrial:
    """The tasks of a trial in one node group."""

    group: str
    nodes: int
    tasks: int
    occupancy: float | None = None  #: The parts of the node time that runs held, and that was useful, 0 to 1.
    useful: float | None = None
    wait_p50_s: float | None = None
    wait_p90_s: float | None = None
    interruptions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSide:
    """What happens with some policy numbers, or what has happened."""

    #: The parts of the node time that runs held, and that was useful, 0 to 1; None: not known.
    occupancy: float | None = None
    useful: float | None = None
    turns: int
    interruptions: int
    lost_node_s: float | None = None  #: Node time whose work was lost, in seconds; None: not known.
    unfinished: int  #: Tasks that never end, because they never can start.
    levels: tuple[LevelTrial, ...]
    groups: tuple[GroupTrial, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The tasks of the last days, simulated with the policy numbers in force and with others."""

    since: datetime
    until: datetime
    tasks: int  #: How many tasks were simulated.
    old: TrialSide
    new: TrialSide
    #: What has happened, as the ledger has it: it tells how near the simulation with the old numbers comes.
    measured: TrialSide
    assumptions: tuple[Assumption, ...]  #: What the figures rest on, and what they cannot know.


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialProgress:
    """How far a trial has come."""

    done: float  #: From 0 to 1.
