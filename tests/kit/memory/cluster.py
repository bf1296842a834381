"""A cluster of scripted jobs, in the time of a clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from hai_scheduler.adapters.shared.origins import check_mark, check_origin
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.core.model.run import Notice
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.store.store import Store
from kit.memory.behaviour import Behaviour
from kit.memory.changes import ScriptedChanges
from kit.memory.cluster_record import ClusterRecord, Overlap
from kit.memory.fabrics import ScriptedTrial
from kit.memory.faults import Faults
from kit.memory.jobs import ScriptedJobs
from kit.memory.scripted import Fate, ScriptedRank, ScriptedRun
from kit.memory.scripted_runs import BehaviourOf, ScriptedRuns

#: Returns the notices that the supervisors of these runs would read from the REST interface now.
Notices = Callable[[Collection[RunId]], Awaitable[Mapping[RunId, Notice]]]


class MemoryCluster:
    """Nodes and scripted jobs without any process, for tests.

    **Time** is the clock's: nothing runs between two calls; each call computes what has happened until then.

    **Jobs** behave as scripted, by order of precedence: `jobs.script(task_id, Behaviour(...))` for one task, the
    `behaviour` argument for all others, a value or a function of the order to start (so that a contract suite can
    map the command of its jobs to behaviours: `MemoryCluster(clock, nodes, behaviour=lambda launch: ...)`).

    **Notices.** On a real cluster a rank learns of its notice from the service's REST interface, through its
    supervisor. Here either the caller passes it with `cluster.jobs.tell(run_id, notice)`, or the cluster asks
    `notices(run_ids)` for the live runs at each `observe()`, when a supervisor's long poll would have got it too;
    `notices_of(store)` reads notices from the store, as the REST interface does.

    **Restarts.** The object is the cluster, not the connection to it: it goes on after `close()`, and a restarted
    service uses the same object.

    Its own methods are those of the port. What a test does with it beside the service has a part each: `jobs` (what
    jobs do, by script and by hand), `faults` (what goes wrong), `fabrics` (what the cluster says of fabrics) and
    `record` (what has happened, to be asserted).
    """

    def __init__(
        self,
        clock: Clock,
        nodes: Iterable[Node] = (),
        *,
        behaviour: BehaviourOf | None = None,
        notices: Notices | None = None,
        remember: timedelta = timedelta(hours=1),
    ) -> None:
        """Create a cluster.

        Args:
            clock: The clock.
            nodes: The nodes at the beginning.
            behaviour: What jobs do that have no script of their own.
            notices: Asked at each `observe()`; None leaves it to `jobs.tell`.
            remember: How long ended runs are shown by `observe()`; they are kept until they are forgotten.
        """
        #: See `Cluster.exclusive`.
        self.exclusive = True
        #: Where notices are asked for; a restarted service has another store.
        self.notices = notices
        self._clock = clock
        self._nodes = {node.name: node for node in nodes}
        self._marks: dict[str, Mark] = {}
        self._changes = ScriptedChanges(clock)
        self._runs = ScriptedRuns(clock, behaviour or Behaviour(), remember=remember)
        self.jobs = ScriptedJobs(clock, self._runs, self._changes)
        self.faults = Faults(clock, self._nodes, self._runs, self._changes)
        self.record = ClusterRecord(self._runs)
        #: See `Cluster.fabrics`.
        self.fabrics = ScriptedTrial(self._nodes)

    async def nodes(self) -> Sequence[Node]:
        """See `Cluster.nodes`; by name."""
        self.faults.reach()
        return [self._nodes[name] for name in sorted(self._nodes)]

    async def observe(self) -> Sequence[Observation]:
        """See `Cluster.observe`; in the order of the launches, before those that never will be."""
        self.faults.reach()
        now = self._clock.now()
        if self.notices is not None:
            await self._ask_for_notices(self.notices)
        return self._runs.show(now)

    def changes(self) -> AsyncIterator[None]:
        """See `Cluster.changes`. Ends when the cluster is closed."""
        return self._changes.listen()

    async def launch(self, launch: LaunchOrder) -> None:
        """See `Cluster.launch`. A node that is not ready is a reason to try again, an unknown one a start error."""
        self.faults.reach()
        now = self._clock.now()
        self.record.launches.append(launch.run_id)
        lost = [name for name in launch.nodes if name in self._nodes and not self._nodes[name].ready]
        run = self._runs.get(launch.run_id)
        if run is not None:
            check_origin(launch, run.launch.origin)
        if self._runs.refuses(launch):
            return
        missing = [rank for rank in range(len(launch.nodes)) if run is None or rank not in run.ranks]
        if missing and lost:
            raise Temporary(f"{', '.join(lost)} cannot be reached")
        if not missing:
            return
        run = run or self._runs.new(launch)
        fail_at = self.faults.take_broken_launch()
        try:
            self._start(run, missing[:fail_at], now)
        finally:
            self._changes.tell(run.times())
        if fail_at is not None and fail_at < len(missing):
            raise Temporary(f"only {len(run.ranks)} of {len(launch.nodes)} ranks of {launch.run_id} were started")

    async def kill(self, run_id: RunId) -> None:
        """See `Cluster.kill`."""
        self.faults.reach()
        self.record.kills.append(run_id)
        run = self._runs.get(run_id)
        if run is None:
            self._runs.never_start(run_id)
            self._changes.tell()
            return
        run.end(self._clock.now())
        self._changes.tell(run.times())

    async def read_log(self, run_id: RunId, rank: int, *, offset: int, limit: int) -> LogChunk:
        """See `Cluster.read_log`."""
        self.faults.reach()
        now = self._clock.now()
        found = self._runs.rank(run_id, rank)
        found.tell(now, self._runs.prints(run_id))
        end = found.log_start + len(found.log)
        start = min(max(offset, found.log_start), end)
        data = bytes(found.log[start - found.log_start :][:limit])
        if start + len(data) < end:
            # Whole lines, unless one is longer than the limit.
            data = data[: data.rfind(b"\n") + 1] or data
        reached = start + len(data)
        return LogChunk(start=start, next=reached, data=data, final=reached == end and found.gone(now), end=end)

    def log_place(self, _run_id: RunId) -> LogPlace | None:
        """See `Cluster.log_place`: no other process sees this memory."""
        return None

    async def addresses(self, run_id: RunId) -> tuple[str, ...] | None:
        """See `Cluster.addresses`: names of nodes, once every rank has begun."""
        run = self._runs.get(run_id)
        if run is None:
            raise Absent(f"there is no run {run_id} here")
        now, nodes = self._clock.now(), run.launch.nodes
        return nodes if len(run.ranks) == len(nodes) and all(now >= rank.up_at for rank in run.ranks.values()) else None

    async def finalize(self, run_id: RunId) -> None:
        """See `Cluster.finalize`. A run can still be seen until it is forgotten."""
        self.faults.reach()
        self.record.finalized.append(run_id)
        self._runs.forget_refusal(run_id)
        run = self._runs.get(run_id)
        if run is not None:
            run.finalize(self._clock.now())

    async def forget(self, run_id: RunId) -> None:
        """See `Cluster.forget`. A run that has not ended is kept; what its task had saved is kept as well."""
        run = self._runs.get(run_id)
        self._runs.forget_refusal(run_id)
        if run is not None and run.gone(self._clock.now()):
            self._runs.drop(run_id)

    async def marks(self) -> Sequence[Mark]:
        """See `Cluster.marks`."""
        self.faults.reach()
        return list(self._marks.values())

    async def put_mark(self, mark: Mark) -> None:
        """See `Cluster.put_mark`."""
        self.faults.reach()
        check_mark(self._marks.get(mark.database), mark)
        self._marks[mark.database] = mark
        self.record.marks_written += 1

    async def put_aside(self, run_id: RunId) -> str | None:
        """See `Cluster.put_aside`."""
        self.faults.reach()
        self._runs.forget_refusal(run_id)
        run = self._runs.get(run_id)
        if run is None:
            return None
        if not run.gone(self._clock.now()):
            raise Temporary(f"run {run_id} cannot be put aside: it has not ended")
        self.record.aside[run_id] = run
        self._runs.drop(run_id)
        return f"aside/{run.launch.origin or 'unmarked'}/{run_id}"

    async def close(self) -> None:
        """See `Cluster.close`. Ends `changes()`; the object can still be used, as by a restarted service."""
        self._changes.close()

    def _start(self, run: ScriptedRun, ranks: Iterable[int], now: datetime) -> None:
        run_id = run.launch.run_id
        present: defaultdict[str, list[tuple[RunId, ScriptedRank]]] = defaultdict(list)
        for holder, other in self._runs.present():
            present[other.node].append((holder, other))
        for number in ranks:
            rank = run.start_rank(number, now)
            there = present[rank.node]
            clash = next((holder for holder, other in there if rank.collides(other)), None)
            if clash is not None:
                self.record.overlaps.append(Overlap(now, rank.node, clash, run_id))
            there.append((run_id, rank))
            missing = self._missing(rank)
            if missing is not None:
                rank.befall(Fate(at=now, error=missing))
        if run.ranks:
            self._runs.add(run)
        self.record.peak = max(self.record.peak, len(self.record.holders()))

    def _missing(self, rank: ScriptedRank) -> str | None:
        node = self._nodes.get(rank.node)
        if node is None:
            return f"there is no node {rank.node}"
        last = max(rank.gpus, default=-1)
        return f"{rank.node} has {node.gpus} GPUs, so there is no GPU {last}" if last >= node.gpus else None

    async def _ask_for_notices(self, notices: Notices) -> None:
        live = self._runs.live()
        for run_id, notice in (await notices(live)).items() if live else ():
            known = live[run_id].notice
            if known is None or notice.revision > known.revision:
                self.jobs.tell(run_id, notice)


def notices_of(store: Store) -> Notices:
    """Return a function that reads notices from the store, as the REST interface does for a run's supervisors."""

    async def notices(run_ids: Collection[RunId]) -> Mapping[RunId, Notice]:
        async with store.read() as tx:
            runs = [task.live_run for task in await tx.tasks.unfinished()]
        return {run.id: run.notice for run in runs if run is not None and run.id in run_ids and run.notice is not None}

    return notices
