"""Two services over one cluster and one database: the leader is killed, and the pods do not notice."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from integration.replicas import conftest as replicas
from integration.replicas.conftest import PREFIX, TAKEOVER, Replica, service_environment
from kit.kubernetes.control import ask
from kit.kubernetes.passage import Passage
from kit.kubernetes.place import SOON, Place
from kit.kubernetes.platform import INSIDE, World, make_world
from kit.redis_server import RedisServer
from kit.waiting import until

# An empty one.
database = replicas.database


@dataclass
class Pair:
    """Two replicas on one cluster."""

    replicas: tuple[Replica, Replica]
    world: World
    #: Of the test.
    name: str

    async def roles(self) -> tuple[Replica, Replica]:
        """The leader and the follower, as soon as there are such."""
        one, other = self.replicas

        async def found() -> tuple[Replica, Replica] | None:
            ended = [each.returncode for replica in self.replicas for each in replica.processes]
            assert set(ended) == {None}, f"of loop and API of both, some have ended: {ended}"
            for leader, follower in ((one, other), (other, one)):
                if await leader.leads() and await follower.follows():
                    return leader, follower
            return None

        try:
            return await until("a leader and a follower", found, within=SOON)
        except AssertionError as error:
            pytest.fail(f"{error}\n{one.said}{other.said}")

    def inside(self, names: Iterable[str]) -> list[str]:
        """The tests run more than once in one folder."""
        return [f"{self.name}-{name}" for name in names]

    async def submit(self, replica: Replica, name: str, **more: Any) -> int:
        """Submit a task that waits for its gate; returns its id."""
        (own,) = self.inside([name])
        return await replica.submit(name, "", command=list(self.world.command(own)), **more)

    async def said(self, name: str, word: str, count: int) -> None:
        """Wait until `count` ranks of the task called `name` have written `word`."""
        (own,) = self.inside([name])

        async def enough() -> bool:
            return [line[0] for line in self.world.lines(own)].count(word) >= count

        await until(f"{name}: {count} {word}", enough, within=SOON)

    async def all_succeed(self, replica: Replica, tasks: Mapping[str, int]) -> None:
        """Wait until all have ended well, each rank of each having been started once, in one run; then for its pods."""
        for name, task in tasks.items():
            await replica.wait_for(task, "succeeded", within=SOON)
            (run,) = (await replica.get(f"/tasks/{task}"))["runs"]
            (own,) = self.inside([name])
            assert self.world.starts(own) == {(run["id"], str(rank["rank"])): 1 for rank in run["ranks"]}

        async def nothing_left() -> bool:
            return not await self.pods()

        await until("every pod to be gone", nothing_left, within=SOON)

    async def pods(self) -> dict[str, str]:
        """Uids of the pods that have not ended, by name."""
        query = {"labelSelector": "app.kubernetes.io/managed-by=hai"}
        found = await asyncio.to_thread(ask, "GET", f"{self.world.place.path}/pods", query=query)
        return {
            pod["metadata"]["name"]: pod["metadata"]["uid"]
            for pod in found["items"]
            if pod["status"].get("phase") == "Running"
        }


@pytest.fixture(scope="module")
def world(shared_place: Place) -> Iterator[World]:
    with make_world(shared_place) as made:
        yield made


@pytest.fixture
async def hub() -> AsyncIterator[str]:
    """A stand-in for the Hub's API of tokens: `NAME-token` belongs to the user NAME, with all scopes."""

    async def user(request: web.Request) -> web.Response:
        name = request.headers["Authorization"].split(" ", 1)[1].removesuffix("-token")
        scopes = ["access:services!service=hai", "custom:hai:tasks:write", "custom:hai:admin"]
        return web.json_response({"name": name, "kind": "user", "groups": [], "scopes": scopes})

    app = web.Application()
    app.router.add_get("/hub/api/user", user)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/hub/api"
    await runner.cleanup()


@pytest.fixture
async def pair(
    request: pytest.FixtureRequest, world: World, tmp_path: Path, hub: str, database: str
) -> AsyncIterator[Pair]:
    """Two replicas that lead and follow, behind one address."""
    redis = RedisServer(password="s3cret-of-redis")
    environ = service_environment(hub, database, redis)
    async with aiohttp.ClientSession() as client:
        made = [Replica(name, tmp_path / f"{name}.log", [], environ, client) for name in ("one", "other")]
        # It stands for the Service of Kubernetes in front of the replicas.
        address = Passage(*(("127.0.0.1", replica.port) for replica in made), listen="0.0.0.0")
        try:
            redis.start()
            await address.open()
            api_url = f"http://{world.place.host}:{address.port}{PREFIX}api/v1"
            words = ["--state-dir", str(tmp_path / "state"), "--config", str(world.config(api_url))]
            for replica in made:
                replica.words = words
                await replica.launch()
            pair = Pair((made[0], made[1]), world, re.sub(r"\W+", "-", request.node.name))
            await pair.roles()
            body = {"subject": "public", "action": "add", "kind": "host_path", "source": str(world.folder)}
            body |= {"mount_path": INSIDE, "read_only": False, "priority": 0, "node_group": None, "description": ""}
            status, answer = await made[0].json("PUT", "/mounts/shared", json=body, seconds=SOON)
            assert status in (200, 201), answer
            yield pair
        finally:
            for replica in made:
                if replica.up:
                    await replica.end()
            await address.shut()
            redis.remove()


@pytest.mark.parametrize("database", ["postgres", "sqlite"], indirect=True)
async def test_after_a_kill_of_the_leader_the_other_leads_and_no_pod_is_lost_or_doubled(pair: Pair) -> None:
    leader, follower = await pair.roles()
    half = pair.world.half
    tasks = {"gang": await pair.submit(follower, "gang", nodes=2, gpus=half)}
    await pair.said("gang", "started", 2)
    await leader.wait_for(tasks["gang"], "running", within=SOON)
    tasks["waits"] = await pair.submit(leader, "waits", nodes=2)
    before = await pair.pods()
    assert len(before) == 2

    died = time.monotonic()
    await leader.end(signal.SIGKILL)
    for number in range(2):
        tasks[f"gap-{number}"] = await pair.submit(follower, f"gap-{number}", gpus=half, priority="HIGH")
    await until("the follower to lead", follower.leads, within=TAKEOVER)
    print(f"took over in {time.monotonic() - died:.1f} s")
    for number in range(2):
        await pair.said(f"gap-{number}", "started", 1)
    assert (await pair.pods()).items() >= before.items(), "pods go on as if nothing had been"
    await follower.wait_for(tasks["gang"], "running", within=SOON)

    await leader.launch()
    assert await pair.roles() == (follower, leader)
    pair.world.open_gate(*pair.inside(tasks))
    await pair.all_succeed(leader, tasks)


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
@pytest.mark.parametrize("moment", ["services", "pods"])
async def test_a_gang_that_one_leader_began_to_create_is_completed_by_the_next(pair: Pair, moment: str) -> None:
    leader, follower = await pair.roles()
    trap = pair.world.trap(moment)
    tasks = {"begun": await pair.submit(follower, "begun", nodes=2)}
    await until("the follower to lead", follower.leads, within=2 * TAKEOVER)
    assert not trap.exists()
    assert leader.process is not None
    assert await leader.process.wait() == -signal.SIGKILL
    await pair.said("begun", "started", 2)
    await follower.wait_for(tasks["begun"], "running", within=SOON)
    pair.world.open_gate(*pair.inside(tasks))
    await pair.all_succeed(follower, tasks)
