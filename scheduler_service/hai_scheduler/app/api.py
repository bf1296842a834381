"""The process of the role `api`, which answers requests. It imports nothing of the loop."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Final

from hai_scheduler.adapters.local.folders import ADDRESS_FILE, announce
from hai_scheduler.api.application import make_application, make_server
from hai_scheduler.api.routes import API
from hai_scheduler.api.server.auth import Auth
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.app.config import Settings
from hai_scheduler.app.listening import listen_at
from hai_scheduler.app.starting import WaitingRoom
from hai_scheduler.app.state_lock import take_for_api
from hai_scheduler.app.world import end_tasks, opened
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens

log = logging.getLogger(__name__)

#: The increment of `nice` for the API on one machine: the scheduling loop gets the processor first.
NICER: Final = 5


async def serve_api(settings: Settings, secret: Secret, stop: asyncio.Event, *, alone: bool) -> None:
    """Run the API until it is told to stop. `alone`: no other replica may run beside it."""
    if settings.kubernetes is None:
        # The loop and all ranks of this machine keep their share of the processor during a flood of requests.
        os.nice(NICER)
    lock = await take_for_api(settings.state_dir, alone=alone, stop=stop)
    room = WaitingRoom(address=settings.ip, port=settings.port, setting="port", root=f"{settings.prefix}{API}")
    async with opened(settings, secret, lock, room, stop) as world:
        if world is not None:
            await _run_api(Platform(world), settings, secret, stop)


async def _run_api(platform: Platform, settings: Settings, secret: Secret, stop: asyncio.Event) -> None:
    disk_full = platform.world.store.disk_full
    auth = Auth.from_environment(run_tokens=RunTokens(secret), cookie_secret=secret, disk_full=disk_full)
    follower = asyncio.create_task(platform.follower.run())
    reading = asyncio.create_task(platform.health.news.run())
    keeping = asyncio.create_task(platform.people.groups_in_step(auth.groups.of_users).run())
    stopping = asyncio.create_task(stop.wait())
    server = make_server(make_application(platform, prefix=settings.prefix, auth=auth, limits=settings.limits))
    try:
        # The first request finds the nodes already known.
        await platform.follower.asked()
        listen_at(server, settings.ip, settings.port, setting="port")
        log.info("listening on http://%s:%d%s", settings.ip, settings.port, settings.prefix)
        if settings.kubernetes is None:
            # Only now: ranks send their tokens to this address, so this process must own the port.
            await _announce(settings, platform.world.locations.api_url)
        await asyncio.wait({follower, stopping}, return_when=asyncio.FIRST_COMPLETED)
        server.stop()
    finally:
        await end_tasks(follower, reading, keeping, stopping)
        await server.close_all_connections()
        await auth.close()


async def _announce(settings: Settings, api_url: str) -> None:
    """Tell running ranks the address of the service. If that fails, the service starts all the same."""
    runs = settings.state_dir / "runs"
    try:
        await asyncio.to_thread(announce, runs, api_url, alone=settings.redis_url is None)
    except OSError as error:
        log.error("%s cannot be written (%s): ranks that started before a move do not hear", runs / ADDRESS_FILE, error)
