"""The composition root: builds the adapters, puts the use cases around them, starts the loop and the interface."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from hai_client.accepting import raise_file_limit
from hai_scheduler.adapters.local.cluster import LocalCluster, LocalSettings
from hai_scheduler.adapters.local.files import LocalFiles
from hai_scheduler.adapters.local.folders import ADDRESS_FILE, announce
from hai_scheduler.adapters.local.nodes import local_nodes
from hai_scheduler.adapters.memory.bus import MemoryBus
from hai_scheduler.adapters.memory.clock import SystemClock
from hai_scheduler.adapters.sql.store import SqlStore, open_store
from hai_scheduler.api.application import make_application, make_server
from hai_scheduler.api.auth import Auth
from hai_scheduler.api.metrics import Metrics
from hai_scheduler.api.services import Services
from hai_scheduler.config import ConfigError, Settings
from hai_scheduler.core.model import Priority, Quota
from hai_scheduler.files import Files
from hai_scheduler.kubernetes_start import open_kubernetes
from hai_scheduler.ports import Bus, Clock, Cluster, Store
from hai_scheduler.secret import Secret
from hai_scheduler.service.admin import Administration
from hai_scheduler.service.belonging import Belonging
from hai_scheduler.service.cycle import Cycle
from hai_scheduler.service.decisions import Decisions
from hai_scheduler.service.effects import Effects
from hai_scheduler.service.environment import Places
from hai_scheduler.service.explanations import Explanations
from hai_scheduler.service.feed import Feed
from hai_scheduler.service.following import Following
from hai_scheduler.service.forecasts import Forecasts
from hai_scheduler.service.gangs import Gangs
from hai_scheduler.service.housekeeping import Housekeeping
from hai_scheduler.service.jobs import Jobs
from hai_scheduler.service.leadership import Leadership
from hai_scheduler.service.logs import Logs
from hai_scheduler.service.mount_rules import MountRules
from hai_scheduler.service.named_environments import NamedEnvironments
from hai_scheduler.service.orphans import Orphans
from hai_scheduler.service.own_quota import OwnQuotas
from hai_scheduler.service.policy_book import PolicyBook
from hai_scheduler.service.policy_changes import PolicyChanges
from hai_scheduler.service.queries import Queries
from hai_scheduler.service.rank_logs import RankLogs
from hai_scheduler.service.readiness import Readiness
from hai_scheduler.service.run_facts import RunBook
from hai_scheduler.service.run_tokens import RunTokens
from hai_scheduler.service.settings import ServiceSettings
from hai_scheduler.service.submissions import Submissions
from hai_scheduler.service.surroundings import Surroundings
from hai_scheduler.service.watch import Watch
from hai_scheduler.service_secret import compare_secrets, kept_secret
from hai_scheduler.starting import WaitingRoom, when_it_is_there, writable
from hai_scheduler.state_lock import take

log = logging.getLogger(__name__)

#: How long a thread that computes may keep those waiting that have something to answer, in seconds. Each statement of
#: the database passes from thread to thread several times, and each time it would wait Python's usual 5 ms.
SWITCH_S = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The adapters that were chosen."""

    store: Store
    cluster: Cluster
    bus: Bus
    clock: Clock
    files: Files | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The service around a world."""

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
    """Put the use cases together. Nothing is started.

    Args:
        world: The adapters.
        settings: Numbers of the service.
        tokens: Makes and checks the tokens of runs.
        places: Where ranks find things.
        holder: The name under which this service asks for the leader lease, unlike any other's.
        predecessor: The name of a service that is known to be dead: its lease counts no more.
    """
    store, bus, clock = world.store, world.bus, world.clock
    leadership = Leadership(
        store=store, clock=clock, holder=holder, length=settings.lease_length, predecessor=predecessor
    )
    watch = Watch(sure=lambda: leadership.sure)
    book = PolicyBook(settings)
    surroundings = Surroundings(store=store)
    effects = Effects(
        store=store,
        cluster=world.cluster,
        bus=bus,
        clock=clock,
        tokens=tokens,
        places=places,
        policies=book,
        surroundings=surroundings,
    )
    queries = Queries(store=store, clock=clock, watch=watch, places=places)
    submissions = Submissions(
        store=store,
        bus=bus,
        clock=clock,
        effects=effects,
        settings=settings,
        policies=book,
        watch=watch,
        surroundings=surroundings,
        files=world.files,
    )
    return Parts(
        cycle=Cycle(
            store=store,
            cluster=world.cluster,
            bus=bus,
            clock=clock,
            effects=effects,
            settings=settings,
            policies=book,
            watch=watch,
            leadership=leadership,
            belonging=Belonging(cluster=world.cluster),
        ),
        following=Following(store=store, cluster=world.cluster, bus=bus, clock=clock, policies=book, watch=watch),
        services=Services(
            store=store,
            submissions=submissions,
            administration=Administration(store=store, bus=bus, clock=clock, watch=watch),
            jobs=Jobs(store=store, bus=bus, clock=clock, effects=effects, watch=watch),
            run_book=RunBook(store=store, cluster=world.cluster),
            gangs=Gangs(store=store, cluster=world.cluster, bus=bus, clock=clock),
            rank_logs=RankLogs(store=store),
            queries=queries,
            readiness=Readiness(store=store, clock=clock, watch=watch, holder=holder),
            explanations=Explanations(queries=queries, clock=clock, watch=watch),
            decisions=Decisions(store=store),
            forecasts=Forecasts(store=store, clock=clock, watch=watch, submissions=submissions),
            logs=Logs(store=store, cluster=world.cluster, bus=bus),
            feed=Feed(store=store, bus=bus),
            orphans=Orphans(store=store, bus=bus, clock=clock),
            own_quotas=OwnQuotas(store=store, bus=bus, clock=clock, watch=watch),
            policy=PolicyChanges(store=store, bus=bus, clock=clock, watch=watch, book=book),
            mount_rules=MountRules(store=store, bus=bus, clock=clock, watch=watch),
            environments=NamedEnvironments(store=store, bus=bus, clock=clock),
            surroundings=surroundings,
            metrics=Metrics(watch),
        ),
        housekeeping=Housekeeping(
            store=store, cluster=world.cluster, clock=clock, settings=settings, policies=book, watch=watch
        ),
    )


async def serve(settings: Settings) -> None:
    """Run the service until SIGTERM or SIGINT. Runs go on without it; the next start finds them again."""
    stop = asyncio.Event()
    sys.setswitchinterval(SWITCH_S)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    before, now = raise_file_limit()
    if now != before:
        log.info("the limit of open files was raised from %d to %d", before, now)
    with writable("state-dir", settings.state_dir, ConfigError):
        settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if settings.kubernetes is None:
            # Made here, as ranks that make their own folder below it would make it for everybody to read.
            checkpoints = settings.state_dir / "checkpoints"
            checkpoints.mkdir(mode=0o700, exist_ok=True)
            checkpoints.chmod(0o700)
        secret = settings.service_secret or kept_secret(settings.state_dir / "service_secret")
    holder = f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(4)}"
    # On Kubernetes a new pod has to be up before the old one is told to end.
    alone = settings.redis_url is None and settings.kubernetes is None
    lock = await take(settings.state_dir, holder, alone=alone, stop=stop)
    try:
        if not stop.is_set():
            await _serve(settings, secret, stop, holder, None if lock is None else lock.predecessor)
    finally:
        if lock is not None:
            lock.free()


async def _serve(settings: Settings, secret: Secret, stop: asyncio.Event, holder: str, predecessor: str | None) -> None:
    tokens = RunTokens(secret)
    places = _places(settings)
    room = WaitingRoom(address=settings.ip, port=settings.port, prefix=settings.prefix)
    world = await when_it_is_there(lambda: _begin(settings, places.api_url, secret), room, stop)
    if world is None:
        return
    try:
        parts = assemble(
            world,
            settings.service,
            tokens=tokens,
            places=places,
            holder=holder,
            predecessor=predecessor,
        )
        await _run(parts, settings, secret, tokens, places, stop)
    finally:
        await _close(world)


async def _begin(settings: Settings, api_url: str, secret: Secret) -> World:
    """The world, fit for use. Raises Temporary while something of it is away: then nothing of it is left open."""
    world = await _open_world(settings, api_url)
    try:
        await _default_quota(world.store, {node.group for node in await world.cluster.nodes()})
        await compare_secrets(world.store, secret)
    except BaseException:
        await _close(world)
        raise
    return world


async def _close(world: World) -> None:
    await world.bus.close()
    await world.cluster.close()
    await world.store.close()


def _places(settings: Settings) -> Places:
    """Where ranks find things, as they see them."""
    if settings.kubernetes is not None:
        return Places(api_url=settings.kubernetes.api_url, checkpoint_root=settings.kubernetes.checkpoint_root)
    return Places(
        api_url=f"http://{_reachable(settings.ip)}:{settings.port}{settings.prefix}api/v1",
        checkpoint_root=str(settings.state_dir / "checkpoints"),
    )


async def _open_world(settings: Settings, api_url: str) -> World:
    clock = SystemClock()
    if settings.kubernetes is not None:
        store = await _open_store(settings)
        try:
            pods = await open_kubernetes(settings.kubernetes, store.logs, clock)
        except BaseException:
            await store.close()
            raise
        return World(store=store, cluster=pods, bus=await _open_bus(settings, clock), clock=clock)
    nodes = local_nodes(count=settings.nodes, gpus_per_node=settings.gpus_per_node, file=settings.nodes_file)
    cluster = LocalCluster(
        LocalSettings(
            runs_dir=settings.state_dir / "runs",
            nodes=nodes,
            api_url=api_url,
            path_prefix=(str(Path(sys.executable).parent),),
            shared=settings.redis_url is not None,
        )
    )
    store = await _open_store(settings)
    return World(store=store, cluster=cluster, bus=await _open_bus(settings, clock), clock=clock, files=LocalFiles())


async def _open_store(settings: Settings) -> SqlStore:
    try:
        return await open_store(settings.db_url)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"HaiScheduler.db_url: {error.name} is missing: pip install 'hai-platform[postgres]'"
        ) from None
    except ValueError as error:
        raise ConfigError(f"HaiScheduler.db_url: {error}") from None


async def _open_bus(settings: Settings, clock: Clock) -> Bus:
    """The doorbell of this process, and of all replicas where there may be several."""
    here = MemoryBus(clock)
    if settings.redis_url is None:
        return here
    try:
        # Only where it is used must the client of Redis be installed.
        from hai_scheduler.adapters.redis.bus import open_bus

        return await open_bus(settings.redis_url.reveal(), here)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"HaiScheduler.redis_url: {error.name} is missing: pip install 'hai-platform[redis]'"
        ) from None
    except ValueError as error:
        raise ConfigError(f"HaiScheduler.redis_url: {error}") from None


async def _run(
    parts: Parts, settings: Settings, secret: Secret, tokens: RunTokens, places: Places, stop: asyncio.Event
) -> None:
    auth = Auth.from_environment(run_tokens=tokens, cookie_secret=secret)
    server = make_server(make_application(parts.services, prefix=settings.prefix, auth=auth, limits=settings.limits))
    server.listen(settings.port, address=settings.ip)
    log.info("listening on http://%s:%d%s", settings.ip, settings.port, settings.prefix)
    if settings.kubernetes is None:
        # Only now: what ranks are told to call, and to show their tokens to, must be this process.
        await _announce(settings, places.api_url)
    scheduling = asyncio.create_task(parts.cycle.run())
    following = asyncio.create_task(parts.following.run())
    sweeping = asyncio.create_task(parts.housekeeping.run())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({scheduling, stopping}, return_when=asyncio.FIRST_COMPLETED)
        server.stop()
        await parts.cycle.stop()
        await scheduling
    finally:
        for task in (following, sweeping, stopping, scheduling):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await server.close_all_connections()
        await auth.close()


async def _announce(settings: Settings, api_url: str) -> None:
    """Tell running ranks where the service is; one that cannot must serve all the same."""
    runs = settings.state_dir / "runs"
    try:
        await asyncio.to_thread(announce, runs, api_url, alone=settings.redis_url is None)
    except OSError as error:
        log.error("%s cannot be written (%s): ranks that started before a move do not hear", runs / ADDRESS_FILE, error)


async def _default_quota(store: Store, groups: set[str]) -> None:
    """Where nobody has written any quota, everybody may use everything: a fresh machine works at once."""
    async with store.write() as tx:
        if await tx.quotas():
            return
        for group in sorted(groups):
            for priority in Priority:
                await tx.put_quota(Quota(subject="public", group=group, priority=priority, limit=None))


def _reachable(ip: str) -> str:
    """The address at which local ranks reach a service that listens on `ip`."""
    if ip in ("", "0.0.0.0", "::"):  # noqa: S104  # compared with, not bound to
        return "127.0.0.1"
    return f"[{ip}]" if ":" in ip else ip
