"""How a job of the memory cluster behaves: a script as a value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

_NOW = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What the ranks of a run do. The default runs without end, and saves and leaves at once after a notice.

    `work` is that of the task over all its runs: a run goes on from what the runs before it had saved.
    """

    #: How long the task must run until it ends by itself; None: it never does.
    work: timedelta | None = None
    #: Status that it then ends with.
    exit_code: int = 0
    #: The one rank that ends with `exit_code` while the others run on, as a hanging all-reduce does; None is all.
    failing_rank: int | None = None

    #: From the order to start until its ranks are up.
    start_takes: timedelta = _NOW
    #: How long a run is busy before its work goes on: imports, reading the checkpoint.
    warm_up: timedelta = _NOW
    #: Why its ranks cannot be started; such a run is never up.
    start_error: str | None = None

    #: How long it takes to save after a notice; then it leaves. None ignores the notice.
    saves_in: timedelta | None = _NOW
    #: Whether it has saved when it leaves then.
    saves: bool = True
    #: Whether a rank that leaves after a notice has said `done`.
    says_done: bool = True
    #: The one rank that says `done` for all of them (`scontrol requeue`); None lets each say it for itself.
    done_for_all: int | None = None
    #: Status of ranks that leave after a notice.
    leave_code: int = 0
    #: How often it saves by itself while it works; None: never.
    saves_every: timedelta | None = None
    #: It says `done` and leaves by itself after running this long, without a notice.
    yields_after: timedelta | None = None

    #: A rank is lost after it has run this long: its supervisor dies.
    lost_after: timedelta | None = None
    #: The rank that is lost then.
    lost_rank: int = 0

    #: How long its ranks take to go when they are ended; ten seconds or more means that it takes a SIGKILL.
    dies_in: timedelta = _NOW
    #: What every rank prints when it is up.
    prints: tuple[str, ...] = ()
