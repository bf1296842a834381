"""What a rehearsal has seen, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence


#: The signals that profiles send with the notice, without SIG.
SENT = {"sigterm": "TERM", "slurm": "USR1"}


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that the job told of (`told`: job.saved), or whose file was seen (`seen`)."""

    #: Seconds after the notice; negative before it.
    at_s: float
    #: `told` or `seen`.
    source: str
    path: str | None = None
    step: int | None = None


@dataclass(frozen=True)
class First:
    """The run that is interrupted. Seconds count from the notice where no other moment is named."""

    #: Whether it was still there when the notice was due, and so could be told anything.
    told: bool
    #: Seconds from its start to the notice, or to its end where that came first.
    before_s: float
    exit_code: int | None = None
    #: The number of the signal that its main process died of; None: it did not.
    died_of: int | None = None
    #: Seconds from the notice to its end.
    leave_s: float = 0.0
    #: Whether it had to be ended: at the deadline, or at once (profile `kill`).
    ended: bool = False
    #: Whether it called `job.should_suspend`.
    polls: bool = False
    #: Whether the signal that it was sent was caught; None: it was sent none.
    caught: bool | None = None
    #: Signals (without SIG) that its workers had handlers for when the notice came.
    handlers: Sequence[str] = ()
    #: Whether it said that it was done (`job.suspended`, `scontrol requeue`).
    said_done: bool = False
    #: The newest checkpoint before the notice.
    last: Checkpoint | None = None
    #: The newest one after it.
    saved: Checkpoint | None = None
    #: A file that was still being written when the run was ended: it may be torn.
    cut: str | None = None
    #: The text that it kept (`job.set_state`).
    state: str | None = None
    trouble: str = ""


@dataclass(frozen=True)
class Second:
    """The run that resumes."""

    seconds: float
    #: None: it was ended when enough had been seen.
    exit_code: int | None
    #: How it is known that it went on from something: `told`, `read`, `state`; None: it is not known.
    how: str | None = None
    #: What it went on from.
    path: str | None = None
    step: int | None = None
    #: Seconds from its start until then.
    after_s: float | None = None


@dataclass(frozen=True)
class Facts:
    """All of a rehearsal."""

    command: Sequence[str]
    profile: str
    grace_s: float
    first: First
    second: Second | None = None
    #: What could not be seen; sentences.
    notes: Sequence[str] = field(default=())

    @property
    def left(self) -> str | None:
        """How the first run left, in the scheduler's words: `saved`, `unknown` or `ended`; None: it was not told."""
        if not self.first.told:
            return None
        if self.first.ended:
            return "ended"
        return "saved" if self.first.saved is not None else "unknown"

    @property
    def lost_s(self) -> float | None:
        """Seconds of the first run's work that no checkpoint holds; None where it was not interrupted."""
        first = self.first
        if not first.told:
            return None
        if first.saved is not None:
            # What it did after that, until it was ended.
            return max(0.0, first.leave_s - first.saved.at_s) if first.ended else 0.0
        since = -first.before_s if first.last is None else first.last.at_s
        return max(0.0, first.leave_s - since)

    @property
    def nothing_lost(self) -> bool:
        """Whether it saved and left in time, and then went on from what it had saved."""
        second = self.second
        if self.left != "saved" or second is None or second.exit_code not in (None, 0):
            return False
        return second.how is not None
