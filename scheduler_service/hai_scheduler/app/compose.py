"""The composition root: opens the adapters, builds the use cases on them, and serves the loop or the API."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import sys
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
from hai_scheduler.app.opening import World as World
from hai_scheduler.app.opening import accounts_of, close_world, open_world, places_of
from hai_scheduler.app.service_secret import compare_secrets, kept_secret
from hai_scheduler.app.starting import WaitingRoom, when_it_is_there, writable
from hai_scheduler.app.state_lock import take, take_for_api
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
from hai_scheduler.service.platform.loop_status import StatusReader, Telling
from hai_scheduler.service.platform.readiness import Readiness
from hai_scheduler.service.policy.book import PolicyBook
from hai_scheduler.service.policy.changes import PolicyChanges
from hai_scheduler.service.quota.default import decide, warn_if_closed
from hai_scheduler.service.quota.own import OwnQuotas
from hai_scheduler.service.runs.gangs import Gangs
from hai_scheduler.service.runs.jobs import Jobs
from hai_scheduler.service.runs.run_facts import RunBook
from hai_scheduler.service.scheduling.cycle import Cycle
from hai_scheduler.service.scheduling.following import Following
from hai_scheduler.service.scheduling.housekeeping import Housekeeping
from hai_scheduler.service.shared.news import News
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.shared.watch import Watch
from hai_scheduler.service.tasks.experiments import Experiments
from hai_scheduler.service.tasks.submissions import Submissions
from hai_scheduler.service.workspace.environment import Places
from hai_scheduler.service.workspace.mount_rules import MountRules
from hai_scheduler.service.workspace.named_environments import NamedEnvironments
from hai_scheduler.service.workspace.surroundings import Surroundings

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
    readiness: Readiness
    health: Health


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiParts:
    """The use cases of the process of role `api`, which answers requests."""

    following: Following
    services: Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The use cases of both roles on the same adapters, for tests."""

    cycle: Cycle
    following: Following
    services: Services
    housekeeping: Housekeeping


def assemble(
    world: World,
    settings: ServiceSettings,
    *,
    tokens: RunTokens,
    places: Places,
    holder: str,
    predecessor: str | None = None,
) -> Parts:
    """Build the use cases of both roles in one process, for tests.

    They share one `Watch`, which the ticks renew while this process leads.

    The arguments are those of `assemble_loop` and `assemble_api`. Nothing is started.
    """
    watch, book = Watch(), PolicyBook(settings)
    loop = assemble_loop(
        world,
        settings,
        tokens=tokens,
        places=places,
        holder=holder,
        predecessor=predecessor,
        watch=watch,
        book=book,
    )
    api = assemble_api(world, settings, places=places, holder=holder, watch=watch, book=book)
    watch.sure = lambda: loop.cycle.leadership.sure
    return Parts(cycle=loop.cycle, following=api.following, services=api.services, housekeeping=loop.housekeeping)


def assemble_loop(
    world: World,
    settings: ServiceSettings,
    *,
    tokens: RunTokens,
    places: Places,
    holder: str,
    predecessor: str | None = None,
    watch: Watch | None = None,
    book: PolicyBook | None = None,
) -> LoopParts:
    """Build the use cases that decide and act on the cluster. Nothing is started.

    Args:
        world: The adapters.
        settings: Numbers of the service.
        tokens: Makes and checks the tokens of runs.
        places: The API's address and the folder of checkpoints, as ranks see them.
        holder: The name under which this loop asks for the leader lease; no other process has the same name.
        predecessor: The name of a loop that is known to be dead: its lease no longer counts.
        watch: The view of the latest tick; None: a new one.
        book: The policy numbers; None: those of the settings.
    """
    store, bus, clock = world.store, world.bus, world.clock
    leadership = Leadership(
        store=store, clock=clock, holder=holder, length=settings.lease_length, predecessor=predecessor
    )
    watch = watch if watch is not None else Watch(sure=lambda: leadership.sure)
    book = book if book is not None else PolicyBook(settings)
    effects = Effects(
        store=store,
        cluster=world.cluster,
        bus=bus,
        clock=clock,
        orders=LaunchOrders(
            store=store, tokens=tokens, places=places, policies=book, surroundings=Surroundings(store=store)
        ),
        policies=book,
    )
    return LoopParts(
        cycle=Cycle(
            store=store,
            cluster=world.cluster,
            bus=bus,
            clock=clock,
            effects=effects,
            launching=Launching(
                effects=effects, clock=clock, leads=lambda: watch.leads, ranks_at_once=settings.starts_at_once
            ),
            settings=settings,
            policies=book,
            watch=watch,
            leadership=leadership,
            belonging=Belonging(cluster=world.cluster),
            telling=Telling(store=store, clock=clock, watch=watch, leadership=leadership),
        ),
        housekeeping=Housekeeping(
            store=store, cluster=world.cluster, clock=clock, settings=settings, policies=book, watch=watch
        ),
        readiness=Readiness(
            store=store,
            clock=clock,
            watch=watch,
            holder=holder,
            # A standby replica makes no ticks: it is ready without one.
            looked=lambda: watch.last_tick is not None or not watch.leading,
        ),
        health=_health(world, settings, watch),
    )


def assemble_api(
    world: World,
    settings: ServiceSettings,
    *,
    places: Places,
    holder: str | None = None,
    watch: Watch | None = None,
    book: PolicyBook | None = None,
) -> ApiParts:
    """Build the use cases that answer requests: they read and write the store, and leave the cluster to the loop.

    Args:
        world: The adapters; only nodes, addresses and logs are read from the cluster.
        settings: Numbers of the service.
        places: The API's address and the folder of checkpoints, as ranks see them.
        holder: The name of a loop in the same process, in tests.
        watch: The view of the cluster; None: a new one.
        book: The policy numbers; None: those of the settings.
    """
    store, bus, clock = world.store, world.bus, world.clock
    watch = watch if watch is not None else Watch()
    book = book if book is not None else PolicyBook(settings)
    following = Following(store=store, cluster=world.cluster, bus=bus, clock=clock, policies=book, watch=watch)
    # A reader gets the current view, even if a ring was lost.
    watch.asked = following.asked
    surroundings = Surroundings(store=store)
    workers, news = world.workers or Here(store), News(store=store, bus=bus)
    queries = Queries(store=store, clock=clock, watch=watch, places=places)
    health = _health(world, settings, watch)
    submissions = Submissions(
        store=store,
        bus=bus,
        clock=clock,
        settings=settings,
        policies=book,
        watch=watch,
        surroundings=surroundings,
        files=world.files,
    )
    return ApiParts(
        following=following,
        services=Services(
            store=store,
            submissions=submissions,
            administration=Administration(store=store, bus=bus, clock=clock, watch=watch),
            jobs=Jobs(store=store, bus=bus, clock=clock),
            run_book=RunBook(store=store, cluster=world.cluster),
            gangs=Gangs(store=store, cluster=world.cluster, bus=bus, clock=clock),
            rank_logs=RankLogs(store=store),
            queries=queries,
            readiness=Readiness(store=store, clock=clock, watch=watch, holder=holder),
            health=health,
            explanations=Explanations(queries=queries, clock=clock, watch=watch, workers=workers),
            decisions=Decisions(store=store),
            experiments=Experiments(workers=workers),
            forecasts=Forecasts(store=store, clock=clock, watch=watch, submissions=submissions, workers=workers),
            logs=Logs(store=store, cluster=world.cluster, news=news, workers=workers),
            failures=Failures(cluster=world.cluster),
            feed=Feed(store=store, news=news),
            orphans=Orphans(store=store, bus=bus, clock=clock),
            own_quotas=OwnQuotas(store=store, bus=bus, clock=clock, watch=watch),
            policy=PolicyChanges(store=store, bus=bus, clock=clock, watch=watch, book=book),
            mount_rules=MountRules(store=store, bus=bus, clock=clock, watch=watch),
            environments=NamedEnvironments(store=store, bus=bus, clock=clock),
            surroundings=surroundings,
            metrics=Metrics(health.news),
        ),
    )


def _health(world: World, settings: ServiceSettings, watch: Watch) -> Health:
    news = StatusReader(store=world.store, clock=world.clock)
    return Health(news=news, watch=watch, patience=patience_of(settings.lease_length))


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
    accounts = accounts_of(settings)
    places = places_of(settings, accounts)
    room = WaitingRoom(address=settings.health_ip, port=settings.health_port, root="")
    try:
        world = await when_it_is_there(lambda: _begin(settings, places.api_url, secret, accounts), room, stop)
        if world is None:
            return
        try:
            parts = assemble_loop(
                world,
                settings.service,
                tokens=RunTokens(secret),
                places=places,
                holder=holder,
                predecessor=None if lock is None else lock.predecessor,
            )
            await _run_loop(parts, settings, stop)
        finally:
            await close_world(world)
    finally:
        if lock is not None:
            lock.free()


async def _serve_api(settings: Settings, secret: Secret, stop: asyncio.Event, *, alone: bool) -> None:
    if settings.kubernetes is None:
        # The loop and all ranks of this machine keep their share of the processor during a flood of requests.
        os.nice(NICER)
    lock = await take_for_api(settings.state_dir, alone=alone, stop=stop)
    accounts = accounts_of(settings)
    places = places_of(settings, accounts)
    room = WaitingRoom(address=settings.ip, port=settings.port, root=f"{settings.prefix}{API}")
    try:
        world = await when_it_is_there(lambda: _begin(settings, places.api_url, secret, accounts), room, stop)
        if world is None:
            return
        try:
            await _run_api(assemble_api(world, settings.service, places=places), settings, secret, places, stop)
        finally:
            await close_world(world)
    finally:
        if lock is not None:
            lock.free()


async def _begin(settings: Settings, api_url: str, secret: Secret, accounts: Accounts | None) -> World:
    """Open the adapters and check that they can be used.

    Raises Temporary while the database or the cluster cannot be reached; then all adapters are closed again.
    """
    world = await open_world(settings, api_url, accounts)
    try:
        await decide(world.store, {node.group for node in await world.cluster.nodes()}, settings.service.default_quota)
        await warn_if_closed(world.store)
        await compare_secrets(world.store, secret)
    except BaseException:
        await close_world(world)
        raise
    return world


async def _run_loop(parts: LoopParts, settings: Settings, stop: asyncio.Event) -> None:
    server = listen(parts.readiness, parts.health, address=settings.health_ip, port=settings.health_port)
    scheduling = asyncio.create_task(parts.cycle.run())
    sweeping = asyncio.create_task(parts.housekeeping.run())
    reading = asyncio.create_task(parts.health.news.run())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({scheduling, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await parts.cycle.stop()
        await scheduling
    finally:
        await _end(sweeping, reading, stopping, scheduling)
        server.stop()
        await server.close_all_connections()


async def _run_api(parts: ApiParts, settings: Settings, secret: Secret, places: Places, stop: asyncio.Event) -> None:
    auth = Auth.from_environment(run_tokens=RunTokens(secret), cookie_secret=secret)
    following = asyncio.create_task(parts.following.run())
    reading = asyncio.create_task(parts.services.health.news.run())
    stopping = asyncio.create_task(stop.wait())
    server = make_server(make_application(parts.services, prefix=settings.prefix, auth=auth, limits=settings.limits))
    try:
        # The first request finds the nodes already known.
        await parts.following.asked()
        server.listen(settings.port, address=settings.ip)
        log.info("listening on http://%s:%d%s", settings.ip, settings.port, settings.prefix)
        if settings.kubernetes is None:
            # Only now: ranks send their tokens to this address, so this process must own the port.
            await _announce(settings, places.api_url)
        await asyncio.wait({following, stopping}, return_when=asyncio.FIRST_COMPLETED)
        server.stop()
    finally:
        await _end(following, reading, stopping)
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
