"""Whether the compiled files of an environment run on a machine: architecture, glibc and CUDA."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from hai_scheduler.core.model.ids import TaskId

#: The oldest NVIDIA driver that runs programs of a major version of CUDA: minor versions are compatible with one
#: another (CUDA Compatibility, docs.nvidia.com/deploy/cuda-compatibility).
_OLDEST_DRIVER: Final = {11: 450, 12: 525, 13: 580}
#: The names of architectures and the versions of glibc that are taken.
MACHINE: Final = "[a-z0-9_]{1,20}"
GLIBC: Final = "[0-9]{1,2}\\.[0-9]{1,3}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a generation needs, by its manifest; an empty text: nothing, or not known."""

    #: Such as x86_64.
    machine: str = ""
    #: The oldest glibc, such as 2.28.
    glibc: str = ""
    #: The CUDA of its packages, such as 12.6.
    cuda: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the machines have on which tasks run; an empty text: not known, and then nothing is said."""

    machine: str = ""
    glibc: str = ""
    #: The version of NVIDIA's driver, such as 535.104.05. Where there is none, a GPU is not what tasks use.
    driver: str = ""
    #: What has these, as the subject of a sentence: an image has its own glibc.
    name: str = "the nodes"

    def known_with(self, other: Machine) -> Machine:
        """Return this machine, or where nothing but a driver is known of it, what another one is known to have."""
        if self.machine or self.glibc:
            return self
        return replace(other, driver=self.driver or other.driver)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformImage:
    """The image of ranks whose environment names none, with what an admin has said of it; empty: nothing."""

    image: str
    machine: str = ""
    glibc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMachine:
    """What the first rank of a task has found in the image that it runs in."""

    #: The image, as `key_of` returns it.
    image: str
    machine: str
    #: Empty: the image has another C library.
    glibc: str
    #: The task whose rank has found it, and when.
    task: TaskId
    at: datetime

    def as_machine(self, name: str) -> Machine:
        """Return what is known of the image that users know by a name."""
        return Machine(machine=self.machine, glibc=self.glibc, name=f"{name} (found by task {self.task})")


def key_of(image: str) -> str:
    """Return the name under which is kept what was found in an image: its digest if it has one, else its name."""
    return image.rpartition("@")[2]


def found_now(before: FoundMachine | None, now: FoundMachine) -> FoundMachine | None:
    """Return what has to be written after a task has found something in an image; None: nothing.

    What a digest names never changes, so the first word counts there; a tag may name another image tomorrow.
    """
    if before is None:
        return now
    if now.image.startswith("sha256:") or (before.machine, before.glibc) == (now.machine, now.glibc):
        return None
    return now


def misfit(needs: Needs, has: Machine) -> str | None:
    """Return why an environment cannot run there, and the remedy; None: nothing is known that speaks against it."""
    if needs.machine and has.machine and needs.machine != has.machine:
        return (
            f"is for {needs.machine}, and {has.name} {_verb(has, 'is', 'are')} for {has.machine}: build it on a machine"
            " of that kind, or name another environment"
        )
    if _newer(needs.glibc, has.glibc):
        return (
            f"needs glibc {needs.glibc}, and {has.name} {_verb(has, 'has', 'have')} {has.glibc}: build it where glibc"
            " is as old, or choose versions of its packages with wheels for it"
        )
    major = _numbers(needs.cuda)[:1]
    oldest = _OLDEST_DRIVER.get(major[0]) if major else None
    driver = _numbers(has.driver)[:1]
    if oldest is not None and driver and driver[0] < oldest:
        return (
            f"has packages for CUDA {needs.cuda}, which needs NVIDIA's driver {oldest} or newer, and the nodes have"
            f" {has.driver}: install versions for an older CUDA, or ask an admin for a newer driver"
        )
    return None


def _verb(has: Machine, of_one: str, of_many: str) -> str:
    return of_many if has.name == Machine().name else of_one


def _newer(needed: str, there: str) -> bool:
    return bool(needed and there) and _numbers(needed) > _numbers(there)


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(one) for one in found[0].split(".")) if found else ()
