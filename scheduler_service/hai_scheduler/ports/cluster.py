"""The cluster: launches and ends runs, and shows its nodes and what runs on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.leaving import Signal
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.secret_refs import SecretRef
from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.core.workspace.identity import Identity
from hai_scheduler.core.workspace.mounts import Mount
from hai_scheduler.ports.fabric_trials import FabricTrial
from hai_scheduler.ports.lineage import MarkedCluster
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.ports.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSecret:
    """A secret that the ranks of a run get."""

    ref: SecretRef
    #: Its value in base64.
    value: Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOrder:
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
    #: Kept apart from all else that is written of a run: only its ranks may read it.
    secrets: tuple[GivenSecret, ...] = ()
    profile: str
    #: How many processes of the command a launcher starts on each node; None: one, without a launcher.
    ranks_per_node: int | None = None
    #: The run token: ranks authenticate to the service with it.
    token: Secret
    #: The node group of the task.
    group: str = "training"
    #: How long the job has to save after a notice.
    grace: timedelta = timedelta(seconds=120)
    #: The signal that the user chose; None: the one of the profile.
    signal: Signal | None = None
    #: Profile `auto`: how long a job that neither catches a signal nor polls goes on after a notice, to save; at most
    #: its grace.
    patience: timedelta = timedelta(seconds=30)
    #: Paths whose changes count as checkpoints, beside those below `HAI_CHECKPOINT_DIR`.
    watch: tuple[str, ...] = ()
    #: The path of the latest checkpoint of the runs before; None: none is known.
    checkpoint: str | None = None
    #: The image of the ranks, where ranks have images; None is the cluster's default.
    image: str | None = None
    #: The Python of the task's environment, an absolute path: its folder comes first on the ranks' PATH.
    python: str | None = None
    #: The generation of an environment of haienv that the ranks run with: HAI_VENV is its prefix. None: none.
    haienv: Pin | None = None
    #: The owner whose environments the ranks may write, `users/ann`, `groups/cv` or `base`: only the service says so,
    #: for a build. Where ranks see the environments by a volume of the cluster's, this folder of it is mounted for
    #: writing. None: they write none.
    haienv_writes: str | None = None
    #: The folders of that volume that the ranks see, below its root; none is in another one. None: all of it.
    haienv_reads: tuple[str, ...] | None = None
    #: Folders that the ranks see, where ranks have file systems of their own; a folder comes before its subfolders.
    mounts: tuple[Mount, ...] = ()
    #: What the network of the node group asks of the ranks, beside variables, which are in `env`; None: nothing.
    fabric: Fabric | None = None
    #: Who the ranks are: the user's account, or for a build that of builds. Never root. None: the account that all
    #: ranks of the cluster have.
    identity: Identity | None = None
    #: Under whose name the cluster keeps the folders of the run; None: the user's.
    folders_of: str | None = None
    #: Which database decided the run; `Cluster.observe` shows it again.
    origin: Origin | None = None


class Cluster(MarkedCluster, Protocol):
    """The machines that runs are launched on. Every method is idempotent by run id; `observe` reads the true state.

    On every kind of cluster, ranks learn of notices from the service's REST interface, through their supervisor.
    """

    @property
    def fabrics(self) -> FabricTrial:
        """Tries fabrics on this cluster."""
        ...

    async def nodes(self) -> Sequence[Node]:
        """All nodes, without the marks of admins. Raises Temporary."""
        ...

    async def observe(self) -> Sequence[Observation]:
        """All runs that the cluster still knows, except those that surely ended long ago. Raises Temporary.

        A run that was killed before its launch shows no ranks. A rank is EXITED or LOST only when none of its processes
        is left.
        """
        ...

    def changes(self) -> AsyncIterator[None]:
        """Yields whenever something on the cluster may have changed; it may yield late, or more often than needed."""
        ...

    async def launch(self, launch: LaunchOrder) -> None:
        """Start every rank of the run. A repeated call starts no rank twice, and completes a partial start.

        A late call starts nothing: when the run was killed or finalized, or a later run of its task was launched.
        A rank that cannot be started is observed as EXITED with a `start_error`.

        Raises:
            Temporary: The call should be repeated, or a run of another origin has the id.
        """
        ...

    async def kill(self, run_id: RunId) -> None:
        """End every rank with all its descendants: SIGTERM, then SIGKILL ten seconds later. Raises Temporary.

        From then on the run is `killed`, even if the cluster did not know it: no launch of any replica starts it.
        """
        ...

    async def addresses(self, run_id: RunId) -> tuple[str, ...] | None:
        """The addresses at which the ranks reach each other, in rank order; None until every rank's supervisor is up.

        Raises Absent for a run that the cluster does not know.
        """
        ...

    async def finalize(self, run_id: RunId) -> None:
        """Release what is kept of a run whose end was recorded, except its logs. Does nothing for an unknown run."""
        ...

    async def read_log(self, run_id: RunId, rank: int, *, offset: int, limit: int) -> LogChunk:
        """About `limit` bytes of a rank's log at most, from byte `offset`; an offset behind the end is the end.

        Raises Absent for a run or rank that the cluster does not know.
        """
        ...

    def log_place(self, run_id: RunId) -> LogPlace | None:
        """The place where a worker process can read the run's logs, if there are any; None: only `read_log` can."""
        ...

    async def forget(self, run_id: RunId) -> None:
        """Remove everything that is kept of an ended run, including its logs."""
        ...

    async def close(self) -> None:
        """Close connections and release resources; runs go on."""
        ...
