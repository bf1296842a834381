"""The processes of `bench studio`: `python -m bench.studio.service ROLE FOLDER HUB`, in the order of `ROLES`.

The roles are those of production, each a process of its own, over one database and one bus; only the cluster is in
memory, and the Hub is a stand-in. The API knows the cluster's nodes alone, as it asks it for nothing else here.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from jupyterhub.services.auth import HubOAuth
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from bench.studio.scene import HEAD, HEAD_NODES, LEVELS, NODES, behaviour, tasks, users
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.adapters.system.socket_bus import open_bus
from hai_scheduler.api.application import make_application, make_server
from hai_scheduler.api.server.auth import BELIEVED, Auth
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.app.api import NICER
from hai_scheduler.app.loop import SchedulingLoop
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.shared.world import World
from hai_scheduler.store.store import open_store
from integration.api.conftest import PREFIX
from integration.api.fakes import ACCESS, FakeHub, hub_answers
from kit.builders import a_spec, some_nodes
from kit.databases import sqlite_url
from kit.memory.cluster import MemoryCluster
from kit.worlds import make_world

ROLES: Final = ("hub", "loop", "api")
_SECRET: Final = Secret("a secret of the benchmark")
#: Tasks that are written to the database in one transaction.
_AT_ONCE: Final = 1_000


async def _world(folder: Path, holder: str = "") -> World:
    clock = SystemClock()
    return make_world(
        holder=holder,
        store=await open_store(sqlite_url(folder / "hai.sqlite")),
        cluster=MemoryCluster(clock, some_nodes(NODES, gpus=8), behaviour=behaviour),
        bus=await open_bus(folder / "bus", MemoryBus(clock)),
        clock=clock,
    )


async def hub() -> None:
    """Say who the users are."""
    answers = FakeHub()
    answers.tokens = users()
    _ready(_serve(HTTPServer(hub_answers(answers))))
    await asyncio.Event().wait()


async def schedule(folder: Path) -> None:
    """Fill the database, and schedule."""
    world = await _world(folder, f"bench:{os.getpid()}")
    async with world.store.write() as tx:
        for level in LEVELS:
            await tx.quotas.put(Quota(subject="public", group="training", priority=level, limit=None))
        await tx.quotas.put(Quota(subject="public", group="training", priority=HEAD, limit=HEAD_NODES))
    waiting = tasks()
    for begin in range(0, len(waiting), _AT_ONCE):
        async with world.store.write() as tx:
            for task in waiting[begin : begin + _AT_ONCE]:
                await tx.tasks.add(task, a_spec())
    loop = SchedulingLoop(world, RunTokens(_SECRET))
    _ready("filled")
    async with asyncio.TaskGroup() as group:
        group.create_task(loop.cycle.run())
        group.create_task(loop.housekeeping.run())


async def answer(folder: Path, hub_root: str) -> None:
    """Answer requests, as the role `api` does."""
    os.nice(NICER)
    platform = Platform(await _world(folder))
    asks = HubOAuth(
        api_url=f"{hub_root}/hub/api",
        api_token="service",
        hub_prefix="/hub/",
        base_url=PREFIX,
        oauth_client_id="service-hai",
        access_scopes={ACCESS},
        cache_max_age=BELIEVED,
    )
    auth = Auth(asks, run_tokens=RunTokens(_SECRET), cookie_secret=_SECRET)
    async with asyncio.TaskGroup() as group:
        group.create_task(platform.follower.run())
        group.create_task(platform.health.news.run())
        await platform.follower.asked()
        _ready(_serve(make_server(make_application(platform, prefix=PREFIX, auth=auth))))


def _serve(server: HTTPServer) -> str:
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    return f"http://127.0.0.1:{sockets[0].getsockname()[1]}"


def _ready(word: str) -> None:
    """Tell the benchmark where this process can be reached, or that it has begun."""
    print(word, flush=True)


def main(role: str, folder: str, hub_root: str) -> None:
    """Run one of the processes until it is ended."""
    place = Path(folder)
    asyncio.run({"hub": hub, "loop": lambda: schedule(place), "api": lambda: answer(place, hub_root)}[role]())


if __name__ == "__main__":
    main(*sys.argv[1:4])
