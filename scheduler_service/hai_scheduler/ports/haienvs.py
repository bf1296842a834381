"""The port to the environments of haienv: what a name means for a user, whether a generation is there, who uses it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.workspace.abi import Machine


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHaienv:
    """An environment in a list: facts of its current generation, from its manifest."""

    #: The full name: `users/ann/vision`, `groups/cv/vision` or `base/torch`.
    name: str
    #: The current generation; None: it has none that can be read.
    generation: int | None = None
    #: The complete generations, in order.
    generations: tuple[int, ...] = ()
    digest: str = ""
    #: The version of Python, such as 3.11.7.
    python: str = ""
    #: The version of CUDA that its packages are for; None: none.
    cuda: str | None = None
    #: Number of its files, and the sum of their sizes in bytes; None: unknown.
    files: int | None = None
    size: int | None = None
    #: The generation that it extends, such as `base/torch@3`.
    extends: str | None = None
    built_by: str = ""
    #: RFC 3339.
    built_at: str = ""
    #: Whether Jupyter offers it as a kernel.
    kernel: bool = False
    #: Whether there is a draft with changes that no generation has yet.
    draft: bool = False
    #: What is wrong with it; empty: nothing.
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HaienvList:
    """Environments by owner and name: the user's own, groups', base ones, then those of others."""

    items: tuple[ListedHaienv, ...]
    #: Whether there are more than are listed.
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HaienvDetail:
    """One generation of an environment, with its packages."""

    found: ListedHaienv
    #: The generation that is shown, which need not be the current one.
    generation: int
    #: Versions by package.
    packages: Mapping[str, str]
    #: The folder of its Python.
    prefix: str


class Haienvs(Protocol):
    """The environments below one folder, which the service and all tasks see at the same path."""

    @property
    def root(self) -> str:
        """The folder of all environments (HAIENV_ROOT)."""
        ...

    async def find(self, user: str, groups: Collection[str], text: str, *, image: Machine | None = None) -> Pin:
        """The generation that a name means for a user: `vision`, `vision@3`, `groups/cv/vision`, `base/torch`.

        A bare name is the user's own environment, else one of their groups', else a base one. Other users'
        environments are found where the user may read them.

        Args:
            user: The user.
            groups: The user's groups.
            text: The name.
            image: What is known of the image in which it is to run; it counts where tasks run in images.

        Raises:
            UnknownHaienv: There is none.
            HaienvFault: The text is no name, the environment is damaged, or it is known that it cannot run where tasks
                do: another architecture, an older glibc, a driver too old for its CUDA.
        """
        ...

    async def listed(self, user: str, groups: Collection[str], *, everybodys: bool = False) -> HaienvList:
        """The environments that a user may use: their own, their groups', base ones, and others' that they may read.

        With `everybodys` also those that the user may not read, as far as their names can be known. Only names of
        folders and manifests are read, at most a thousand; what cannot be read is listed with its trouble.

        Raises HaienvFault.
        """
        ...

    async def shown(self, user: str, groups: Collection[str], text: str) -> HaienvDetail:
        """What a name means for a user, as `find` tells it, with its packages. Raises UnknownHaienv, HaienvFault."""
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

    async def seen(
        self, user: str, groups: Collection[str], more: Collection[str] = (), *, shared: bool = False
    ) -> tuple[str, ...] | None:
        """The folders below the root that a container of a user is shown, none of them in another one; None: all.

        Args:
            user: The user.
            groups: The user's groups.
            more: The full names of further environments, which the user may use.
            shared: Whether also all that others share with the user.
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
