"""A folder with a local cluster on it, for tests of what only the local cluster does."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hai_client.linux.processes import read_environment, read_table
from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.local.nodes import LocalNode
from hai_scheduler.adapters.local.settings import LocalSettings
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.secret import Secret
from kit.waiting import until

RUN = RunId("5.1")


class World:
    """A folder with settings, and the local clusters on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = LocalSettings(
            runs_dir=folder / "runs",
            nodes=(
                LocalNode(node=Node(name="node-1", gpus=2), gpu_ids=(2, 3)),
                LocalNode(node=Node(name="node-2", gpus=8)),
            ),
            api_url="http://127.0.0.1:9/api",
            path_prefix=(str(Path(sys.executable).parent),),
            term_wait_s=0.3,
        )
        self.clusters: list[LocalCluster] = []

    def open(self, **changes: Any) -> LocalCluster:
        self.clusters.append(LocalCluster(replace(self.settings, **changes)))
        return self.clusters[-1]

    def launch(self, script: str, *nodes: str, **changes: Any) -> LaunchOrder:
        base = LaunchOrder(
            run_id=RUN,
            task_id=TaskId(5),
            user="alice",
            nodes=nodes or ("node-1",),
            command=("sh", "-c", script),
            cwd=str(self.folder),
            env={"HAI_TASK_NAME": "digits"},
            profile="sigterm",
            token=Secret("run:5.1:secret"),
        )
        return replace(base, **changes)

    def rank_folder(self, rank: int = 0) -> Path:
        return self.settings.runs_dir / "5" / "1" / str(rank)

    def processes(self) -> list[int]:
        """The ids of the processes of ranks, without the supervisors."""
        here = os.fsencode(self.settings.runs_dir)
        table = read_table()
        return [pid for pid in table if read_environment(pid).get(b"HAI_RUNTIME_DIR", b"").startswith(here)]

    async def ranks(self, cluster: LocalCluster, *states: RankState) -> tuple[RankObservation, ...]:
        async def look() -> tuple[RankObservation, ...]:
            runs = await cluster.observe()
            ranks = runs[0].ranks if runs else ()
            return ranks if all(rank.state in states for rank in ranks) else ()

        return await until(f"all ranks to be {', '.join(states)}", look)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    yield world
    last = world.open()
    await last.kill(RUN)

    async def gone() -> bool:
        return all(rank.state.gone for run in await last.observe() for rank in run.ranks)

    await until("every rank to be gone", gone)
    assert world.processes() == []
    for cluster in world.clusters:
        await cluster.close()
