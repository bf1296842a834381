"""Ranks as pods have them, real processes, and the service as it is: over HTTP, with the tokens of their run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from hai_client.archive import build
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.shared.topics import TICK
from kit.waiting import until

JOB = """
import time
from hai_client import job
print("rank", job.rank, "of", job.nodes, "master", job.master[0], flush=True)
while not job.should_suspend():
    time.sleep(0.01)
print("told", job.notice().reason, flush=True)
job.suspended(step=3)
"""
ADDRESSES = ("10.0.0.1", "10.0.0.2")


class Pods:
    """The ranks of a run of two."""

    def __init__(self, world: Any, task: Task, folder: Path) -> None:
        self._world = world
        self._task = task
        self._folder = folder
        self.processes: list[asyncio.subprocess.Process] = []

    async def start(self, *command: str, **changes: Any) -> None:
        secret = self._folder / "spec"
        secret.mkdir()
        run_id = self._task.run_id(1)
        (secret / "token").write_text(self._world.tokens.make(run_id).reveal())
        spec = {
            "schema": 1,
            "run_id": run_id,
            "task_id": self._task.id,
            "user": "alice",
            "nodes": ["node-1", "node-2"],
            "command": list(command),
            "cwd": "/",
            "env": {"HAI_TASK_ID": str(self._task.id), "HAI_NODES": "2"},
            "profile": "cooperative",
            "api_url": self._world.url,
            "master_port": 29500,
            **changes,
        }
        (secret / "spec.json").write_text(json.dumps(spec))
        archive = self._folder / "hai.pyz"
        build(archive)
        for rank in (0, 1):
            env = {
                "PATH": os.environ["PATH"],
                "HAI_RANK": str(rank),
                "HAI_TERMINATION_GRACE": "60",
                "HAI_TERMINATION_LOG": str(self._folder / f"message-{rank}"),
                "HAI_RUN_DIR": str(self._folder / f"run-{rank}"),
            }
            words = (str(archive), "rank", "--pod", str(secret))
            self.processes.append(await asyncio.create_subprocess_exec(sys.executable, *words, env=env))

    async def up(self) -> None:
        """Both wait for each other; then the cluster sees both."""
        await until("the poll to listen", lambda: self._world.listeners(TICK) == 2)
        self._world.cluster.up[self._task.run_id(1)] = ADDRESSES
        await self._world.bus.ring(TICK)

    async def wait(self) -> list[int]:
        async with asyncio.timeout(60):
            return [await process.wait() for process in self.processes]

    async def log(self, rank: int) -> list[str]:
        """What the service has, without the times."""
        chunk = await self._world.store.logs.read(self._task.run_id(1), rank, offset=0, limit=1 << 20, ended=True)
        return [line.partition(" ")[2] for line in chunk.data.decode().splitlines()]

    async def wrote(self, rank: int, lines: int) -> None:
        """Wait until the service has `lines` lines of the log of the rank."""

        async def log() -> list[str]:
            try:
                return await self.log(rank)
            except LookupError:
                return []

        await until(f"{lines} lines of rank {rank}", log, met=lambda said: len(said) >= lines)


@pytest.fixture
async def task(world) -> Task:
    return await world.start(await world.submit(nodes=2), nodes=("node-1", "node-2"))


@pytest.fixture
async def pods(world, task, tmp_path) -> AsyncIterator[Pods]:
    pods = Pods(world, task, tmp_path)
    yield pods
    for process in pods.processes:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture
def state(world, task) -> Callable[[], Any]:
    async def of_task() -> Any:
        return (await world.json("GET", f"/tasks/{task.id}"))[1]

    return of_task


async def test_a_gang_finds_itself_hears_the_notice_and_sends_its_logs(world, task, pods, state) -> None:
    await pods.start(sys.executable, "-c", JOB)
    await pods.up()
    for rank in (0, 1):
        await pods.wrote(rank, 1)
    await world.json("POST", f"/tasks/{task.id}/suspend")
    assert await pods.wait() == [0, 0]
    for rank in (0, 1):
        first, why, last = await pods.log(rank)
        assert (first, last) == (f"rank {rank} of 2 master 10.0.0.1", "told user_suspended")
        assert re.match(r"\[hai\] told to leave by \d\d:\d\d:\d\d UTC: it was suspended by hand; ", why)
    assert (await state())["checkpoint"]["step"] == 3
    async with world.store.read() as tx:
        found = await tx.found_machines.of("hai-task:1")
    assert found is not None, "the first rank has told it"
    assert (found.machine, found.task) == (os.uname().machine, task.id)


async def test_a_pod_that_is_ended_by_others_takes_the_whole_gang_along_in_time(world, task, pods, state) -> None:
    await pods.start(sys.executable, "-c", JOB)
    await pods.up()
    for rank in (0, 1):
        await pods.wrote(rank, 1)
    pods.processes[1].send_signal(signal.SIGTERM)
    assert await pods.wait() == [0, 0]
    assert [(await pods.log(rank))[-1] for rank in (0, 1)] == ["told evicted", "told evicted"]
    assert (await state())["state"] == "suspending"


async def test_a_long_log_arrives_whole_and_of_it_the_end_is_kept(world, task, pods) -> None:
    world.platform.logs.intake.keep_bytes = 200_000
    await pods.start("seq", "1", "50000")
    await pods.up()
    assert await pods.wait() == [0, 0]
    for rank in (0, 1):
        kept = await pods.log(rank)
        assert kept == [str(number) for number in range(50_001 - len(kept), 50_001)]
        assert len(kept) > 5000
