"""The composition root: opens the adapters, builds the use cases on them, and serves the loop or the API."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

from hai_client.accepting import raise_file_limit
from hai_scheduler.adapters.local.accounts import Accounts
from hai_scheduler.adapters.local.folders import ADDRESS_FILE, announce
from hai_scheduler.api.application import make_application, make_server
from hai_scheduler.api.routes import API
from hai_scheduler.api.server.auth import Auth
from hai_scheduler.api.server.metrics import Metrics
from hai_scheduler.api.server.services import Services
from hai_scheduler.app.config import ConfigError, Settings
from hai_scheduler.app.loop_server import listen
from hai_scheduler.app.opening import Adapters as Adapters
from hai_scheduler.app.opening import accounts_of, close_world, locations_of, open_adapters
from hai_scheduler.app.service_secret import compare_secrets, kept_secret
from hai_scheduler.app.starting import WaitingRoom, when_it_is_there, writable
from hai_scheduler.app.state_lock import StateLock, take, take_for_api
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.computing.workers import Here
from hai_scheduler.service.insight.decisions import Decisions
from hai_scheduler.service.insight.explanations import Explanations
from hai_scheduler.service.insight.feed import Feed
from hai_scheduler.service.insight.forecasts import Forecasts
from hai_scheduler.service.insight.queries import Queries
from hai_scheduler.service.launch.effects import Effects
from hai_scheduler.service.launch.launch_orders import LaunchOrders
from hai_scheduler.service.launch.launching import Launching
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.logs.failures import Failures
from hai_scheduler.service.logs.rank_logs import RankLogs
from hai_scheduler.service.logs.reading import Logs
from hai_scheduler.service.origin.belonging import Belonging
from hai_scheduler.service.origin.orphans import Orphans
from hai_scheduler.service.platform.admin import Administration
from hai_scheduler.service.platform.health import Health, patience_of
from hai_scheduler.service.platform.leadership import Leadership
from hai_scheduler.service.platform.loop_status import StatusReader, StatusWriter
from hai_scheduler.service.platform.readiness import Readiness
from hai_scheduler.service.policy.changes import PolicyChanges
from hai_scheduler.service.policy.store import PolicyStore
from hai_scheduler.service.quota.default import decide, warn_if_closed
from hai_scheduler.service.quota.own import OwnQuotas
from hai_scheduler.service.runs.rank_reports import RankReports
from hai_scheduler.service.runs.rendezvous import Rendezvous
from hai_scheduler.service.runs.run_facts import RunRegistry
from hai_scheduler.service.scheduling.cycle import Cycle
from hai_scheduler.service.scheduling.follower import Follower
from hai_scheduler.service.scheduling.housekeeping import Housekeeping
from hai_scheduler.service.shared.latest_plan import LatestPlan
from hai_scheduler.service.shared.news import News
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.tasks.experiments import Experiments
from hai_scheduler.service.tasks.submissions import Submissions
from hai_scheduler.service.workspace.mount_rules import MountRules
from hai_scheduler.service.workspace.named_environments import NamedEnvironments
from hai_scheduler.service.workspace.pin_references import PinReferences
from hai_scheduler.service.workspace.pinning import Pinning
from hai_scheduler.service.workspace.rank_env import RankLocations
from hai_scheduler.service.workspace.runtime_env import RuntimeEnvs

log = logging.getLogger(__name__)

#: The increment of `nice` for the API on one machine: the scheduling loop gets the processor first.
NICER: Final = 5
#: Python's switch interval, in seconds: how long a thread may compute before other threads get the interpreter. Each
#: statement of the database changes threads several times, and would wait for Python's usual 5 ms each time.
SWITCH_S = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopParts:
    """The use cases of the process of role `loop`, which decides and acts."""

    cycle: Cycle
    housekeeping: Housekeeping
    references: PinReferences
    readiness: Readiness
    health: Health


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiParts:
    """The use cases of the process of role `api`, which answers requests."""

    follower: Follower
    services: Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The use cases of both roles on the same adapters, for tests."""

    cycle: Cycle
    follower: Follower
    services: Services
    housekeeping: Housekeeping
    references: PinReferences


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedViews:
    """What both roles know, if one process has them both, as in tests."""

    latest_plan: LatestPlan
    policy_store: PolicyStore

    @classmethod
    def of(cls, settings: ServiceSettings) -> SharedViews:
        """Return a new view of the cluster, and the policy numbers of the settings."""
        return cls(latest_plan=LatestPlan(), policy_store=PolicyStore(settings))


def assemble(
    adapters: Adapters,
    settings: ServiceSettings,
    *,
    tokens: RunTokens,
    locations: RankLocations,
    holder: str,
    predecessor: str | None = None,
) -> Parts:
    """Build the use cases of both roles in one process, for tests.

    They share one `LatestPlan`, which the ticks renew while this process leads.

    The arguments are those of `assemble_loop` and `assemble_api`. Nothing is started.
    """
    views = SharedViews.of(settings)
    loop = assemble_loop(
        adapters, settings, tokens=tokens, locations=locations, holder=holder, predecessor=predecessor, views=views
    )
    api = assemble_api(adapters, settings, locations=locations, holder=holder, views=views)
    return Parts(
        cycle=loop.cycle,
        follower=api.follower,
        services=api.services,
        housekeeping=loop.housekeeping,
        references=loop.references,
    )


def assemble_loop(
    adapters: Adapters,
    settings: ServiceSettings,
    *,
    tokens: RunTokens,
    locations: RankLocations,
    holder: str,
    predecessor: str | None = None,
    views: SharedViews | None = None,
) -> LoopParts:
    """Build the use cases that decide and act on the cluster. Nothing is started.

    Args:
        adapters: The adapters.
        settings: Numbers of the service.
        tokens: Makes and checks the tokens of runs.
        locations: The API's address and the folder of checkpoints, as ranks see them.
        holder: The name under which this loop asks for the leader lease; no other process has the same name.
        predecessor: The name of a loop that is known to be dead: its lease no longer counts.
        views: The view of the latest tick and the policy numbers; None: new ones.
    """
    store, bus, clock = adapters.store, adapters.bus, adapters.clock
    leadership = Leadership(
        store=store, clock=clock, holder=holder, length=settings.lease_length, predecessor=predecessor
    )
    views = views or SharedViews.of(settings)
    latest_plan, policy_store = views.latest_plan, views.policy_store
    latest_plan.sure = lambda: leadership.sure
    effects = Effects(
        store=store,
        cluster=adapters.cluster,
        bus=bus,
        clock=clock,
        orders=LaunchOrders(
            store=store,
            tokens=tokens,
            locations=locations,
            policies=policy_store,
            runtime_envs=RuntimeEnvs(store=store, pinning=Pinning(haienvs=adapters.haienvs)),
        ),
        policies=policy_store,
    )
    return LoopParts(
        cycle=Cycle(
            store=store,
            cluster=adapters.cluster,
            bus=bus,
            clock=clock,
            effects=effects,
            launching=Launching(
                effects=effects, clock=clock, leads=lambda: latest_plan.leads, ranks_at_once=settings.starts_at_once
            ),
            settings=settings,
            policies=policy_store,
            latest_plan=latest_plan,
            leadership=leadership,
            belonging=Belonging(cluster=adapters.cluster),
            telling=StatusWriter(store=store, clock=clock, latest_plan=latest_plan, leadership=leadership),
        ),
        housekeeping=Housekeeping(
            store=store,
            cluster=adapters.cluster,
            clock=clock,
            settings=settings,
            policies=policy_store,
            latest_plan=latest_plan,
        ),
        references=PinReferences(store=store, clock=clock, haienvs=adapters.haienvs),
        readiness=Readiness(
            store=store,
            clock=clock,
            latest_plan=latest_plan,
            holder=holder,
            # A standby replica makes no ticks: it is ready without one.
            looked=lambda: latest_plan.last_tick is not None or not latest_plan.leading,
        ),
        health=_health(adapters, settings, latest_plan),
    )


def assemble_api(
    adapters: Adapters,
    settings: ServiceSettings,
    *,
    locations: RankLocations,
    holder: str | None = None,
    views: SharedViews | None = None,
) -> ApiParts:
    """Build the use cases that answer requests: they read and write the store, and leave the cluster to the loop.

    Args:
        adapters: The adapters; only nodes, addresses and logs are read from the cluster.
        settings: Numbers of the service.
        locations: The API's address and the folder of checkpoints, as ranks see them.
        holder: The name of a loop in the same process, in tests.
        views: The view of the cluster and the policy numbers; None: new ones.
    """
    store, bus, clock = adapters.store, adapters.bus, adapters.clock
    views = views or SharedViews.of(settings)
    latest_plan, policy_store = views.latest_plan, views.policy_store
    follower = Follower(
        store=store, cluster=adapters.cluster, bus=bus, clock=clock, policies=policy_store, latest_plan=latest_plan
    )
    # A reader gets the current view, even if a ring was lost.
    latest_plan.asked = follower.asked
    runtime_envs = RuntimeEnvs(store=store, pinning=Pinning(haienvs=adapters.haienvs))
    workers, news = adapters.workers or Here(store), News(store=store, bus=bus)
    queries = Queries(store=store, clock=clock, latest_plan=latest_plan, locations=locations)
    health = _health(adapters, settings, latest_plan)
    submissions = Submissions(
        store=store,
        bus=bus,
        clock=clock,
        settings=settings,
        policies=policy_store,
        latest_plan=latest_plan,
        runtime_envs=runtime_envs,
        files=adapters.files,
    )
    return ApiParts(
        follower=follower,
        services=Services(
            store=store,
            submissions=submissions,
            administration=Administration(store=store, bus=bus, clock=clock, latest_plan=latest_plan),
            rank_reports=RankReports(store=store, bus=bus, clock=clock),
            run_registry=RunRegistry(store=store, cluster=adapters.cluster),
            rendezvous=Rendezvous(store=store, cluster=adapters.cluster, bus=bus, clock=clock),
            rank_logs=RankLogs(store=store),
            queries=queries,
            readiness=Readiness(store=store, clock=clock, latest_plan=latest_plan, holder=holder),
            health=health,
            explanations=Explanations(queries=queries, clock=clock, latest_plan=latest_plan, workers=workers),
            decisions=Decisions(store=store),
            experiments=Experiments(workers=workers),
            forecasts=Forecasts(
                store=store, clock=clock, latest_plan=latest_plan, submissions=submissions, workers=workers
            ),
            logs=Logs(store=store, cluster=adapters.cluster, news=news, workers=workers),
            failures=Failures(cluster=adapters.cluster),
            feed=Feed(store=store, news=news),
            orphans=Orphans(store=store, bus=bus, clock=clock),
            own_quotas=OwnQuotas(store=store, bus=bus, clock=clock, latest_plan=latest_plan),
            policy=PolicyChanges(store=store, bus=bus, clock=clock, latest_plan=latest_plan, policy_store=policy_store),
            mount_rules=MountRules(store=store, bus=bus, clock=clock, latest_plan=latest_plan),
            environments=NamedEnvironments(store=store, bus=bus, clock=clock),
            runtime_envs=runtime_envs,
            metrics=Metrics(health.news),
        ),
    )


def _health(adapters: Adapters, settings: ServiceSettings, latest_plan: LatestPlan) -> Health:
    news = StatusReader(store=adapters.store, clock=adapters.clock)
    return Health(news=news, latest_plan=latest_plan, patience=patience_of(settings.lease_length))


async def serve(settings: Settings) -> None:
    """Run the process of the settings' role until SIGTERM or SIGINT.

    Runs go on without the process; the next start of the loop finds them.
    """
    stop = asyncio.Event()
    sys.setswitchinterval(SWITCH_S)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    before, now = raise_file_limit()
    if now != before:
        log.info("the limit of open files was raised from %d to %d", before, now)
    secret = _prepare_state(settings)
    # On Kubernetes a new pod has to be up before the old one is told to end.
    alone = settings.redis_url is None and settings.kubernetes is None
    if settings.role == "loop":
        await _serve_loop(settings, secret, stop, alone=alone)
    else:
        await _serve_api(settings, secret, stop, alone=alone)


def _prepare_state(settings: Settings) -> Secret:
    """Make the state folder; returns the service's secret."""
    with writable("state-dir", settings.state_dir, ConfigError):
        settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if settings.kubernetes is None:
            # Made here: if a rank made it together with its own folder, all accounts could read it.
            checkpoints = settings.state_dir / "checkpoints"
            checkpoints.mkdir(mode=0o700, exist_ok=True)
            checkpoints.chmod(0o700)
        return settings.service_secret or kept_secret(settings.state_dir / "service_secret")


async def _serve_loop(settings: Settings, secret: Secret, stop: asyncio.Event, *, alone: bool) -> None:
    holder = f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(4)}"
    lock = await take(settings.state_dir, holder, alone=alone, stop=stop)
    room = WaitingRoom(address=settings.health_ip, port=settings.health_port, root="")
    async with _opened(settings, secret, lock, room, stop) as world:
        if world is not None:
            parts = assemble_loop(
                world.adapters,
                settings.service,
                tokens=RunTokens(secret),
                locations=world.locations,
                holder=holder,
                predecessor=None if lock is None else lock.predecessor,
            )
            await _run_loop(parts, settings, stop)


async def _serve_api(settings: Settings, secret: Secret, stop: asyncio.Event, *, alone: bool) -> None:
    if settings.kubernetes is None:
        # The loop and all ranks of this machine keep their share of the processor during a flood of requests.
        os.nice(NICER)
    lock = await take_for_api(settings.state_dir, alone=alone, stop=stop)
    room = WaitingRoom(address=settings.ip, port=settings.port, root=f"{settings.prefix}{API}")
    async with _opened(settings, secret, lock, room, stop) as world:
        if world is not None:
            parts = assemble_api(world.adapters, settings.service, locations=world.locations)
            await _run_api(parts, settings, secret, world.locations, stop)


@dataclass(frozen=True, slots=True)
class _World:
    """The open adapters, and what ranks are told of the platform."""

    adapters: Adapters
    locations: RankLocations


@contextlib.asynccontextmanager
async def _opened(
    settings: Settings, secret: Secret, lock: StateLock | None, room: WaitingRoom, stop: asyncio.Event
) -> AsyncIterator[_World | None]:
    """Open the adapters as soon as that is possible; at the end close them and free the lock. None: it is to stop."""
    accounts = accounts_of(settings)
    locations = locations_of(settings, accounts)
    try:
        adapters = await when_it_is_there(lambda: _begin(settings, locations.api_url, secret, accounts), room, stop)
        if adapters is None:
            yield None
            return
        try:
            yield _World(adapters, locations)
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


async def _run_loop(parts: LoopParts, settings: Settings, stop: asyncio.Event) -> None:
    server = listen(parts.readiness, parts.health, address=settings.health_ip, port=settings.health_port)
    scheduling = asyncio.create_task(parts.cycle.run())
    sweeping = asyncio.create_task(parts.housekeeping.run())
    holding = asyncio.create_task(parts.references.run(parts.housekeeping.leads))
    reading = asyncio.create_task(parts.health.news.run())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({scheduling, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await parts.cycle.stop()
        await scheduling
    finally:
        await _end(sweeping, holding, reading, stopping, scheduling)
        server.stop()
        await server.close_all_connections()


async def _run_api(
    parts: ApiParts, settings: Settings, secret: Secret, locations: RankLocations, stop: asyncio.Event
) -> None:
    auth = Auth.from_environment(run_tokens=RunTokens(secret), cookie_secret=secret)
    follower = asyncio.create_task(parts.follower.run())
    reading = asyncio.create_task(parts.services.health.news.run())
    stopping = asyncio.create_task(stop.wait())
    server = make_server(make_application(parts.services, prefix=settings.prefix, auth=auth, limits=settings.limits))
    try:
        # The first request finds the nodes already known.
        await parts.follower.asked()
        server.listen(settings.port, address=settings.ip)
        log.info("listening on http://%s:%d%s", settings.ip, settings.port, settings.prefix)
        if settings.kubernetes is None:
            # Only now: ranks send their tokens to this address, so this process must own the port.
            await _announce(settings, locations.api_url)
        await asyncio.wait({follower, stopping}, return_when=asyncio.FIRST_COMPLETED)
        server.stop()
    finally:
        await _end(follower, reading, stopping)
        await server.close_all_connections()
        await auth.close()


async def _end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _announce(settings: Settings, api_url: str) -> None:
    """Tell running ranks the address of the service. If that fails, the service starts all the same."""
    runs = settings.state_dir / "runs"
    try:
        await asyncio.to_thread(announce, runs, api_url, alone=settings.redis_url is None)
    except OSError as error:
        log.error("%s cannot be written (%s): ranks that started before a move do not hear", runs / ADDRESS_FILE, error)
