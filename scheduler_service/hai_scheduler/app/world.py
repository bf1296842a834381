"""What the processes of both roles have in common: how they open and close their world."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from hai_scheduler.adapters.local.accounts import Accounts
from hai_scheduler.app.config import Settings
from hai_scheduler.app.opening import accounts_of, close_world, open_world
from hai_scheduler.app.service_secret import compare_secrets
from hai_scheduler.app.starting import WaitingRoom, when_it_is_there
from hai_scheduler.app.state_lock import StateLock
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.quota.default import decide, warn_if_closed
from hai_scheduler.service.shared.world import World


@contextlib.asynccontextmanager
async def opened(
    settings: Settings, secret: Secret, lock: StateLock | None, room: WaitingRoom, stop: asyncio.Event
) -> AsyncIterator[World | None]:
    """Open the adapters as soon as that is possible; at the end close them and free the lock. None: it is to stop."""
    accounts = accounts_of(settings)
    try:
        world = await when_it_is_there(lambda: _begin(settings, secret, accounts), room, stop)
        if world is None:
            yield None
            return
        try:
            yield world
        finally:
            await close_world(world)
    finally:
        if lock is not None:
            lock.free()


async def _begin(settings: Settings, secret: Secret, accounts: Accounts | None) -> World:
    """Open the adapters and check that they can be used.

    Raises Temporary while the database or the cluster cannot be reached; then all adapters are closed again.
    """
    world = await open_world(settings, accounts)
    try:
        await decide(world.store, {node.group for node in await world.cluster.nodes()}, settings.service.default_quota)
        await warn_if_closed(world.store)
        await compare_secrets(world.store, secret)
    except BaseException:
        await close_world(world)
        raise
    return world


async def end_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
