"""Policy numbers as the service sends them, as frozen dataclasses; see `hai_client.wire.schema`."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Any

from hai_client.backports import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyValue:
    """A number in force and where it comes from: default, configuration or admin.

    Lengths of time are texts such as `15m`, and `length_s` is them in seconds. `group` is the node group that it was
    written for, None all of them.
    """

    value: Any
    length_s: float | None = None
    source: str
    group: str | None = None
    by: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyNumber:
    """One of the numbers that the scheduler decides with: in force in general, and in each node group."""

    name: str
    kind: str
    rule: str
    help: str
    default: Any = None
    common: PolicyValue
    groups: dict[str, PolicyValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The numbers that the scheduler decides with; `trouble` says why what admins have set is not used, if so."""

    numbers: tuple[PolicyNumber, ...]
    groups: tuple[str, ...] = ()
    trouble: str | None = None
    warnings: tuple[str, ...] = ()
