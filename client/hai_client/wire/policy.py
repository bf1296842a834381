"""Policy numbers, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hai_client.backports import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyValue:
    """A number in force. Lengths of time are texts such as `15m`; weights are an object of users and numbers."""

    value: Any
    #: A length of time in seconds; None for other kinds of numbers.
    length_s: float | None = None
    #: One of default, configuration, admin.
    source: str
    #: For which node group it was written; None: for all of them.
    group: str | None = None
    #: The admin who has set it, and when.
    by: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyNumber:
    """One of the numbers that the rules leave to an admin."""

    name: str
    #: One of duration, float, int, weights.
    kind: str
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The numbers that the scheduler decides with."""

    numbers: tuple[PolicyNumber, ...]
    #: Names of the node groups.
    groups: tuple[str, ...]
    #: Why what admins have set is not used, if it is not.
    trouble: str | None = None
    #: What looks like a slip of the pen.
    warnings: tuple[str, ...]
