"""The memory cluster for the contract suite: scripted jobs in virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from contract.cluster_harness import NODES, ClusterHarness
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.cluster import Cluster, LaunchOrder
from kit.memory.behaviour import Behaviour
from kit.memory.clock import VirtualClock
from kit.memory.cluster import MemoryCluster

T = TypeVar("T")
#: How long commands that wait run in virtual time: nothing releases them earlier.
LONG = timedelta(hours=1)
#: An image that takes long to pull.
SLOW = "slow"


class MemoryHarness(ClusterHarness):
    """A harness whose commands are names of behaviours; every `open` returns the same cluster."""

    def __init__(self, folder: Path) -> None:
        self._clock = VirtualClock()
        self._cluster = MemoryCluster(self._clock, NODES, behaviour=behave, remember=timedelta(days=1))

    async def open(self) -> Cluster:
        return self._cluster

    async def close(self) -> None:
        self._cluster.record.check()
        await self._cluster.close()

    def prints(self, text: str, *, status: int = 0) -> tuple[str, ...]:
        return ("prints", text, str(status))

    def waits(self) -> tuple[str, ...]:
        return ("waits",)

    def resists(self) -> tuple[str, ...]:
        return ("resists",)

    def saves(self, step: int, state: str) -> tuple[str, ...] | None:
        return None

    def devices(self) -> tuple[str, ...]:
        return ("devices",)

    def missing(self) -> tuple[str, ...]:
        return ("missing",)

    async def break_launch(self, after: int) -> bool:
        self._cluster.faults.break_launch(after)
        return True

    def held(self, launch: LaunchOrder) -> LaunchOrder:
        return replace(launch, image=SLOW)

    async def release(self) -> None:
        await self._clock.advance(LONG.total_seconds())

    async def starts(self, run_id: RunId, rank: int) -> int:
        chunk = await self._cluster.read_log(run_id, rank, offset=0, limit=10_000)
        return chunk.data.count(b" up\n")

    async def kill_supervisor(self, run_id: RunId, rank: int) -> bool:
        self._cluster.faults.lose_rank(run_id, rank, node_well=True)
        return True

    async def settle(self, look: Callable[[], Awaitable[T]]) -> T:
        for _ in range(600):
            seen = await look()
            if seen:
                return seen
            await self._clock.advance(0.1)
        raise AssertionError("it did not settle within 60 s")


def behave(launch: LaunchOrder) -> Behaviour:
    """The behaviour of a command of the suite."""
    name = launch.command[0]
    if name == "prints":
        _, text, status = launch.command
        return Behaviour(work=timedelta(seconds=1), exit_code=int(status), prints=tuple(text.split("\n")))
    if name == "missing":
        return Behaviour(work=timedelta(0), exit_code=127)
    if name == "devices":
        return Behaviour(work=LONG, prints=(",".join(str(gpu) for gpu in launch.gpus[0]), "up"))
    if name == "resists":
        return Behaviour(work=LONG, dies_in=timedelta(seconds=10), prints=("up",))
    return Behaviour(work=LONG, prints=("up",), start_takes=LONG if launch.image == SLOW else timedelta(0))
