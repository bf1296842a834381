"""How a job is told to leave, and what is known of how it left (docs/scheduling.md, "Suspending, in time")."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum, StrEnum
from typing import Final, Literal

#: How a user writes a signal: its name and, optionally, the seconds before the deadline.
SIGNAL_PATTERN: Final = r"(TERM|INT|USR1|USR2)(@[0-9]{1,5}(\.[0-9]{1,3})?)?"
_WRITTEN: Final = re.compile(r"(?P<name>TERM|INT|USR1|USR2)(@(?P<before>[0-9]{1,5}(\.[0-9]{1,3})?))?")

#: The words for `Profile`.
ProfileName = Literal["auto", "sigterm", "cooperative", "slurm", "kill"]


class Profile(StrEnum):
    """How a job is told to leave."""

    #: As the job allows: a signal if it catches one, the notice file if it polls; else it may go on for the
    #: `patience` of the policy, so that a checkpoint may appear, and is then ended.
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
    """The signals that a user may choose, with their numbers on Linux."""

    INT = 2
    USR1 = 10
    USR2 = 12
    TERM = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """The signal that users have chosen for their job (`--signal USR1@60`)."""

    name: SignalName
    #: How long before the deadline the signal is sent; None: with the notice.
    before: timedelta | None = None

    def __str__(self) -> str:
        """Return the signal as users write it: `USR1`, `USR1@60`, `USR1@0.5`."""
        return self.name.name if self.before is None else f"{self.name.name}@{self.before.total_seconds():g}"

    @classmethod
    def parse(cls, text: str) -> Signal:
        """Read a signal as `str` writes it. Raises ValueError; its message says how to write one."""
        found = _WRITTEN.fullmatch(text)
        if found is None:
            names = ", ".join(SignalName.__members__)
            raise ValueError(f"{text!r} is none: write {names}, or with the seconds before the deadline USR1@60")
        before = None if found["before"] is None else timedelta(seconds=float(found["before"]))
        return cls(name=SignalName[found["name"]], before=before)


class Left(StrEnum):
    """How a run that was told to leave has ended."""

    #: The job said that it had saved, or there is a checkpoint from after the notice.
    SAVED = "saved"
    #: The run left by itself as its profile allows, and nothing shows that it had saved.
    UNKNOWN = "unknown"
    #: The run was ended at its deadline, was lost, or ended otherwise than it was asked to.
    ENDED = "ended"


class Source(StrEnum):
    """How the platform knows of a checkpoint."""

    #: The job reported the checkpoint.
    TOLD = "told"
    #: Files of the checkpoint have changed.
    SEEN = "seen"
