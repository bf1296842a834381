"""Reports of ranks and notices to ranks: the part of the service that supervisors call."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from hai_scheduler.core.lifecycle.events import (
    AskedToSuspend,
    Done,
    Event,
    FellBack,
    NoticeReceived,
    Saved,
    Saving,
    StateKept,
)
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.leaving import Source
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Checkpoint, Fallback, Notice, Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.profiling.recordings import PartState, Recording
from hai_scheduler.ports.errors import Absent
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.messages import notice_of
from hai_scheduler.service.runs.moments import Moments
from hai_scheduler.service.shared.changes import change
from hai_scheduler.service.shared.doorbell import ring_change, ring_notices
from hai_scheduler.service.shared.errors import Conflict, Invalid
from hai_scheduler.service.shared.topics import run_topic
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.store.transaction import Tx

ReportKind = Literal["received", "saving", "saved", "done", "state", "leaving", "network"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """One report of a rank. Repeating it is harmless."""

    kind: ReportKind
    at: datetime
    #: Kind `saving`: how many more seconds the job needs. Kind `leaving`: how many seconds the rank has left.
    seconds: float | None = None
    #: Kinds `saved` and `done`: the step and the path of the checkpoint.
    step: int | None = None
    path: str | None = None
    #: Kind `saved`: the evidence of the checkpoint.
    source: Source = Source.TOLD
    #: Kind `done`: whether the report is for all ranks.
    all_ranks: bool = False
    #: Kind `state`: the text that the job keeps.
    text: str | None = None
    #: Kind `network`: why the RDMA of the rank falls back to TCP.
    fallback: Fallback | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNotice:
    """A notice as a rank gets it."""

    kind: Literal["suspend", "stop"]
    notice: Notice
    message: str
    #: When all supervisors send the notice's signals to their jobs; None: at once.
    signal_at: datetime | None = None


@dataclass(slots=True, eq=False)
class RankReports(UseCase):
    """The use cases of live runs."""

    #: Longest time between two looks for a waiting rank, in seconds: a lost ring delays a notice by at most that.
    look_every: float = 10.0
    moments: Moments = field(default_factory=Moments)

    async def notice(
        self, run_id: RunId, rank: int, *, seen: int, wait: float, recording: int | None = None
    ) -> tuple[RunNotice | None, Recording | None]:
        """Wait for a notice of the run with a revision greater than `seen`, or for a recording of the rank.

        Args:
            run_id: The run.
            rank: The rank that asks.
            seen: The revision that it knows.
            wait: How long to wait, seconds.
            recording: The number of the newest recording that it knows; None: it cannot record.

        Returns:
            The two; None for what is not there after `wait` seconds.

        Raises:
            Conflict: The run is over.
        """
        ends = self.clock.now().timestamp() + wait
        async with self.bus.listen(run_topic(run_id)) as ears:
            rung = True
            while True:
                told = await self._told(run_id, rank, seen)
                # Only after a ring, and once a question: hundreds of ranks look again and again for lost rings.
                order = None if recording is None or not rung else await self._ordered(run_id, rank, recording)
                left = ends - self.clock.now().timestamp()
                if told is not None or order is not None or left <= 0:
                    return told, order
                rung = await ears.wait(min(left, self.look_every))

    async def _ordered(self, run_id: RunId, rank: int, known: int) -> Recording | None:
        """The recording of the run that is newer than `known`, if the rank still has to carry it out."""
        async with self.store.read() as tx:
            newest = await tx.recordings.newest_of_run(run_id)
        if newest is None or newest.id <= known or self.clock.now() > newest.ends_by:
            return None
        part = newest.part(rank)
        return newest if part is not None and part.state is PartState.ORDERED else None

    async def _told(self, run_id: RunId, rank: int, seen: int) -> RunNotice | None:
        async with self.store.read() as tx:
            task, run = await live_rank(tx, run_id, rank)
            notice = run.notice
            if notice is None or notice.revision <= seen:
                return None
            beneficiary = None
            if notice.beneficiary is not None:
                with suppress(Absent):
                    beneficiary = await tx.tasks.get(notice.beneficiary)
        kind: Literal["suspend", "stop"] = "stop" if task.state is TaskState.STOPPING else "suspend"
        # A later revision sends no signals again, and a single rank has no other ranks to wait for.
        together = notice.revision == 1 and len(run.ranks) > 1
        signal_at = self.moments.of(run_id, self.clock.now()) if together else None
        return RunNotice(kind=kind, notice=notice, message=notice_of(ENGLISH, notice, beneficiary), signal_at=signal_at)

    async def report(self, run_id: RunId, rank: int, report: RunReport) -> None:
        """Record a report of a rank.

        Raises Conflict when the run is over; for a report `leaving` also when the run was killed.
        """
        async with self.store.write() as tx:
            task, run = await live_rank(tx, run_id, rank)
            if report.kind == "leaving" and run.killed_at is not None:
                raise Conflict(f"Run {run_id} was ended.")
            changed, effects = await change(tx, task, *self._events(rank, report), actor=f"run {run_id}")
        await ring_notices(self.bus, effects)
        if changed != task:
            await ring_change(self.bus)

    def _events(self, rank: int, report: RunReport) -> list[Event]:
        now = self.clock.now()
        saved = Saved(
            at=now, checkpoint=Checkpoint(at=report.at, step=report.step, path=report.path, source=report.source)
        )
        match report.kind:
            case "received":
                return [NoticeReceived(at=report.at, rank=rank)]
            case "saving":
                return [Saving(at=now, seconds=_seconds(report, "say how many seconds more the job needs to save"))]
            case "saved":
                return [saved]
            case "done":
                done = Done(at=now, rank=None if report.all_ranks else rank)
                return [done] if report.step is None and report.path is None else [saved, done]
            case "leaving":
                left = timedelta(seconds=_seconds(report, "say how many seconds are left of the rank"))
                return [AskedToSuspend(at=now, reason=Reason.EVICTED, at_most=left, limit=left)]
            case "network":
                if report.fallback is None:
                    raise Invalid("fallback", None, "say why RDMA falls back")
                return [FellBack(at=now, rank=rank, why=report.fallback)]
            case "state":
                return [StateKept(at=now, text=report.text or "")]


def _seconds(report: RunReport, remedy: str) -> float:
    if report.seconds is None:
        raise Invalid("seconds", None, remedy)
    return report.seconds


async def live_run(tx: Tx, run_id: RunId) -> tuple[Task, Run]:
    """The task and the run. Raises Conflict when the run is over or does not exist."""
    over = Conflict(f"Run {run_id} is over.")
    number = run_id.partition(".")[0]
    if not (number.isascii() and number.isdigit()):
        raise over
    try:
        task = await tx.tasks.get(TaskId(int(number)))
    except Absent:
        raise over from None
    run = task.live_run
    if run is None or run.id != run_id:
        raise over
    return task, run


async def live_rank(tx: Tx, run_id: RunId, rank: int) -> tuple[Task, Run]:
    """The task and the run of the rank. Raises Conflict as `live_run`, and Invalid if the run has no such rank."""
    task, run = await live_run(tx, run_id)
    check_rank(run, rank)
    return task, run


async def recent_run(tx: Tx, run_id: RunId, rank: int, *, since: datetime) -> tuple[Task | None, Run]:
    """The run of the rank, with its task if it is live, or else ended after `since`. Raises as `live_rank`."""
    task: Task | None = None
    try:
        task, run = await live_run(tx, run_id)
    except Conflict:
        number = run_id.partition(".")[0]
        runs = await tx.runs.of_task(TaskId(int(number))) if number.isascii() and number.isdigit() else ()
        ended = [one for one in runs if one.id == run_id and one.ended_at is not None and one.ended_at > since]
        if not ended:
            raise
        run = ended[0]
    check_rank(run, rank)
    return task, run


def check_rank(run: Run, rank: int) -> None:
    """Raise Invalid if the run has no such rank."""
    if not 0 <= rank < len(run.ranks):
        raise Invalid("rank", rank, f"run {run.id} has ranks 0 to {len(run.ranks) - 1}")
