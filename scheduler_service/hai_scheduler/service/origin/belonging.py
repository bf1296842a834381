"""Sorts the runs on the cluster into the database's own and orphaned ones (decision 0016).

A run is the database's own if the database knows its id with the same origin. A run of another origin is an orphan
and never counts as a task's run. While it lives, its nodes count as occupied and an admin may end it; when it has
ended, it is put aside.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from hai_scheduler.core.lifecycle.events import Held, Released, StartFailed
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.marks import LostPast, Mark
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.core.model.run import RankState, Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.lineage import Superseded
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.origin.lineage import begin_epoch, is_behind, parts_of
from hai_scheduler.service.origin.orphan_registry import OrphanedRun, read_orphans, write_orphans
from hai_scheduler.service.shared.changes import SCHEDULER, change
from hai_scheduler.store.transaction import Tx

log = logging.getLogger(__name__)

_Key = tuple[RunId, Origin | None]
#: The most runs that one line of history names.
_NAMED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Belongings:
    """The sorted runs of one tick."""

    #: The database's own runs, by id.
    ours: Mapping[RunId, Observation]
    #: The origin of runs that are started now.
    origin: Origin
    past: LostPast
    #: Live orphaned runs that an admin has asked to end, and ended ones that are to be put aside.
    kill: Sequence[RunId]
    aside: Sequence[RunId]
    #: The ids of all runs that are not the database's own.
    taken: frozenset[RunId] = frozenset()

    def above(self, task_id: TaskId) -> int:
        """The greatest run number that is in use for that task: in the lost past, or by a run of another database."""
        past = self.past.above if task_id < self.past.first_task else 0
        return max([past, *(number for task, number in map(parts_of, self.taken) if task == task_id)])

    def refusal(self, run: Run, now: datetime) -> StartFailed | None:
        """The end of a run that cannot start because an orphaned run has its id; None if the id is free.

        No rank of this run is on the cluster, and a kill by its id would hit the orphaned run. The task's next run has
        another number.
        """
        if run.id not in self.taken or run.id in self.ours:
            return None
        if any(rank.state is not RankState.PENDING for rank in run.ranks):
            return None
        message = f"the cluster has a run {run.id} that is not this database's: see `hai admin orphans list`"
        return StartFailed(at=now, message=message, nodes=frozenset(), give_up=False)


@dataclass(slots=True, kw_only=True)
class Belonging:
    """Sorts runs, and remembers results while this replica leads; `forget` begins a new time as leader."""

    cluster: Cluster
    #: The marks of the cluster, by database; None before they were read.
    _marks: dict[str, Mark] | None = None
    #: The mark that this leader last wrote to the cluster.
    _told: Mark | None = None
    #: Runs that were looked up in the database before, and whether each is its own.
    _known: dict[_Key, bool] = field(default_factory=dict)
    #: Own runs as last observed: the cluster shows ended runs for weeks, as the same object while nothing changes.
    _own: dict[RunId, Observation] = field(default_factory=dict)
    #: Ended orphans that a line of history names, and those of the present transaction.
    _named: set[_Key] = field(default_factory=set)
    _naming: set[_Key] = field(default_factory=set)

    def forget(self) -> None:
        """Forget all results: another replica may have led in the meantime."""
        self._marks, self._told = None, None
        self._forget_runs()

    def _forget_runs(self) -> None:
        self._known.clear()
        self._own.clear()

    async def look(self) -> None:
        """Read the cluster's marks, once. Raises Temporary."""
        if self._marks is None:
            self._marks = {mark.database: mark for mark in await self.cluster.marks()}

    async def sort(self, tx: Tx, observed: Sequence[Observation], now: datetime) -> Belongings:
        """Sort the observed runs; begin a new epoch if the database is behind the cluster."""
        assert self._marks is not None, "look comes first"
        marks = list(self._marks.values())
        own = await tx.database.mark()
        if own.database in self._marks and own.behind(self._marks[own.database]):
            # The database was restored: earlier answers about runs may be wrong now.
            self._forget_runs()
        strangers = await self._strangers(tx, observed)
        if is_behind(own, marks, strangers=bool(strangers)):
            own = await begin_epoch(tx, marks, [seen.run_id for seen in observed], now)
        ended = [seen for seen in strangers if seen.gone and self._may_go(seen, own)]
        await self._name(tx, ended, now)
        kept, gone = {key_of(seen) for seen in strangers}, {key_of(seen) for seen in ended}
        orphans = await self._note(tx, [seen for seen in strangers if key_of(seen) not in gone], now)
        asked = {orphan.key for orphan in orphans if orphan.ending}
        return Belongings(
            ours={seen.run_id: seen for seen in observed if not kept or key_of(seen) not in kept},
            origin=own.origin,
            past=await tx.database.lost_past(),
            kill=[orphan.run_id for orphan in orphans if orphan.ending and orphan.live],
            aside=[seen.run_id for seen in strangers if seen.gone and (key_of(seen) in gone or key_of(seen) in asked)],
            taken=frozenset(seen.run_id for seen in strangers),
        )

    async def _strangers(self, tx: Tx, observed: Sequence[Observation]) -> list[Observation]:
        """The runs that the database does not know. An answer about a run is read only once."""
        others = [seen for seen in observed if self._own.get(seen.run_id) is not seen]
        news = [seen for seen in others if key_of(seen) not in self._known]
        if news:
            origins = await tx.runs.origins({TaskId(parts_of(seen.run_id)[0]) for seen in news})
            for seen in news:
                self._known[key_of(seen)] = is_own(seen.run_id, seen.origin, origins)
        if len(self._known) > 2 * len(observed) + 100:
            here = {key_of(seen) for seen in observed}
            self._known = {key: own for key, own in self._known.items() if key in here}
            self._own = {seen.run_id: seen for seen in observed if self._own.get(seen.run_id) is seen}
        strangers = []
        for seen in others:
            if self._known[key_of(seen)]:
                self._own[seen.run_id] = seen
            else:
                strangers.append(seen)
        return strangers

    def _may_go(self, seen: Observation, own: Mark) -> bool:
        """True if an ended orphan can be put aside: no other platform can still need to read how it ended.

        A run that was killed before its launch has nothing to read, and `unfinalized` shows that no launch comes later.
        """
        if self.cluster.exclusive or (seen.killed and not seen.ranks and seen.unfinalized):
            return True
        return seen.origin is not None and seen.origin.database == own.database

    async def _name(self, tx: Tx, ended: Sequence[Observation], now: datetime) -> None:
        news = [seen for seen in ended if key_of(seen) not in self._named]
        self._naming = {key_of(seen) for seen in ended}
        if not news:
            return
        runs = [{"run": seen.run_id, "user": seen.user, "origin": _text(seen.origin)} for seen in news[:_NAMED]]
        data = {"count": len(news), "runs": runs}
        await tx.events.add(HistoryEvent(at=now, kind=EventKind.RUNS_ASIDE, actor=SCHEDULER, data=data))
        log.warning("%d ended runs that belong to no task are put aside: %s", len(news), _names(news))

    async def _note(self, tx: Tx, strangers: Sequence[Observation], now: datetime) -> list[OrphanedRun]:
        """Store the orphans, and write a line of history for each that appears or ends."""
        known = {orphan.key: orphan for orphan in await read_orphans(tx)}
        orphans = []
        for seen in strangers:
            before = known.pop(key_of(seen), None)
            orphan = _orphan_of(seen, before)
            if before is None:
                orphan = await self._announce(tx, orphan, now)
            elif before.live and not orphan.live:
                orphan = await self._end(tx, orphan, now)
            orphans.append(orphan)
        for gone in known.values():
            if gone.live:
                await self._end(tx, gone, now)
        await write_orphans(tx, orphans)
        return orphans

    async def _announce(self, tx: Tx, orphan: OrphanedRun, now: datetime) -> OrphanedRun:
        await _line(tx, EventKind.RUN_ORPHANED, orphan, now)
        if not orphan.live:
            return orphan
        log.warning(
            "run %s of %s on %s belongs to no task: its nodes are not used until it has ended, "
            "see `hai admin orphans list`",
            orphan.run_id,
            orphan.user or "an unknown user",
            ", ".join(orphan.nodes) or "no node",
        )
        # Two runs of one task would write to the same checkpoints. The same id in another database is another task.
        if orphan.origin is not None and orphan.origin.database != (await tx.database.mark()).database:
            return orphan
        task = await _task_of(tx, orphan)
        if task is None or task.held or task.state.ended or task.state is TaskState.STOPPING:
            return orphan
        await change(tx, task, Held(at=now), actor=SCHEDULER)
        return replace(orphan, holds_task=True)

    async def _end(self, tx: Tx, orphan: OrphanedRun, now: datetime) -> OrphanedRun:
        await _line(tx, EventKind.RUN_ORPHAN_ENDED, orphan, now)
        log.warning("run %s, which belonged to no task, has ended", orphan.run_id)
        task = await _task_of(tx, orphan) if orphan.holds_task else None
        if task is not None and task.held and not task.state.ended and task.state is not TaskState.STOPPING:
            await change(tx, task, Released(at=now), actor=SCHEDULER)
        return replace(orphan, holds_task=False)

    # -- after the commit -------------------------------------------------------------------------------------

    async def tell(self, mark: Mark) -> str | None:
        """Write the database's mark to the cluster, before any effect that depends on it.

        Returns:
            The reason if that failed: then nothing may be launched. None: the cluster has the mark.
        """
        assert self._marks is not None, "look comes first"
        if self._told == mark:
            return None
        try:
            await self.cluster.put_mark(mark)
        except (Temporary, Superseded) as error:
            log.warning("nothing is started: the cluster does not take the mark of the database: %s", error)
            self.forget()
            return str(error)
        self._marks[mark.database] = self._told = mark
        return None

    async def put_aside(self, runs: Iterable[RunId]) -> str | None:
        """Put ended orphans aside; returns the message of a failure, if any. The next tick repeats it."""
        self._named = self._naming
        done = await asyncio.gather(*(self._put_one_aside(run_id) for run_id in runs))
        return next((trouble for trouble in done if trouble is not None), None)

    async def _put_one_aside(self, run_id: RunId) -> str | None:
        try:
            place = await self.cluster.put_aside(run_id)
        except (Temporary, Absent, OSError) as error:
            log.warning("run %s cannot be put aside now: %s", run_id, error)
            return str(error)
        if place is not None:
            log.info("run %s, which belongs to no task, has been put aside: %s", run_id, place)
        return None


def key_of(seen: Observation) -> _Key:
    """The key that identifies a run among the runs of all databases."""
    return seen.run_id, seen.origin


def is_own(run_id: RunId, origin: Origin | None, origins: Mapping[RunId, Origin | None]) -> bool:
    """True if the database knows the run with that origin.

    Older versions wrote no origin into a run; such a run is the database's own if the database knows its id.
    """
    return run_id in origins and origin in (None, origins[run_id])


def _orphan_of(seen: Observation, before: OrphanedRun | None) -> OrphanedRun:
    ended = {rank.rank for rank in seen.ranks if rank.state.gone}
    left = tuple(node for rank, node in enumerate(seen.nodes) if rank not in ended) if not seen.gone else ()
    return OrphanedRun(
        run_id=seen.run_id,
        origin=seen.origin,
        user=seen.user,
        nodes=left,
        live=not seen.gone,
        ending=before is not None and before.ending,
        holds_task=before is not None and before.holds_task,
    )


async def _task_of(tx: Tx, orphan: OrphanedRun) -> Task | None:
    """The task of an orphaned run, if the restored database still has it."""
    try:
        task = await tx.tasks.get(TaskId(int(orphan.run_id.partition(".")[0])))
    except Absent:
        return None
    return task if orphan.user in (None, task.user) else None


async def _line(tx: Tx, kind: EventKind, orphan: OrphanedRun, now: datetime) -> None:
    data = {
        "run": orphan.run_id,
        "origin": _text(orphan.origin),
        "user": orphan.user,
        "nodes": list(orphan.nodes),
        "live": orphan.live,
    }
    await tx.events.add(HistoryEvent(at=now, kind=kind, actor=SCHEDULER, data=data))


def _names(runs: Sequence[Observation]) -> str:
    more = f" and {len(runs) - _NAMED} more" if len(runs) > _NAMED else ""
    return ", ".join(seen.run_id for seen in runs[:_NAMED]) + more


def _text(origin: Origin | None) -> str | None:
    return None if origin is None else str(origin)
