"""Environments of haienv in memory, for tests: published and damaged by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.workspace.abi import Machine, Needs, misfit
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.haienvs import (
    HaienvDetail,
    HaienvFault,
    HaienvList,
    HeldGeneration,
    ListedHaienv,
    UnknownHaienv,
    Use,
)


@dataclass(kw_only=True)
class MemoryHaienvs:
    """See `ports.haienvs.Haienvs`."""

    clock: Clock
    root: str = "/haienvs"
    #: Users' environments that everybody may use, by full name.
    shared: set[str] = field(default_factory=set)
    #: What environments need of a machine, by full name.
    needs: dict[str, Needs] = field(default_factory=dict)
    #: Whether each container is shown the environments of its user alone.
    apart: bool = False
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

    async def find(self, user: str, groups: Collection[str], text: str, *, image: Machine | None = None) -> Pin:
        """See `Haienvs.find`."""
        pin = self._find(user, groups, text)
        wrong = misfit(self.needs.get(pin.name, Needs()), image or Machine())
        if wrong is not None:
            raise HaienvFault(f"environment: {pin.reference} {wrong}")
        return pin

    def _find(self, user: str, groups: Collection[str], text: str) -> Pin:
        name, at, number = text.partition("@")
        if at and not number.isdigit():
            raise HaienvFault(f"environment: {text!r} has no number of a generation, from 1, after '@'")
        places = [f"users/{user}/", *(f"groups/{group}/" for group in sorted(groups)), "base/"]
        names = [name] if "/" in name else [f"{place}{name}" for place in places]
        owner = name.rpartition("/")[0]
        if owner.startswith("users/") and f"{owner}/" not in places and name not in self.shared:
            raise UnknownHaienv(f"environment: there is no {text!r} that is shared with {user}")
        for full in names:
            known = self._generations.get(full, {})
            if at and int(number) in known:
                return known[int(number)]
            if known and not at:
                return known[next(reversed(known))]
        raise UnknownHaienv(f"environment: there is no {text!r} below {self.root}")

    async def listed(self, user: str, groups: Collection[str], *, everybodys: bool = False) -> HaienvList:
        """See `Haienvs.listed`."""
        mine = [f"users/{user}", *(f"groups/{group}" for group in sorted(groups)), "base"]
        known = [name for name, generations in self._generations.items() if generations]

        def place(name: str) -> tuple[int, str]:
            owner = name.rpartition("/")[0]
            return (mine.index(owner) if owner in mine else len(mine), name)

        shown = [name for name in known if place(name)[0] < len(mine) or everybodys or name in self.shared]
        return HaienvList(items=tuple(self._entry(name) for name in sorted(shown, key=place)))

    async def shown(self, user: str, groups: Collection[str], text: str) -> HaienvDetail:
        """See `Haienvs.shown`."""
        pin = await self.find(user, groups, text)
        return HaienvDetail(
            found=self._entry(pin.name, pin), generation=pin.generation, packages={}, prefix=self.prefix(pin)
        )

    def _entry(self, name: str, pin: Pin | None = None) -> ListedHaienv:
        known = self._generations[name]
        current = next(reversed(known))
        shown = pin or known[current]
        return ListedHaienv(
            name=name,
            generation=current,
            generations=tuple(sorted(known)),
            digest=shown.digest,
            python=shown.python,
            files=1,
            size=1,
            built_by="ann",
            built_at="2026-01-05T08:00:00Z",
        )

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

    async def seen(
        self, user: str, groups: Collection[str], more: Collection[str] = (), *, shared: bool = False
    ) -> tuple[str, ...] | None:
        """See `Haienvs.seen`."""
        if not self.apart:
            return None
        others = [name for name in self.shared if shared]
        mine = ["base", *(f"groups/{group}" for group in groups), f"users/{user}"]
        further = [name.partition("@")[0] for name in [*more, *others]]
        return tuple(sorted({*mine, *(name for name in further if name.rpartition("/")[0] not in mine)}))

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
