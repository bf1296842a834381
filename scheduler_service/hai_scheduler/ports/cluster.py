"""The cluster: it launches runs, tells and ends them, and shows what there is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.leaving import Signal
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.core.workspace.mounts import Mount
from hai_scheduler.ports.lineage import MarkedCluster
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.ports.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """All that a cluster needs to start a run."""

    run_id: RunId
    task_id: TaskId
    user: str
    #: Node names in rank order.
    nodes: tuple[str, ...]
    #: GPU indices by rank; empty is whole nodes (U2).
    gpus: tuple[tuple[int, ...], ...] = ()
    command: tuple[str, ...]
    cwd: str
    #: The same for every rank. The cluster adds what only it knows: rank, node, addresses, GPUs, folders.
    env: Mapping[str, str]
    profile: str
    #: How often the command runs on each node, under a launcher; None: once, without one.
    ranks_per_node: int | None = None
    #: What the ranks speak to the service with.
    token: Secret
    #: Its node group.
    group: str = "training"
    #: How long it has to save after a notice.
    grace: timedelta = timedelta(seconds=120)
    #: The signal of its user's choice; None: what the profile says.
    signal: Signal | None = None
    #: Profile `auto`: how long a job that neither catches a signal nor polls is let go on, to save; at most its grace.
    patience: timedelta = timedelta(seconds=30)
    #: Paths whose changes count as checkpoints, beside those below `HAI_CHECKPOINT_DIR`.
    watch: tuple[str, ...] = ()
    #: The image that its ranks run in, where ranks have images; None is the cluster's default.
    image: str | None = None
    #: The Python of its environment, an absolute path: its folder comes first on the ranks' PATH.
    python: str | None = None
    #: Folders that its ranks see, where ranks have file systems of their own; a folder before those below it.
    mounts: tuple[Mount, ...] = ()
    #: Rights of the user beyond the ordinary: `rdma`.
    rights: frozenset[str] = frozenset()
    #: Who decided the run; shown again by `Cluster.observe`.
    origin: Origin | None = None


class Cluster(MarkedCluster, Protocol):
    """The machines. Everything is idempotent by run id; all truth is read by `observe`.

    Ranks learn of notices from the service's REST interface through their supervisor, on every cluster alike.
    """

    async def nodes(self) -> Sequence[Node]:
        """Every node, unmarked. Raises Temporary."""
        ...

    async def observe(self) -> Sequence[Observation]:
        """Every run that it has not forgotten and is not sure to have ended long ago. Raises Temporary.

        One that was killed before its launch shows no ranks. A rank is EXITED or LOST only when no process is left.
        """
        ...

    def changes(self) -> AsyncIterator[None]:
        """Bare wake-ups: something may have changed. May be late, may be too many, carries no fact."""
        ...

    async def launch(self, launch: Launch) -> None:
        """Order every rank of the run. Repeating it starts no rank twice and completes a partial start.

        One that comes late starts nothing: the run was killed or settled, or a later one of its task was launched.

        Raises Temporary when it should be tried again, and while a run of another origin has the id. A rank that cannot
        be started is observed EXITED with a `start_error`.
        """
        ...

    async def kill(self, run_id: RunId) -> None:
        """End every rank: SIGTERM, ten seconds later SIGKILL, with all their descendants. Raises Temporary.

        From then on the run, also one that is not known yet, is `killed`: no launch of any replica starts it.
        """
        ...

    async def addresses(self, run_id: RunId) -> tuple[str, ...] | None:
        """Where its ranks reach each other, in rank order; None until every rank's supervisor is up.

        Raises NotFound for a run that it does not know.
        """
        ...

    async def settle(self, run_id: RunId) -> None:
        """The end of the run was recorded: all but its logs may go. Unknown runs are fine."""
        ...

    async def read_log(self, run_id: RunId, rank: int, *, offset: int, limit: int) -> LogChunk:
        """At most about `limit` bytes from `offset`; an offset behind the end is the end.

        Raises NotFound for a run or rank it does not know.
        """
        ...

    def log_place(self, run_id: RunId) -> LogPlace | None:
        """Where a worker process can read the run's logs, if there are any; None: only `read_log` can."""
        ...

    async def forget(self, run_id: RunId) -> None:
        """Remove all that is kept of an ended run, its logs included."""
        ...

    async def close(self) -> None:
        """Let go of resources; runs go on."""
        ...
