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

    at_s: float  #: Seconds after the notice; negative before it.
    source: str  #: `told` or `seen`.
    path: str | None = None
    step: int | None = None


@dataclass(frozen=True)
class First:
    """The run that is interrupted. Seconds count from the notice, unless stated otherwise."""

    told: bool  #: Whether the run still ran when the notice was due, and so got it.
    before_s: float  #: Seconds from its start to the notice, or to its end where that came first.
    exit_code: int | None = None
    leave_s: float = 0.0  #: Seconds from the notice to its end.
    ended: bool = False  #: Whether it was ended by force: at the deadline, or at once (profile `kill`).
    polls: bool = False  #: Whether it called `job.should_suspend`.
    caught: bool | None = None  #: Whether it caught the signal; None: it got no signal.
    #: Names of the signals (without SIG) for which its workers had handlers at the notice.
    handlers: Sequence[str] = ()
    said_done: bool = False  #: Whether it reported that it was done (`job.suspended`, `scontrol requeue`).
    last: SeenCheckpoint | None = None  #: The newest checkpoint before the notice.
    saved: SeenCheckpoint | None = None  #: The newest checkpoint after the notice.
    cut: str | None = None  #: A file that was open for writing at the end of the run: it may be torn.
    state: str | None = None  #: The text that it stored (`job.set_state`).
    trouble: str = ""


@dataclass(frozen=True)
class Second:
    """The run that resumes."""

    seconds: float
    exit_code: int | None  #: None: the rehearsal ended it after it had seen enough.
    how: str | None = None  #: How it is known what it resumed from: `told`, `read`, `state`; None: it is not known.
    path: str | None = None  #: The checkpoint from which it resumed.
    step: int | None = None
    after_s: float | None = None  #: Seconds from its start until it resumed.


@dataclass(frozen=True)
class RehearsalFacts:
    """All facts of a rehearsal."""

    command: Sequence[str]
    profile: str
    grace_s: float
    first: First
    second: Second | None = None
    notes: Sequence[str] = field(default=())  #: Sentences on what could not be observed.

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
