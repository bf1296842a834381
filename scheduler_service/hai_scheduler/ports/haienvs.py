"""The port to the environments of haienv: what a name means for a user, whether a generation is there, who uses it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hai_scheduler.core.model.pins import Pin


class HaienvFault(Exception):
    """An environment cannot be used; the message names it, and the remedy."""


class UnknownHaienv(HaienvFault):
    """There is no environment of that name, or none that the user may read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A reference to a generation: as long as it is there, `haienv gc` and `haienv remove` keep the generation."""

    #: The full name of the environment, and the generation.
    name: str
    generation: int
    #: Who uses it, in words: `task 12 of ann`.
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldGeneration:
    """A reference that is there."""

    name: str
    generation: int
    #: When it was written.
    written: datetime


class Haienvs(Protocol):
    """The environments below one folder, which the service and all tasks see at the same path."""

    @property
    def root(self) -> str:
        """The folder of all environments (HAIENV_ROOT)."""
        ...

    async def find(self, user: str, groups: Collection[str], text: str) -> Pin:
        """The generation that a name means for a user: `vision`, `vision@3`, `groups/cv/vision`, `base/torch`.

        A bare name is the user's own environment, else one of their groups', else a base one. Other users'
        environments are found where the user may read them.

        Raises:
            UnknownHaienv: There is none.
            HaienvFault: The text is no name, or the environment is damaged.
        """
        ...

    async def in_folder(self, folder: str) -> str | None:
        """The name with the generation whose prefix this folder is, such as `users/ann/vision@3`; None: of none."""
        ...

    async def check(self, user: str, pin: Pin) -> None:
        """Check that a generation is there as it was pinned: its prefix, and the digest in its manifest.

        The files themselves are not read: `haienv doctor` does that.

        Raises:
            HaienvFault: It is not; the message says what is wrong.
        """
        ...

    def prefix(self, pin: Pin) -> str:
        """The folder of the generation's Python environment."""
        ...

    async def hold(self, key: str, use: Use) -> None:
        """Write a reference under a key, over one that is there already; none is left where its generation is gone.

        Raises OSError.
        """
        ...

    async def release(self, key: str) -> None:
        """Remove the reference of a key; does nothing if there is none. Raises OSError."""
        ...

    async def held(self) -> Mapping[str, HeldGeneration]:
        """All references by key, those of other platforms on the same folder too."""
        ...
