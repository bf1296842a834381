"""The interface between the contract suite of the Cluster port and an adapter: jobs of known behaviour, and waits."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.local.nodes import LocalNode
from hai_scheduler.adapters.local.settings import LocalSettings
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.ports.cluster import Cluster, LaunchOrder
from hai_scheduler.ports.secret import Secret
from kit.waiting import until

T = TypeVar("T")
NODES = (
    Node(name="node-1", leaf="leaf-a", gpus=4),
    Node(name="node-2", leaf="leaf-a", gpus=2),
    Node(name="node-3", leaf="leaf-b", group="other"),
)


#: The indices of the real GPUs of a node, for adapters that know them.
DEVICES = {"node-1": (4, 5, 6, 7)}


class ClusterHarness(ABC):
    """An adapter with a world of its own. Another call of `open` is a restart of the service."""

    @abstractmethod
    async def open(self) -> Cluster:
        """Open a cluster with NODES over this world."""

    @abstractmethod
    async def close(self) -> None:
        """End the world and every run in it."""

    @abstractmethod
    def prints(self, text: str, *, status: int = 0) -> tuple[str, ...]:
        """A command that prints lines and exits."""

    @abstractmethod
    def waits(self) -> tuple[str, ...]:
        """A command that prints `up` and runs until `release`, then exits with 0; SIGTERM ends it."""

    @abstractmethod
    def resists(self) -> tuple[str, ...]:
        """A command that prints `up` and runs until SIGKILL."""

    @abstractmethod
    def saves(self, step: int, state: str) -> tuple[str, ...] | None:
        """A command that reports a checkpoint, a state and done, then behaves like `waits`; None if there is none."""

    @abstractmethod
    def devices(self) -> tuple[str, ...] | None:
        """A command that prints which GPU devices it sees, with commas between them, then behaves like `waits`.

        None where the adapter only asks for a number of them.
        """

    @abstractmethod
    def missing(self) -> tuple[str, ...]:
        """A command that does not exist."""

    @abstractmethod
    async def release(self) -> None:
        """Let commands that wait exit."""

    @abstractmethod
    async def starts(self, run_id: RunId, rank: int) -> int:
        """How often the command of a rank has really been started."""

    @abstractmethod
    async def settle(self, look: Callable[[], Awaitable[T]]) -> T:
        """The first true result of `look`; fails when that takes too long."""

    async def break_launch(self, after: int) -> bool:
        """Let the next launch break off after `after` ranks; returns False where that cannot be done."""
        return False

    def held(self, launch: LaunchOrder) -> LaunchOrder | None:
        """The launch, changed so that none of its ranks starts; None where that cannot be done."""
        return None

    async def kill_supervisor(self, run_id: RunId, rank: int) -> bool:
        """Send SIGKILL to the supervisor of a running rank; returns False where that cannot be done."""
        return False

    async def vanished(self, run_id: RunId) -> bool:
        """Whether the cluster itself has nothing left of the processes of an ended run."""
        return True

    def ended_with(self, exit_code: int | None, expected: int) -> bool:
        """Whether `exit_code` shows the end of a rank whose end was ordered; `expected` is the code of its command."""
        return exit_code == expected

    def launch(
        self,
        number: int,
        command: tuple[str, ...],
        *nodes: str,
        user: str = "alice",
        gpus: tuple[tuple[int, ...], ...] = (),
    ) -> LaunchOrder:
        """Run `<number>.1` of the command on some nodes, or on those GPUs of them."""
        return LaunchOrder(
            run_id=RunId(f"{number}.1"),
            task_id=TaskId(number),
            user=user,
            nodes=nodes or ("node-1",),
            gpus=gpus,
            command=command,
            cwd=self.cwd,
            env={"HAI_TASK_ID": str(number)},
            profile="sigterm",
            token=Secret("token-of-a-run"),
        )

    @property
    def cwd(self) -> str:
        """A folder that exists on the nodes, for the commands."""
        return "/"


class LocalHarness(ClusterHarness):
    """Real processes on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clusters: list[LocalCluster] = []
        (folder / "count").mkdir()

    async def open(self) -> Cluster:
        settings = LocalSettings(
            runs_dir=self._folder / "runs",
            nodes=tuple(LocalNode(node=node, gpu_ids=DEVICES.get(node.name, ())) for node in NODES),
            # No service listens there; supervisors work without one.
            api_url="http://127.0.0.1:9/services/hai/api/v1",
            path_prefix=(str(Path(sys.executable).parent),),
            term_wait_s=0.3,
        )
        self._clusters.append(LocalCluster(settings))
        return self._clusters[-1]

    async def close(self) -> None:
        last = await self.open()  # a new harness sees what any earlier one has started
        for run in await last.observe():
            await last.kill(run.run_id)

        async def all_gone() -> bool:
            return all(rank.state.gone for run in await last.observe() for rank in run.ranks)

        await self.settle(all_gone)
        for cluster in self._clusters:
            await cluster.close()

    def _counted(self, script: str) -> tuple[str, ...]:
        return ("sh", "-c", f'echo x >> "{self._folder}/count/$HAI_RUN_ID-$HAI_RANK"; {script}')

    def prints(self, text: str, *, status: int = 0) -> tuple[str, ...]:
        return (*self._counted(f'printf "%s\\n" "$0"; exit {status}'), text)

    def waits(self) -> tuple[str, ...]:
        return self._counted(f'echo up; while [ ! -e "{self._folder}/go" ]; do sleep 0.02; done')

    def resists(self) -> tuple[str, ...]:
        return self._counted("trap '' TERM; echo up; while :; do sleep 0.05; done")

    def saves(self, step: int, state: str) -> tuple[str, ...]:
        code = f"from hai_client import job; job.set_state({state!r}); job.suspended(step={step})"
        return self._counted(f'{sys.executable} -c "{code}"; ' + self.waits()[2])

    def devices(self) -> tuple[str, ...]:
        return self._counted('echo "$CUDA_VISIBLE_DEVICES"; ' + self.waits()[2])

    def missing(self) -> tuple[str, ...]:
        return ("no-such-command",)

    async def release(self) -> None:
        await asyncio.to_thread((self._folder / "go").touch)

    async def starts(self, run_id: RunId, rank: int) -> int:
        count = self._folder / "count" / f"{run_id}-{rank}"
        return len((await asyncio.to_thread(count.read_text)).split()) if count.exists() else 0

    async def kill_supervisor(self, run_id: RunId, rank: int) -> bool:
        lock = self._folder / "runs" / str(run_id).replace(".", "/") / str(rank) / "lock"
        os.kill(int(await asyncio.to_thread(lock.read_text)), signal.SIGKILL)
        return True

    async def settle(self, look: Callable[[], Awaitable[T]]) -> T:
        return await until("the cluster to settle", look)
