"""The facts that a rehearsal has observed, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence


#: Names of the signals that profiles send with the notice, without SIG.
SENT = {"sigterm": "TERM", "slurm": "USR1"}


@dataclass(frozen=True)
class SeenCheckpoint:
    """A checkpoint that the job reported (`told`: job.saved), or whose file was observed (`seen`)."""

    #: Seconds after the notice; negative before it.
    at_s: float
    #: `told` or `seen`.
    source: str
    path: str | None = None
    step: int | None = None


@dataclass(frozen=True)
class First:
    """The run that is interrupted. Seconds count from the notice, unless stated otherwise."""

    #: Whether the run still ran when the notice was due, and so got it.
    told: bool
    #: Seconds from its start to the notice, or to its end where that came first.
    before_s: float
    exit_code: int | None = None
    #: Seconds from the notice to its end.
    leave_s: float = 0.0
    #: Whether it was ended by force: at the deadline, or at once (profile `kill`).
    ended: bool = False
    #: Whether it called `job.should_suspend`.
    polls: bool = False
    #: Whether it caught the signal; None: it got no signal.
    caught: bool | None = None
    #: Names of the signals (without SIG) for which its workers had handlers at the notice.
    handlers: Sequence[str] = ()
    #: Whether it reported that it was done (`job.suspended`, `scontrol requeue`).
    said_done: bool = False
    #: The newest checkpoint before the notice.
    last: SeenCheckpoint | None = None
    #: The newest checkpoint after the notice.
    saved: SeenCheckpoint | None = None
    #: A file that was open for writing at the end of the run: it may be torn.
    cut: str | None = None
    #: The text that it stored (`job.set_state`).
    state: str | None = None
    trouble: str = ""


@dataclass(frozen=True)
class Second:
    """The run that resumes."""

    seconds: float
    #: None: the rehearsal ended it after it had seen enough.
    exit_code: int | None
    #: How it is known what it resumed from: `told`, `read`, `state`; None: it is not known.
    how: str | None = None
    #: The checkpoint from which it resumed.
    path: str | None = None
    step: int | None = None
    #: Seconds from its start until it resumed.
    after_s: float | None = None


@dataclass(frozen=True)
class RehearsalFacts:
    """All facts of a rehearsal."""

    command: Sequence[str]
    profile: str
    grace_s: float
    first: First
    second: Second | None = None
    #: Sentences on what could not be observed.
    notes: Sequence[str] = field(default=())

    @property
    def left(self) -> str | None:
        """Return how the first run left, in the scheduler's terms: `saved`, `unknown`, `ended`; None: no notice."""
        if not self.first.told:
            return None
        if self.first.ended:
            return "ended"
        return "saved" if self.first.saved is not None else "unknown"

    @property
    def lost_s(self) -> float | None:
        """Return the seconds of the first run's work that no checkpoint holds; None if it was not interrupted."""
        first = self.first
        if not first.told:
            return None
        if first.saved is not None:
            # The work after the last checkpoint.
            return max(0.0, first.leave_s - first.saved.at_s) if first.ended else 0.0
        since = -first.before_s if first.last is None else first.last.at_s
        return max(0.0, first.leave_s - since)

    @property
    def nothing_lost(self) -> bool:
        """Return whether the first run saved and left in time, and the second run resumed from that checkpoint."""
        second = self.second
        if self.left != "saved" or second is None or second.exit_code not in (None, 0):
            return False
        return second.how is not None
