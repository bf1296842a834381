"""How a job is told to leave, and what is known of how it left (docs/scheduling.md, "Suspending, in time")."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum, StrEnum
from typing import Final

#: How a chosen signal is written: its name and, at will, the seconds before the deadline.
SIGNAL_PATTERN: Final = r"(TERM|INT|USR1|USR2)(@[0-9]{1,5}(\.[0-9]{1,3})?)?"
_WRITTEN: Final = re.compile(r"(?P<name>TERM|INT|USR1|USR2)(@(?P<before>[0-9]{1,5}(\.[0-9]{1,3})?))?")


class Profile(StrEnum):
    """How a job is told to leave."""

    #: By what it does: a signal that it catches, the notice file if it polls; else it is let save, then ended.
    AUTO = "auto"
    #: SIGTERM to the workers of every rank.
    SIGTERM = "sigterm"
    #: The notice file only; the job polls.
    COOPERATIVE = "cooperative"
    #: Slurm's environment, SIGUSR1 to the workers, `scontrol requeue` means done.
    SLURM = "slurm"
    #: No notice: the job is ended at once.
    KILL = "kill"


class SignalName(IntEnum):
    """The signals that a user may choose, by Linux's numbers."""

    INT = 2
    USR1 = 10
    USR2 = 12
    TERM = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """The signal that a user has chosen for his job (`--signal USR1@60`)."""

    name: SignalName
    #: How long before the deadline it is sent; None: with the notice.
    before: timedelta | None = None

    def __str__(self) -> str:
        """`USR1`, `USR1@60`, `USR1@0.5`."""
        return self.name.name if self.before is None else f"{self.name.name}@{self.before.total_seconds():g}"

    @classmethod
    def parse(cls, text: str) -> Signal:
        """Read what `str` gave. Raises ValueError, with what is wrong and how to write it."""
        found = _WRITTEN.fullmatch(text)
        if found is None:
            names = ", ".join(SignalName.__members__)
            raise ValueError(f"{text!r} is none: write {names}, or with the seconds before the deadline USR1@60")
        before = None if found["before"] is None else timedelta(seconds=float(found["before"]))
        return cls(name=SignalName[found["name"]], before=before)


class Left(StrEnum):
    """How a run that was told to leave has ended."""

    #: It said that it had saved, or a checkpoint of the time since the notice is there.
    SAVED = "saved"
    #: It left by itself as its profile allows, and nothing shows that it had saved.
    UNKNOWN = "unknown"
    #: It was ended at its deadline, was lost, or ended otherwise than it was asked to.
    ENDED = "ended"


class Source(StrEnum):
    """How the platform knows of a checkpoint."""

    #: The job said so.
    TOLD = "told"
    #: Its files have changed.
    SEEN = "seen"
