"""The Cluster port on Kubernetes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any

from hai_scheduler.adapters.kubernetes.client import ApiRefused, KubernetesApi, connect
from hai_scheduler.adapters.kubernetes.cluster_cache import ClusterCache
from hai_scheduler.adapters.kubernetes.fabrics import PodTrial
from hai_scheduler.adapters.kubernetes.launching import PodLauncher
from hai_scheduler.adapters.kubernetes.marks import Marks
from hai_scheduler.adapters.kubernetes.names import KILLED, origin_of, parts_of, run_name
from hai_scheduler.adapters.kubernetes.observation import is_tombstone, not_up
from hai_scheduler.adapters.kubernetes.observer import RunObserver
from hai_scheduler.adapters.kubernetes.pod_status import has_ended, has_started
from hai_scheduler.adapters.kubernetes.preflight import check
from hai_scheduler.adapters.kubernetes.record import RunObjects, StartError, Thing
from hai_scheduler.adapters.kubernetes.remedies import told
from hai_scheduler.adapters.kubernetes.removal import RunRemover
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.shared.origins import check_origin
from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.observation import Observation, RankObservation
from hai_scheduler.core.model.run import Blame, RankState
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk, LogPlace, LogSource
from hai_scheduler.ports.timings import Timings, Untimed

log = logging.getLogger(__name__)


async def open_cluster(
    settings: ClusterSettings, logs: LogSource, clock: Clock, *, acts: bool = True, timings: Timings | None = None
) -> KubernetesCluster:
    """Connect, check that everything that is needed is there, and return the cluster. Raises client.Unusable.

    Args:
        settings: The settings of the cluster.
        logs: The source of ranks' logs.
        clock: The clock.
        acts: Whether runs are to be started and ended through it; else rights to read are enough.
        timings: Takes how long requests take.
    """
    api = KubernetesApi(await connect(settings), clock, parallel=settings.parallel, timings=timings or Untimed())
    try:
        await check(api, settings.namespace, acts=acts, foreign=settings.foreign_pods)
    except BaseException:
        await api.close()
        raise
    return KubernetesCluster(settings, api, logs, clock)


class KubernetesCluster:
    """The Cluster port where ranks are pods.

    All state is in the API server: a new `KubernetesCluster` on the same namespace finds every run. Nothing is decided
    on old data: while the API server cannot be reached, `nodes` and `observe` raise Temporary.
    """

    def __init__(self, settings: ClusterSettings, api: KubernetesApi, logs: LogSource, clock: Clock) -> None:
        self._settings = settings
        self._api = api
        self._logs = logs
        self._clock = clock
        self._sight = ClusterCache(api, clock, settings)
        self._launcher = PodLauncher(api, self._sight, settings)
        self._remover = RunRemover(api, self._sight, settings)
        self._observer = RunObserver(self._sight, clock, settings, self._look_after)
        self._marks = Marks(api, settings.namespace)
        #: False: another platform may use the namespace too.
        self.exclusive = False
        #: See `Cluster.fabrics`.
        self.fabrics = PodTrial(api, self._sight, settings)
        #: Runs whose record the API server refuses: their number of ranks, and why.
        self._refused: dict[RunId, tuple[int, str]] = {}
        #: Why the latest launch of a run was not completed.
        self._unmade: dict[RunId, str] = {}
        #: Background work, by run.
        self._under_way: dict[RunId, asyncio.Task[None]] = {}

    async def nodes(self) -> Sequence[Node]:
        """Return every node that is in a group, by name. Raises Temporary."""
        await self._sight.fresh()
        return self._sight.platform_nodes()

    async def observe(self) -> Sequence[Observation]:
        """Return what every run with a record or pods shows; takes down gangs that do not come up. Raises Temporary."""
        await self._sight.fresh()
        seen = self._observer.observe()
        refused = (_refused(run_id, ranks, why) for run_id, (ranks, why) in self._refused.items())
        return [*seen, *(shown for shown in refused if all(run.run_id != shown.run_id for run in seen))]

    def changes(self) -> AsyncIterator[None]:
        """Yield when a watch reports a change. Raises Temporary."""
        return self._sight.changes()

    # -- starting -----------------------------------------------------------------------------------------

    async def launch(self, launch: LaunchOrder) -> None:
        """Create the objects of the run that do not exist yet. Raises Temporary."""
        await self._sight.fresh()
        there = self._sight.run(launch.run_id)
        if there is not None:
            # Checked before anything that may fail, because a failed start is taken down by the run's id.
            check_origin(launch, there.origin)
        if self._superseded(launch):
            log.warning("run %s is not started: a later one of its task has been", launch.run_id)
            return
        try:
            await self._launcher.launch(launch, self._clock.now())
            self._refused.pop(launch.run_id, None)
            self._unmade.pop(launch.run_id, None)
        except Temporary as error:
            self._unmade[launch.run_id] = str(error)
            raise
        except ApiRefused as error:
            words = told(str(error))
            run = self._sight.run(launch.run_id)
            made = run.pods if run is not None else {}
            missing = tuple(rank for rank in range(len(launch.nodes)) if rank not in made)
            if not await self._take_down(launch.run_id, StartError(message=words, ranks=missing, blame=Blame.NOBODY)):
                self._refused[launch.run_id] = (len(launch.nodes), words)
        self._sight.wake()

    def _superseded(self, launch: LaunchOrder) -> bool:
        """Whether a later run of its task is in the cluster. If that was finalized, the service tells ranks to end."""
        task, _, number = run_name(launch.run_id).rpartition("-")
        for name, service in self._sight.services.items.items():
            other, _, later = name.rpartition("-")
            if other == task and int(later) > int(number) and _same_database(launch.origin, origin_of(service)):
                return True
        return False

    def _look_after(self, run: RunObjects, shown: Observation) -> None:
        """Take down a gang that does not come up, until no pod of it is left. Leave other platforms' runs alone."""
        if not self._marks.is_own(run.origin):
            return
        unmade, nodes = self._unmade.get(run.run_id, ""), self._sight.nodes.items
        error = not_up(run, self._clock.now(), self._settings, unmade=unmade, nodes=nodes)
        if error is None and run.record is not None and not all(rank.state.gone for rank in shown.ranks):
            error = run.record.start_error if self._left(run) else None
        if error is not None:
            self._in_background(run.run_id, self._take_down(run.run_id, error))

    def _in_background(self, run_id: RunId, work: Coroutine[Any, Any, object]) -> None:
        if run_id in self._under_way:
            work.close()
            return

        async def finish() -> None:
            try:
                await work
            except Temporary as error:
                log.warning("run %s: %s", run_id, error)
            finally:
                del self._under_way[run_id]

        self._under_way[run_id] = asyncio.create_task(finish())

    async def _take_down(self, run_id: RunId, error: StartError) -> bool:
        """Record why the run could not be started, and end its pods. Returns whether the run has a record."""
        recorded = await self._launcher.annotate(run_id, error.to_annotation())
        if recorded:
            log.warning("run %s is taken down: %s", run_id, error.message)
            await self._remover.end_pods(run_id)
        return recorded

    # -- ending -------------------------------------------------------------------------------------------

    async def kill(self, run_id: RunId) -> None:
        """Record that the run was ordered to end, then delete its pods that have not ended. Raises Temporary."""
        parts_of(run_id)
        await self._sight.ready()
        run, now = self._sight.run(run_id), self._clock.now()
        record = run.record if run is not None else None
        if (
            run is not None
            and record is not None
            and ((record.killed and not self._left(run)) or self._observer.has_ended(run))
        ):
            return
        recorded = await self._launcher.annotate(run_id, {KILLED: now.isoformat()})
        if not recorded:
            try:
                await self._launcher.bury(run_id, now)
            except ApiRefused as error:
                # It would refuse the record of a launch too; and a pod asks the service before it starts anything.
                log.warning("that run %s is ended cannot be recorded: %s", run_id, error)
                self._refused[run_id] = (0, str(error))
        if recorded or run is not None:
            await self._remover.end_pods(run_id)
        self._sight.wake()

    def _left(self, run: RunObjects) -> bool:
        """Whether a pod of the run is left that has not ended and is not about to."""
        return any(not has_ended(pod) and not _ends_soon(pod, self._settings.kill_grace_s) for pod in run.pods.values())

    async def finalize(self, run_id: RunId) -> None:
        """Delete the run's Service; Kubernetes deletes its pods and its Secret with it. Raises Temporary."""
        await self._sight.ready()
        self._refused.pop(run_id, None)
        self._unmade.pop(run_id, None)
        run = self._sight.run(run_id)
        if run is None or run.record is None:
            return
        await self._remover.remove_service(run_id)

    async def forget(self, run_id: RunId) -> None:
        """Remove what is left of an ended run, and its logs. Raises Temporary while a rank of it runs."""
        await self._sight.ready()
        run = self._sight.run(run_id)
        if run is not None and not self._observer.has_ended(run) and not is_tombstone(run):
            raise Temporary(f"run {run_id} cannot be forgotten: it has not ended")
        await self.finalize(run_id)
        if run is not None and run.pods:
            await self._remover.remove_pods(run)
        await self._logs.forget(run_id)

    # -- whose runs they are ------------------------------------------------------------------------------

    async def marks(self) -> Sequence[Mark]:
        """Return the marks in the ConfigMap of the namespace. Raises Temporary."""
        return await self._marks.all()

    async def put_mark(self, mark: Mark) -> None:
        """Write a mark into the ConfigMap. Raises Superseded, Temporary."""
        await self._marks.put(mark)

    async def put_aside(self, run_id: RunId) -> str | None:
        """Finalize an orphaned run; its logs stay in place. Returns None: no folder is moved. Raises Temporary."""
        await self._sight.ready()
        run = self._sight.run(run_id)
        if run is not None and not self._observer.has_ended(run) and not is_tombstone(run):
            raise Temporary(f"run {run_id} cannot be put aside: it has not ended")
        await self.finalize(run_id)
        return None

    # -- reading ------------------------------------------------------------------------------------------

    async def addresses(self, run_id: RunId) -> tuple[str, ...] | None:
        """Return the pods' addresses in rank order; None until every supervisor is up. Raises Absent, Temporary."""
        await self._sight.fresh()
        run = self._sight.run(run_id)
        if run is None or not run.ranks:
            raise Absent(f"there is no run {run_id} here")
        found = [_address(run.pods.get(rank) or run.removed.get(rank)) for rank in range(run.ranks)]
        addresses = tuple(address for address in found if address is not None)
        return addresses if len(addresses) == len(found) else None

    async def read_log(self, run_id: RunId, rank: int, *, offset: int, limit: int) -> LogChunk:
        """Return lines of a rank's log from a logical offset. Raises Absent, Temporary."""
        parts_of(run_id)
        await self._sight.ready()
        run = self._sight.run(run_id)
        if run is not None and self._marks.is_anothers(run.origin):
            raise Absent(f"run {run_id} is another platform's")
        has_rank = run.has_rank(rank) if run is not None else None
        if has_rank is False:
            raise Absent(f"there is no rank {rank} of run {run_id}")
        if run is None or has_rank is None:
            # The log outlives the objects of its run, so what is left of them does not tell which logs there are.
            return await self._logs.read(run_id, rank, offset=offset, limit=limit, ended=not self._sight.stale)
        shown = self._observer.read(run)
        ended = any(seen.rank == rank and seen.state.gone for seen in shown.ranks)
        try:
            return await self._logs.read(run_id, rank, offset=offset, limit=limit, ended=ended)
        except Absent:
            return LogChunk(start=0, next=0, data=b"", final=ended)

    def log_place(self, run_id: RunId) -> LogPlace | None:
        """See `Cluster.log_place`."""
        run = self._sight.run(run_id)
        if run is not None and self._marks.is_anothers(run.origin):
            return None
        return self._logs.place(run_id)

    async def close(self) -> None:
        """Close the watches and all connections; runs go on."""
        for task in list(self._under_way.values()):
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        await self._sight.close()
        await self._api.close()


def _ends_soon(pod: Thing, seconds: int) -> bool:
    metadata = pod["metadata"]
    return "deletionTimestamp" in metadata and int(metadata.get("deletionGracePeriodSeconds") or 0) <= seconds


def _same_database(ours: Origin | None, theirs: Origin | None) -> bool:
    """Whether two runs may be of one database; runs that older versions started carry no origin, so they may be."""
    return ours is None or theirs is None or ours.database == theirs.database


def _address(pod: Thing | None) -> str | None:
    """Return the address of a rank; None before its supervisor is up."""
    if pod is None or not has_started(pod):
        return None
    return (pod.get("status") or {}).get("podIP") or None


def _refused(run_id: RunId, ranks: int, why: str) -> Observation:
    shown = [
        RankObservation(
            rank=rank,
            state=RankState.EXITED,
            message=why,
            start_error=why if rank == 0 else None,
            blame=Blame.NOBODY,
        )
        for rank in range(ranks)
    ]
    return Observation(run_id=run_id, ranks=tuple(shown), unfinalized=True, killed=True)
