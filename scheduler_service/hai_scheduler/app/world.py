"""What the processes of both roles have in common: the open adapters, and what is known of the cluster."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from hai_scheduler.adapters.local.accounts import Accounts
from hai_scheduler.app.config import Settings
from hai_scheduler.app.opening import Adapters, accounts_of, close_world, locations_of, open_adapters
from hai_scheduler.app.service_secret import compare_secrets
from hai_scheduler.app.starting import WaitingRoom, when_it_is_there
from hai_scheduler.app.state_lock import StateLock
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.platform.health import Health, patience_of
from hai_scheduler.service.platform.loop_status import StatusReader
from hai_scheduler.service.policy.store import PolicyStore
from hai_scheduler.service.quota.default import decide, warn_if_closed
from hai_scheduler.service.shared.latest_plan import LatestPlan
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.workspace.code_snapshots import CodeSnapshots
from hai_scheduler.service.workspace.rank_env import RankLocations


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedViews:
    """What both roles know, if one process has them both, as in tests."""

    latest_plan: LatestPlan
    policy_store: PolicyStore

    @classmethod
    def of(cls, settings: ServiceSettings) -> SharedViews:
        """Return a new view of the cluster, and the policy numbers of the settings."""
        return cls(latest_plan=LatestPlan(), policy_store=PolicyStore(settings))


def health_of(adapters: Adapters, settings: ServiceSettings, latest_plan: LatestPlan) -> Health:
    """Return what tells the health of the platform: nodes, ticks and the database."""
    news = StatusReader(store=adapters.store, clock=adapters.clock)
    return Health(news=news, latest_plan=latest_plan, patience=patience_of(settings.lease_length))


def code_of(adapters: Adapters, policies: PolicyStore) -> CodeSnapshots:
    """Return the use case of snapshots of code."""
    return CodeSnapshots(
        store=adapters.store,
        clock=adapters.clock,
        policies=lambda: policies.current,
        snapshots=adapters.snapshots,
        machine=adapters.machine,
    )


@dataclass(frozen=True, slots=True)
class World:
    """The open adapters, and what ranks are told of the platform."""

    adapters: Adapters
    locations: RankLocations


@contextlib.asynccontextmanager
async def opened(
    settings: Settings, secret: Secret, lock: StateLock | None, room: WaitingRoom, stop: asyncio.Event
) -> AsyncIterator[World | None]:
    """Open the adapters as soon as that is possible; at the end close them and free the lock. None: it is to stop."""
    accounts = accounts_of(settings)
    locations = locations_of(settings, accounts)
    try:
        adapters = await when_it_is_there(lambda: _begin(settings, locations.api_url, secret, accounts), room, stop)
        if adapters is None:
            yield None
            return
        try:
            yield World(adapters, locations)
        finally:
            await close_world(adapters)
    finally:
        if lock is not None:
            lock.free()


async def _begin(settings: Settings, api_url: str, secret: Secret, accounts: Accounts | None) -> Adapters:
    """Open the adapters and check that they can be used.

    Raises Temporary while the database or the cluster cannot be reached; then all adapters are closed again.
    """
    adapters = await open_adapters(settings, api_url, accounts)
    try:
        await decide(
            adapters.store, {node.group for node in await adapters.cluster.nodes()}, settings.service.default_quota
        )
        await warn_if_closed(adapters.store)
        await compare_secrets(adapters.store, secret)
    except BaseException:
        await close_world(adapters)
        raise
    return adapters


async def end_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
