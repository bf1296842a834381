"""The wire of runs, their ranks and notices, and of what a run may know of itself."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from hai_scheduler.api.wire.base import (
    MAX_NUMBER,
    Input,
    Moment,
    Output,
    PriorityName,
    TaskStateName,
)


class CheckpointOut(Output):
    """What is known of a saved state."""

    at: datetime
    step: int | None
    path: str | None
    #: told: the job said so. seen: its files have changed.
    source: Literal["told", "seen"] = "told"


class NoticeOut(Output):
    """The word to every rank that it must leave."""

    #: `suspend` or `stop`.
    kind: Literal["suspend", "stop"]
    reason: str
    #: A sentence.
    message: str
    beneficiary: int | None
    at: datetime
    deadline: datetime
    revision: int
    #: When every rank's supervisor sends the signals that come with it, at most 50 ms ahead; null: at once.
    signal_at: datetime | None = None


class RankOut(Output):
    """One rank of a run."""

    rank: int
    node: str
    #: Indices of the GPUs that it holds there; empty: the whole node.
    gpus: list[int] = []
    state: Literal["pending", "running", "exited", "lost"]
    exit_code: int | None
    #: The signal that its command died of.
    signal: int | None = None
    notified_at: datetime | None
    #: Whether all that was sent a signal caught that; null: nothing was sent one, or it is not known.
    caught: bool | None = None
    done: bool
    message: str | None


class RunOut(Output):
    """One run of a task."""

    id: str
    number: int
    state: Literal["starting", "running", "leaving", "ended"]
    priority: PriorityName
    nodes: list[str]
    ranks: list[RankOut]
    started_at: datetime
    running_at: datetime | None
    ended_at: datetime | None
    notice: NoticeOut | None
    checkpoint: CheckpointOut | None
    #: Why it ended; a word of `Reason`.
    reason: str | None
    #: How a run that was told to leave did. saved: it said so, or a checkpoint of the time since is there.
    #: unknown: it left by itself, and nothing shows that it had saved. ended: it was ended before.
    left: Literal["saved", "unknown", "ended"] | None
    #: Node seconds of work lost with it.
    lost_s: float | None
    #: Ranks whose own failure ended it; those that were ended because of it are not among them.
    failed_ranks: list[int] = []


class FailureOut(Output):
    """The rank of a run that failed first, and what it said last."""

    #: Number of the run.
    run: int
    rank: int
    node: str
    exit_code: int | None
    #: The signal that its command died of.
    signal: int | None
    #: When it had ended, by the clock of its node.
    at: datetime | None
    #: Whom torchrun names as the first of its workers that failed: `rank 1 (local_rank: 1), exitcode 1`.
    worker: str | None
    #: The last lines that say why, 20 at most, without those of torchrun itself; none where there is no log.
    lines: list[str]


class RunList(Output):
    """The runs of a task, by number."""

    items: list[RunOut]


class RunFactsOut(Output):
    """A live run: whose it is, and where it can be reached."""

    run_id: str
    task_id: int
    #: Number of the run within its task, from 1.
    number: int
    #: The task's name.
    name: str
    user: str
    #: The task's.
    state: TaskStateName
    #: The node of rank 0.
    node: str
    #: Where rank 0 can be reached; null until every rank is up.
    address: str | None


class NoticeAnswer(Output):
    """What a rank's supervisor is told. notice None: go on."""

    notice: NoticeOut | None


class Addresses(Output):
    """Where the ranks of a run reach each other, in rank order; null: not all of them are up yet."""

    addresses: list[str] | None


class RankReport(Input):
    """What a rank's supervisor reports. Repeating a report is harmless."""

    #: received: the notice arrived. saving: asks for `seconds` more. saved: a checkpoint exists.
    #: done: the rank has saved and may go. state: a short text to keep.
    #: leaving: the cluster ends the rank in `seconds`; 410 says that the run was killed.
    kind: Literal["received", "saving", "saved", "done", "state", "leaving"]
    at: Moment
    seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] | None = None
    step: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)] | None = None
    path: Annotated[str, Field(max_length=4096)] | None = None
    #: With saved. told: the job said so. seen: its files have changed, `at` is when.
    source: Literal["told", "seen"] = "told"
    #: With done: it speaks for every rank.
    all_ranks: bool = False
    text: Annotated[str, Field(max_length=4096)] | None = None
    #: With received: the revision of the notice.
    revision: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None
