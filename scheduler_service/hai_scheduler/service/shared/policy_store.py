"""The policy numbers in force, and where each of them comes from.

A number of a node group is the admin's value for the group, else the configuration's value for the group, else the
admin's value for all groups, else the configuration's value for all groups, else the default.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal

from hai_scheduler.core.model.policy import Policies, Policy, PolicyError
from hai_scheduler.ports.store import Tx
from hai_scheduler.service.shared.policy_numbers import BY_NAME, read, written
from hai_scheduler.service.shared.settings import ServiceSettings

log = logging.getLogger(__name__)

#: Name of the setting in the store.
SETTING: Final = "policy"

_DEFAULT: Final = Policy()


@dataclass(frozen=True, slots=True)
class Override:
    """A value that an admin has set: the value, the admin and the time."""

    value: Any
    by: str
    at: datetime


#: The values of admins, by node group (None: all groups) and name.
Overrides = Mapping[str | None, Mapping[str, Override]]

_NONE: Final[Overrides] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NumberOrigin:
    """A value in force and its source."""

    value: Any
    source: Literal["default", "configuration", "admin"]
    #: The node group that it was written for; None is all groups.
    group: str | None = None
    by: str | None = None
    at: datetime | None = None


class Misfit(PolicyError):
    """Numbers of a node group contradict each other; the message names group, number, value and remedy."""

    def __init__(self, group: str | None, error: PolicyError) -> None:
        place = "" if group is None else f"in group {group!r}: "
        super().__init__(error.name, f"{place}{error}")
        #: The node group; None is all groups without numbers of their own.
        self.group = group


@dataclass(frozen=True, slots=True)
class PolicyLayers:
    """The configuration, with the values of admins on top."""

    settings: ServiceSettings
    overrides: Overrides = field(default_factory=dict)

    def groups(self) -> frozenset[str]:
        """The node groups that have numbers of their own."""
        own = [group for group, numbers in self.overrides.items() if group is not None and numbers]
        return frozenset([*self.settings.policy.groups, *own])

    def origin(self, name: str, group: str | None = None) -> NumberOrigin:
        """The number in force in the node group (None: in all groups without numbers of their own), with its source."""
        for level in dict.fromkeys((group, None)):
            override = self.overrides.get(level, {}).get(name)
            if override is not None:
                return NumberOrigin(override.value, "admin", level, override.by, override.at)
            if self._configured(name, level):
                return NumberOrigin(getattr(self._of(level), name), "configuration", level)
        return NumberOrigin(getattr(_DEFAULT, name), "default")

    def _of(self, level: str | None) -> Policy:
        policy = self.settings.policy
        return policy.default if level is None else policy.of(level)

    def _configured(self, name: str, level: str | None) -> bool:
        """True if the configuration sets the number at this level, or has a value other than the level below."""
        below = _DEFAULT if level is None else self.settings.policy.default
        return (level, name) in self.settings.policy_written or getattr(self._of(level), name) != getattr(below, name)

    def policies(self) -> Policies:
        """The policies in force, as the core takes them. Raises Misfit."""
        return Policies(
            default=self._policy(None),
            groups=MappingProxyType({group: self._policy(group) for group in sorted(self.groups())}),
        )

    def _policy(self, group: str | None) -> Policy:
        try:
            return Policy(**{name: self.origin(name, group).value for name in BY_NAME})
        except PolicyError as error:
            raise Misfit(group, error) from None


@dataclass(slots=True)
class PolicyStore:
    """The policies in force. The store has the true values; `current` is what was last read."""

    settings: ServiceSettings
    current: Policies = field(init=False)
    #: The configuration with the values of admins, or without them if they do not fit the configuration.
    layers: PolicyLayers = field(init=False)
    #: Why the values of admins are not used; None: they are.
    trouble: str | None = field(init=False, default=None)
    _text: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.layers = PolicyLayers(self.settings)
        self.current = self.layers.policies()

    def of(self, group: str) -> Policy:
        """The policy in force in a node group."""
        return self.current.of(group)

    async def refresh(self, tx: Tx) -> Policies:
        """Read the values of admins; returns the policies. If a value does not fit, none is used, as `trouble` says."""
        text = await tx.settings.get(SETTING)
        if text == self._text:
            return self.current
        overrides, faults = overrides_of(text)
        layers, trouble = PolicyLayers(self.settings, overrides), faults
        try:
            current = layers.policies()
        except Misfit as error:
            trouble = str(error)
        if trouble is not None:
            layers = PolicyLayers(self.settings)
            current = layers.policies()
            log.error("policy numbers that admins have set are not used: %s", trouble)
        self._text, self.layers, self.current, self.trouble = text, layers, current, trouble
        return self.current


def overrides_of(text: str | None) -> tuple[Overrides, str | None]:
    """The values in the setting, and a message if some cannot be read; those are left out."""
    if text is None:
        return _NONE, None
    found: dict[str | None, dict[str, Override]] = {}
    fault: str | None = None
    try:
        stored = json.loads(text)
        for level, numbers in ((None, stored["all"]), *stored["groups"].items()):
            for name, entry in numbers.items():
                try:
                    value = read(name, entry["value"])
                except PolicyError as error:
                    fault = str(error)
                else:
                    when = datetime.fromisoformat(entry["at"])
                    found.setdefault(level, {})[name] = Override(value, entry["by"], when)
    except (ValueError, KeyError, TypeError, AttributeError):
        return _NONE, "what is stored of them cannot be read: set them again"
    return found, fault


def text_of(overrides: Overrides) -> str | None:
    """The text of the setting; None if no value is set."""
    levels = {
        level: {
            name: {"value": written(one.value), "by": one.by, "at": one.at.isoformat()}
            for name, one in sorted(numbers.items())
        }
        for level, numbers in overrides.items()
        if numbers
    }
    if not levels:
        return None
    groups = {level: numbers for level, numbers in levels.items() if level is not None}
    return json.dumps({"all": levels.get(None, {}), "groups": groups}, sort_keys=True)
