"""Environments of haienv in memory, for tests: published and damaged by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from hai_scheduler.core.model.pins import Pin
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.haienvs import HaienvFault, HeldGeneration, UnknownHaienv, Use


@dataclass(kw_only=True)
class MemoryHaienvs:
    """See `ports.haienvs.Haienvs`."""

    clock: Clock
    root: str = "/haienvs"
    #: References by key.
    uses: dict[str, Use] = field(default_factory=dict)
    _written: dict[str, datetime] = field(default_factory=dict)
    _generations: dict[str, dict[int, Pin]] = field(default_factory=dict)

    def publish(self, pin: Pin) -> None:
        """Make a generation the current one of its environment."""
        known = self._generations.setdefault(pin.name, {})
        known.pop(pin.generation, None)
        known[pin.generation] = replace(pin, latest=False)

    def remove(self, pin: Pin) -> None:
        """Remove a generation."""
        del self._generations[pin.name][pin.generation]

    async def find(self, user: str, groups: Collection[str], text: str) -> Pin:
        """See `Haienvs.find`."""
        name, at, number = text.partition("@")
        if at and not number.isdigit():
            raise HaienvFault(f"environment: {text!r} has no number after '@'")
        places = [f"users/{user}/", *(f"groups/{group}/" for group in sorted(groups)), "base/"]
        names = [name] if "/" in name else [f"{place}{name}" for place in places]
        for full in names:
            known = self._generations.get(full, {})
            if at and int(number) in known:
                return known[int(number)]
            if known and not at:
                return known[next(reversed(known))]
        raise UnknownHaienv(f"environment: there is no {text!r} below {self.root}")

    async def in_folder(self, folder: str) -> str | None:
        """See `Haienvs.in_folder`."""
        known = (pin for generations in self._generations.values() for pin in generations.values())
        return next((pin.reference for pin in known if self.prefix(pin) == folder), None)

    async def check(self, user: str, pin: Pin) -> None:
        """See `Haienvs.check`."""
        del user
        found = self._generations.get(pin.name, {}).get(pin.generation)
        if found is None:
            raise HaienvFault(f"environment {pin.reference} is gone")
        if found.digest != pin.digest:
            raise HaienvFault(f"environment {pin.reference} has another digest than {pin.digest}")

    def prefix(self, pin: Pin) -> str:
        """See `Haienvs.prefix`."""
        return f"{self.root}/{pin.name}/generations/{pin.generation}/prefix"

    async def hold(self, key: str, use: Use) -> None:
        """See `Haienvs.hold`."""
        if use.generation in self._generations.get(use.name, {}):
            self.uses[key], self._written[key] = use, self.clock.now()
        else:
            await self.release(key)

    async def release(self, key: str) -> None:
        """See `Haienvs.release`."""
        self.uses.pop(key, None)
        self._written.pop(key, None)

    async def held(self) -> Mapping[str, HeldGeneration]:
        """See `Haienvs.held`."""
        return {
            key: HeldGeneration(name=use.name, generation=use.generation, written=self._written[key])
            for key, use in self.uses.items()
        }
