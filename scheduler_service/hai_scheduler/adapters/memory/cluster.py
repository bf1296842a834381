"""A cluster of scripted jobs, in the time of a clock."""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hai_scheduler.adapters.memory.behaviour import Behaviour
from hai_scheduler.adapters.memory.scripted import Fate, ScriptedRank, ScriptedRun
from hai_scheduler.adapters.shared.origins import check_mark, check_origin
from hai_scheduler.adapters.shared.waiting import wait_until_set
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.core.model.run import Checkpoint, Notice, RankState
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.ports.store import Store

#: Returns the notice that a run's supervisors would read from the REST interface now.
Notices = Callable[[RunId], Awaitable[Notice | None]]


@dataclass(frozen=True, slots=True)
class Overlap:
    """A node, or GPUs of it, that was given to a run while another's ranks still held it (B4, U2)."""

    at: datetime
    node: str
    holder: RunId
    intruder: RunId


class MemoryCluster:
    """Nodes and scripted jobs without any process, for tests and the simulator.

    **Time** is the clock's: nothing runs between two calls; each call computes what has happened until then.

    **Jobs** behave as scripted, by order of precedence: `script(task_id, Behaviour(...))` for one task, the
    `behaviour` argument for all others, a value or a function of the order to start (so that a contract suite can
    map the command of its jobs to behaviours: `MemoryCluster(clock, nodes, behaviour=lambda launch: ...)`).

    **Notices.** On a real cluster a rank learns of its notice from the service's REST interface, through its
    supervisor. Here either the caller passes it with `await cluster.tell(run_id, notice)`, or the cluster asks
    `notices(run_id)` for every run at each `observe()`, when a supervisor's long poll would have got it too;
    `notices_of(store)` reads notices from the store, as the REST interface does.

    **Restarts.** The object is the cluster, not the connection to it: it goes on after `close()`, and a restarted
    service uses the same object.

    **By hand**: `finish` ends a run's ranks, `say` reports what a job may report, `write_log` prints.

    **Trouble** comes with `lose_node`, `put_node`, `lose_rank`, `break_launch` and `down`.

    **What tests assert**: `overlaps` (must stay empty; `check()` raises if it is not), `peak` (most nodes held at
    once, in whole or in part), `launches` and `kills` (orders that came, repetitions included).
    """

    def __init__(
        self,
        clock: Clock,
        nodes: Iterable[Node] = (),
        *,
        behaviour: Behaviour | Callable[[LaunchOrder], Behaviour] | None = None,
        notices: Notices | None = None,
        remember: timedelta = timedelta(hours=1),
        exclusive: bool = True,
    ) -> None:
        """Create a cluster.

        Args:
            clock: The clock.
            nodes: The nodes at the beginning.
            behaviour: What jobs do that have no script of their own.
            notices: Asked at each `observe()`; None leaves it to `tell`.
            remember: How long ended runs are shown by `observe()`; they are kept until they are forgotten.
            exclusive: See `Cluster.exclusive`.
        """
        #: See `Cluster.exclusive`.
        self.exclusive = exclusive
        self._clock = clock
        self._nodes = {node.name: node for node in nodes}
        self._behaviour = behaviour or Behaviour()
        self._notices = notices
        self._remember = remember
        self._scripts: dict[TaskId, Behaviour] = {}
        #: All runs that are not forgotten; those that `observe` may show; those of which a rank may be left.
        self._runs: dict[RunId, ScriptedRun] = {}
        self._shown: dict[RunId, ScriptedRun] = {}
        self._live: dict[RunId, ScriptedRun] = {}
        #: Runs that were killed before they were launched, and when.
        self._never: dict[RunId, datetime] = {}
        #: By task: its latest run, and what was saved before that.
        self._latest: dict[TaskId, ScriptedRun] = {}
        self._saved: dict[TaskId, timedelta] = {}
        self._broken_after: int | None = None
        #: Times at which something happens by itself, and how many of them have passed.
        self._due: list[datetime] = []
        self._passed = 0
        self._listeners: set[asyncio.Event] = set()
        self._closings = 0
        #: While it is set, every call of the port raises Temporary.
        self.down = False
        self.overlaps: list[Overlap] = []
        self.peak = 0
        self.launches: list[RunId] = []
        self.kills: list[RunId] = []
        self.settled: list[RunId] = []
        #: Runs that were put aside, and the marks by database.
        self.aside: dict[RunId, ScriptedRun] = {}
        self._marks: dict[str, Mark] = {}
        self.marks_written = 0

    # -- the port ---------------------------------------------------------------------------------

    async def nodes(self) -> Sequence[Node]:
        """See `Cluster.nodes`; by name."""
        self._reach()
        return [self._nodes[name] for name in sorted(self._nodes)]

    async def observe(self) -> Sequence[Observation]:
        """See `Cluster.observe`; in the order of the launches, before those that never will be."""
        self._reach()
        now = self._clock.now()
        if self._notices is not None:
            await self._ask_for_notices(self._notices)
        for run_id, run in list(self._shown.items()):
            if run.gone(now) and run.ended_at() < now - self._remember:
                del self._shown[run_id]
        never = [
            Observation(run_id=run_id, ranks=(), killed=True, unsettled=now - at >= self._remember)
            for run_id, at in self._never.items()
        ]
        return [*(run.show(now) for run in self._shown.values()), *never]

    async def changes(self) -> AsyncIterator[None]:
        """See `Cluster.changes`. Ends when the cluster is closed."""
        rung = asyncio.Event()
        closings, seen = self._closings, self._happened()
        self._listeners.add(rung)
        try:
            while True:
                if self._happened() == seen:
                    await wait_until_set(rung, self._clock, self._until_next())
                rung.clear()
                if self._closings != closings:
                    return
                seen = self._happened()
                yield
        finally:
            self._listeners.discard(rung)

    async def launch(self, launch: LaunchOrder) -> None:
        """See `Cluster.launch`. A node that is not ready is a reason to try again, an unknown one a start error."""
        self._reach()
        now = self._clock.now()
        self.launches.append(launch.run_id)
        lost = [name for name in launch.nodes if name in self._nodes and not self._nodes[name].ready]
        run = self._runs.get(launch.run_id)
        if run is not None:
            check_origin(launch, run.launch.origin)
        if launch.run_id in self._never or self._comes_late(launch, run):
            return
        missing = [rank for rank in range(len(launch.nodes)) if run is None or rank not in run.ranks]
        if missing and lost:
            raise Temporary(f"{', '.join(lost)} cannot be reached")
        if not missing:
            return
        run = run or self._new_run(launch)
        fail_at, self._broken_after = self._broken_after, None
        try:
            self._start(run, missing[:fail_at], now)
        finally:
            self._changed(run.times())
        if fail_at is not None and fail_at < len(missing):
            raise Temporary(f"only {len(run.ranks)} of {len(launch.nodes)} ranks of {launch.run_id} were started")

    async def kill(self, run_id: RunId) -> None:
        """See `Cluster.kill`."""
        self._reach()
        self.kills.append(run_id)
        run = self._runs.get(run_id)
        if run is None:
            self._never.setdefault(run_id, self._clock.now())
            self._changed([])
            return
        run.end(self._clock.now())
        self._changed(run.times())

    async def read_log(self, run_id: RunId, rank: int, *, offset: int, limit: int) -> LogChunk:
        """See `Cluster.read_log`."""
        self._reach()
        now = self._clock.now()
        found = self._rank(run_id, rank)
        found.tell(now, self._runs[run_id].behaviour.prints)
        end = found.log_start + len(found.log)
        start = min(max(offset, found.log_start), end)
        data = bytes(found.log[start - found.log_start :][:limit])
        if start + len(data) < end:
            # Whole lines, unless one is longer than the limit.
            data = data[: data.rfind(b"\n") + 1] or data
        reached = start + len(data)
        return LogChunk(start=start, next=reached, data=data, final=reached == end and found.gone(now))

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

    async def settle(self, run_id: RunId) -> None:
        """See `Cluster.settle`. A run can still be seen until it is forgotten."""
        self._reach()
        self.settled.append(run_id)
        self._never.pop(run_id, None)
        run = self._runs.get(run_id)
        if run is not None:
            run.settle(self._clock.now())

    async def forget(self, run_id: RunId) -> None:
        """See `Cluster.forget`. A run that has not ended is kept; what its task had saved is kept as well."""
        run = self._runs.get(run_id)
        self._never.pop(run_id, None)
        if run is not None and run.gone(self._clock.now()):
            for known in (self._runs, self._shown, self._live):
                known.pop(run_id, None)

    async def marks(self) -> Sequence[Mark]:
        """See `Cluster.marks`."""
        self._reach()
        return list(self._marks.values())

    async def put_mark(self, mark: Mark) -> None:
        """See `Cluster.put_mark`."""
        self._reach()
        check_mark(self._marks.get(mark.database), mark)
        self._marks[mark.database] = mark
        self.marks_written += 1

    async def put_aside(self, run_id: RunId) -> str | None:
        """See `Cluster.put_aside`."""
        self._reach()
        self._never.pop(run_id, None)
        run = self._runs.get(run_id)
        if run is None:
            return None
        if not run.gone(self._clock.now()):
            raise Temporary(f"run {run_id} cannot be put aside: it has not ended")
        self.aside[run_id] = run
        for known in (self._runs, self._shown, self._live):
            known.pop(run_id, None)
        return f"aside/{run.launch.origin or 'unmarked'}/{run_id}"

    async def close(self) -> None:
        """See `Cluster.close`. Ends `changes()`; the object can still be used, as by a restarted service."""
        self._closings += 1
        self._changed([])

    # -- scripts ----------------------------------------------------------------------------------

    def script(self, task_id: TaskId | int, behaviour: Behaviour) -> None:
        """Set the behaviour of later runs of a task."""
        self._scripts[TaskId(task_id)] = behaviour

    async def tell(self, run_id: RunId, notice: Notice) -> None:
        """Tell the run's supervisors of a notice now. Does nothing for unknown and ended runs."""
        run = self._runs.get(run_id)
        if run is not None and not run.gone(self._clock.now()):
            run.hear(notice, self._clock.now())
            self._changed(run.times())

    def put_node(self, node: Node) -> None:
        """Add or change a node; runs on it go on (`ready=False`: the node cannot be reached)."""
        self._nodes[node.name] = node
        self._changed([])

    def remove_node(self, name: str) -> None:
        """Remove a node from the cluster; its ranks are lost."""
        self._lose_ranks(name)
        del self._nodes[name]
        self._changed([])

    def lose_node(self, name: str) -> None:
        """Let a node fail: it is not ready and its ranks are lost. `put_node` brings it back."""
        self._lose_ranks(name)
        self.put_node(replace(self._nodes[name], ready=False))

    def lose_rank(self, run_id: RunId, rank: int, *, node_well: bool = False) -> None:
        """Let a rank's supervisor die with its processes; `node_well`: the node itself is well. Raises Absent."""
        fate = Fate(at=self._clock.now(), state=RankState.LOST, supervisor_killed=node_well)
        self._rank(run_id, rank).befall(fate)
        self._changed([])

    def break_start(self, run_id: RunId, rank: int, error: str) -> None:
        """Let the start of a rank fail, for a reason that is not its user's. Raises Absent."""
        self._rank(run_id, rank).befall(Fate(at=self._clock.now(), error=error))
        self._changed([])

    def finish(self, run_id: RunId, code: int = 0) -> None:
        """Let every rank of the run exit with this status now. Raises Absent."""
        self._rank(run_id, 0)
        for rank in self._runs[run_id].ranks.values():
            rank.befall(Fate(at=self._clock.now(), code=code))
        self._changed([])

    def say(
        self,
        run_id: RunId,
        rank: int = 0,
        *,
        checkpoint: Checkpoint | None = None,
        job_state: str | None = None,
        done: bool = False,
        for_all: bool = False,
    ) -> None:
        """Let the job in a rank report this by itself; what is left out stays as it was. Raises Absent."""
        said = self._rank(run_id, rank).said
        said.checkpoint = checkpoint or said.checkpoint
        said.job_state = said.job_state if job_state is None else job_state
        said.done |= done
        said.done_all |= done and for_all
        self._changed([])

    def break_launch(self, after: int) -> None:
        """Let the next launch raise Temporary after it has started this many ranks."""
        self._broken_after = after

    def write_log(self, run_id: RunId, rank: int, text: str) -> None:
        """Let a rank print a line. Raises Absent."""
        now = self._clock.now()
        found = self._rank(run_id, rank)
        found.tell(now, self._runs[run_id].behaviour.prints)
        found.write(now, text)

    def rotate_log(self, run_id: RunId, rank: int, before: int) -> None:
        """Delete a rank's log up to an offset. Raises Absent."""
        found = self._rank(run_id, rank)
        gone = max(0, min(before, found.log_start + len(found.log)) - found.log_start)
        del found.log[:gone]
        found.log_start += gone

    # -- what tests ask ---------------------------------------------------------------------------

    def holders(self) -> Mapping[str, tuple[RunId, ...]]:
        """Return by node the runs with a rank on it now, in the order of their launches."""
        found: dict[str, tuple[RunId, ...]] = {}
        for run_id, rank in self._present():
            found[rank.node] = (*found.get(rank.node, ()), run_id)
        return found

    def saved_work(self, task_id: TaskId | int) -> timedelta:
        """Return how much of its work a task has saved."""
        latest = self._latest.get(TaskId(task_id))
        if latest is not None and latest.ranks:
            return latest.saved(self._clock.now())
        return self._saved.get(TaskId(task_id), timedelta(0))

    def check(self) -> None:
        """Check that two runs never held a node, or a GPU of it, at once. Raises AssertionError."""
        assert not self.overlaps, f"{len(self.overlaps)} times two runs held one, the first: {self.overlaps[0]}"

    # -- inside -----------------------------------------------------------------------------------

    def _reach(self) -> None:
        if self.down:
            raise Temporary("the cluster cannot be reached")

    def _still_live(self) -> Mapping[RunId, ScriptedRun]:
        now = self._clock.now()
        for run_id in [run_id for run_id, run in self._live.items() if run.gone(now)]:
            del self._live[run_id]
        return self._live

    def _present(self) -> list[tuple[RunId, ScriptedRank]]:
        """Return every rank that has not ended, with the id of its run."""
        now = self._clock.now()
        live = self._still_live().items()
        return [(run_id, rank) for run_id, run in live for rank in run.ranks.values() if not rank.gone(now)]

    def _new_run(self, launch: LaunchOrder) -> ScriptedRun:
        self._saved[launch.task_id] = self.saved_work(launch.task_id)
        return ScriptedRun(launch=launch, behaviour=self._behaviour_of(launch), base=self._saved[launch.task_id])

    def _comes_late(self, launch: LaunchOrder, run: ScriptedRun | None) -> bool:
        """Whether the run is over, or a later run of its task was launched."""
        if run is not None and run.over:
            return True
        latest = self._latest.get(launch.task_id)
        return latest is not None and _number_of(latest) > int(launch.run_id.partition(".")[2])

    def _rank(self, run_id: RunId, rank: int) -> ScriptedRank:
        run = self._runs.get(run_id)
        if run is None or rank not in run.ranks:
            raise Absent(f"there is no rank {rank} of run {run_id}")
        return run.ranks[rank]

    def _behaviour_of(self, launch: LaunchOrder) -> Behaviour:
        if launch.task_id in self._scripts:
            return self._scripts[launch.task_id]
        return self._behaviour if isinstance(self._behaviour, Behaviour) else self._behaviour(launch)

    def _start(self, run: ScriptedRun, ranks: Iterable[int], now: datetime) -> None:
        run_id = run.launch.run_id
        present: defaultdict[str, list[tuple[RunId, ScriptedRank]]] = defaultdict(list)
        for holder, other in self._present():
            present[other.node].append((holder, other))
        for number in ranks:
            rank = run.start_rank(number, now)
            there = present[rank.node]
            clash = next((holder for holder, other in there if rank.collides(other)), None)
            if clash is not None:
                self.overlaps.append(Overlap(now, rank.node, clash, run_id))
            there.append((run_id, rank))
            missing = self._missing(rank)
            if missing is not None:
                rank.befall(Fate(at=now, error=missing))
        if run.ranks:
            self._runs[run_id] = self._shown[run_id] = self._live[run_id] = run
            self._latest[run.launch.task_id] = run
        self.peak = max(self.peak, len(self.holders()))

    def _missing(self, rank: ScriptedRank) -> str | None:
        node = self._nodes.get(rank.node)
        if node is None:
            return f"there is no node {rank.node}"
        last = max(rank.gpus, default=-1)
        return f"{rank.node} has {node.gpus} GPUs, so there is no GPU {last}" if last >= node.gpus else None

    async def _ask_for_notices(self, notices: Notices) -> None:
        for run_id, run in list(self._still_live().items()):
            notice = await notices(run_id)
            if notice is not None and (run.notice is None or notice.revision > run.notice.revision):
                await self.tell(run_id, notice)

    def _lose_ranks(self, node: str) -> None:
        lost = Fate(at=self._clock.now(), state=RankState.LOST)
        for run in self._still_live().values():
            for rank in run.ranks.values():
                if rank.node == node:
                    rank.befall(lost)

    def _changed(self, times: Iterable[datetime]) -> None:
        for when in times:
            heapq.heappush(self._due, when)
        for rung in self._listeners:
            rung.set()

    def _happened(self) -> int:
        """Return how many things have happened by themselves until now."""
        now = self._clock.now()
        while self._due and self._due[0] <= now:
            heapq.heappop(self._due)
            self._passed += 1
        return self._passed

    def _until_next(self) -> float | None:
        """Return the seconds until something happens by itself; None if nothing will."""
        now = self._clock.now()
        return (self._due[0] - now).total_seconds() if self._due else None


def _number_of(run: ScriptedRun) -> int:
    return int(run.launch.run_id.partition(".")[2])


def notices_of(store: Store) -> Notices:
    """Return a function that reads notices from the store, as the REST interface does for a run's supervisors."""

    async def notice(run_id: RunId) -> Notice | None:
        task_id, _, _ = run_id.partition(".")
        try:
            async with store.read() as tx:
                run = (await tx.tasks.get(TaskId(int(task_id)))).live_run
        except Absent:
            return None
        return run.notice if run is not None and run.id == run_id else None

    return notice
