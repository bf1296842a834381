"""The process of the role `api`: builds what answers requests, and serves it. It imports nothing of the loop."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from dataclasses import dataclass
from typing import Final

from hai_scheduler.adapters.local.folders import ADDRESS_FILE, announce
from hai_scheduler.api.application import make_application, make_server
from hai_scheduler.api.routes import API
from hai_scheduler.api.server.auth import Auth
from hai_scheduler.api.server.metrics import Metrics
from hai_scheduler.api.server.services import Services
from hai_scheduler.app.config import Settings
from hai_scheduler.app.listening import listen_at
from hai_scheduler.app.opening import Adapters
from hai_scheduler.app.starting import WaitingRoom
from hai_scheduler.app.state_lock import take_for_api
from hai_scheduler.app.versions import versions
from hai_scheduler.app.world import SharedViews, code_of, end_tasks, health_of, opened
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.accounting.containers import ContainerBooks
from hai_scheduler.service.accounting.costs import Costs
from hai_scheduler.service.accounting.reports import Reports
from hai_scheduler.service.computing.workers import Here
from hai_scheduler.service.insight.audit import AuditReading
from hai_scheduler.service.insight.decisions import Decisions
from hai_scheduler.service.insight.explanations import Explanations
from hai_scheduler.service.insight.feed import Feed
from hai_scheduler.service.insight.forecasts import Forecasts
from hai_scheduler.service.insight.node_map import NodeMap
from hai_scheduler.service.insight.overview import Overviews
from hai_scheduler.service.insight.people import People
from hai_scheduler.service.insight.platform_details import PlatformDetails
from hai_scheduler.service.insight.previews import Previews
from hai_scheduler.service.insight.queries import Queries
from hai_scheduler.service.insight.queue_lists import QueueLists
from hai_scheduler.service.insight.silence import Silence
from hai_scheduler.service.insight.task_lists import TaskLists
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.logs.failures import Failures
from hai_scheduler.service.logs.rank_logs import RankLogs
from hai_scheduler.service.logs.reading import Logs
from hai_scheduler.service.metrics.following import NewestPoints
from hai_scheduler.service.metrics.idle_gpus import IdleGpus
from hai_scheduler.service.metrics.now import NewestUse
from hai_scheduler.service.metrics.pace import Pace
from hai_scheduler.service.metrics.reading import Series
from hai_scheduler.service.metrics.taking import MetricsIntake
from hai_scheduler.service.notifying.own_rules import OwnNotifications
from hai_scheduler.service.origin.orphans import Orphans
from hai_scheduler.service.people.archiving import Archiving
from hai_scheduler.service.platform.admin import Administration
from hai_scheduler.service.platform.readiness import Readiness
from hai_scheduler.service.policy.changes import PolicyChanges
from hai_scheduler.service.profiling.intake import RecordingIntake
from hai_scheduler.service.profiling.recordings import Recordings
from hai_scheduler.service.quota.own import OwnQuotas
from hai_scheduler.service.runs.image_reports import ImageReports
from hai_scheduler.service.runs.rank_reports import RankReports
from hai_scheduler.service.runs.rendezvous import Rendezvous
from hai_scheduler.service.runs.run_facts import RunRegistry
from hai_scheduler.service.scheduling.follower import Follower
from hai_scheduler.service.shared.archived_names import ArchivedNames
from hai_scheduler.service.shared.news import News
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.tallies.reader import TallyReader
from hai_scheduler.service.tasks.builds import EnvironmentBuilds
from hai_scheduler.service.tasks.experiments import Experiments
from hai_scheduler.service.tasks.labels import Labels
from hai_scheduler.service.tasks.many import ManyTasks
from hai_scheduler.service.tasks.submissions import Submissions
from hai_scheduler.service.workspace.catalogue import Catalogue
from hai_scheduler.service.workspace.image_machines import ImageMachines
from hai_scheduler.service.workspace.image_pins import ImagePins
from hai_scheduler.service.workspace.mount_rules import MountRules
from hai_scheduler.service.workspace.named_environments import NamedEnvironments
from hai_scheduler.service.workspace.pinning import Pinning
from hai_scheduler.service.workspace.rank_env import RankLocations
from hai_scheduler.service.workspace.runtime_env import RuntimeEnvs

log = logging.getLogger(__name__)

#: The increment of `nice` for the API on one machine: the scheduling loop gets the processor first.
NICER: Final = 5
#: After this time, in seconds, a thread that computes lets the event loop go on. The loop waits so long at each of
#: its steps while another thread reads a large body; Python's default is ten times as long.
SWITCH: Final = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiParts:
    """The use cases of the process of role `api`, which answers requests."""

    follower: Follower
    services: Services


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
    image_pins = ImagePins(images=adapters.images)
    machines = ImageMachines(store=store, platform=adapters.platform_image, pins=image_pins)
    runtime_envs = RuntimeEnvs(store=store, pinning=Pinning(haienvs=adapters.haienvs, machines=machines))
    code = code_of(adapters, policy_store)
    workers, news = adapters.workers or Here(store), News(store=store, bus=bus)
    queries = Queries(store=store, clock=clock, latest_plan=latest_plan, locations=locations)
    health = health_of(adapters, settings, latest_plan)
    pace = Pace()
    submissions = Submissions(
        store=store,
        bus=bus,
        clock=clock,
        settings=settings,
        policies=policy_store,
        latest_plan=latest_plan,
        runtime_envs=runtime_envs,
        code=code,
        files=adapters.files,
        image_pins=image_pins,
    )
    images = NamedEnvironments(store=store, bus=bus, clock=clock)
    policy = PolicyChanges(store=store, bus=bus, clock=clock, latest_plan=latest_plan, policy_store=policy_store)
    return ApiParts(
        follower=follower,
        services=Services(
            store=store,
            submissions=submissions,
            archiving=Archiving(
                store=store,
                bus=bus,
                clock=clock,
                policies=policy_store,
                names=ArchivedNames(store=store, clock=clock),
            ),
            audit=AuditReading(store=store),
            people=People(store=store, clock=clock, latest_plan=latest_plan),
            platform_details=PlatformDetails(
                store=store,
                clock=clock,
                cluster=adapters.cluster,
                health=health,
                queries=queries,
                versions=versions,
            ),
            administration=Administration(store=store, bus=bus, clock=clock, latest_plan=latest_plan),
            rank_reports=RankReports(store=store, bus=bus, clock=clock),
            image_reports=ImageReports(store=store, clock=clock, platform=adapters.platform_image),
            run_registry=RunRegistry(store=store, cluster=adapters.cluster),
            rendezvous=Rendezvous(store=store, cluster=adapters.cluster, bus=bus, clock=clock),
            rank_logs=RankLogs(store=store),
            rank_metrics=MetricsIntake(
                store=store,
                bus=bus,
                clock=clock,
                pace=pace,
                idle=IdleGpus(store=store, bus=bus, clock=clock, policies=policy_store),
            ),
            reports=Reports(store=store, clock=clock),
            container_books=ContainerBooks(store=store, clock=clock),
            costs=Costs(store=store, bus=bus, clock=clock, latest_plan=latest_plan),
            queries=queries,
            task_lists=TaskLists(store=store, clock=clock, latest_plan=latest_plan, queries=queries),
            node_map=NodeMap(store=store, clock=clock, latest_plan=latest_plan, queries=queries),
            overviews=Overviews(store=store, clock=clock, latest_plan=latest_plan, queries=queries),
            queue_lists=QueueLists(clock=clock, latest_plan=latest_plan),
            previews=Previews(clock=clock, latest_plan=latest_plan, policy=policy, workers=workers),
            labels=Labels(store=store, bus=bus, clock=clock),
            many_tasks=ManyTasks(submissions=submissions),
            readiness=Readiness(store=store, clock=clock, latest_plan=latest_plan, holder=holder),
            health=health,
            explanations=Explanations(
                queries=queries,
                clock=clock,
                latest_plan=latest_plan,
                workers=workers,
                silence=Silence(store=store, cluster=adapters.cluster, clock=clock),
            ),
            decisions=Decisions(store=store),
            experiments=Experiments(workers=workers),
            forecasts=Forecasts(
                store=store, clock=clock, latest_plan=latest_plan, submissions=submissions, workers=workers
            ),
            logs=Logs(store=store, cluster=adapters.cluster, news=news, workers=workers),
            series=Series(store=store, clock=clock, pace=pace),
            newest_points=NewestPoints(store=store, bus=bus, clock=clock, pace=pace),
            recordings=Recordings(store=store, bus=bus, clock=clock, workers=workers, settings=settings),
            recording_intake=RecordingIntake(store=store, bus=bus, clock=clock),
            cluster_use=NewestUse(store=store, clock=clock, latest_plan=latest_plan),
            failures=Failures(cluster=adapters.cluster),
            feed=Feed(store=store, news=news),
            notifications=OwnNotifications(store=store, bus=bus, clock=clock, book=adapters.address_book),
            orphans=Orphans(store=store, bus=bus, clock=clock),
            own_quotas=OwnQuotas(store=store, bus=bus, clock=clock, latest_plan=latest_plan),
            policy=policy,
            mount_rules=MountRules(store=store, bus=bus, clock=clock, latest_plan=latest_plan),
            environments=images,
            catalogue=Catalogue(images=images, haienvs=adapters.haienvs),
            builds=EnvironmentBuilds(
                submissions=submissions,
                latest_plan=latest_plan,
                builder=settings.builder,
                haienvs=adapters.haienvs,
            ),
            runtime_envs=runtime_envs,
            code=code,
            metrics=Metrics(
                health.news,
                TallyReader(store),
                own=adapters.timings.tallies,
                labels=settings.labels,
            ),
        ),
    )


async def serve_api(settings: Settings, secret: Secret, stop: asyncio.Event, *, alone: bool) -> None:
    """Run the API until it is told to stop. `alone`: no other replica may run beside it."""
    if settings.kubernetes is None:
        # The loop and all ranks of this machine keep their share of the processor during a flood of requests.
        os.nice(NICER)
    sys.setswitchinterval(SWITCH)
    lock = await take_for_api(settings.state_dir, alone=alone, stop=stop)
    room = WaitingRoom(address=settings.ip, port=settings.port, setting="port", root=f"{settings.prefix}{API}")
    async with opened(settings, secret, lock, room, stop) as world:
        if world is not None:
            parts = assemble_api(world.adapters, settings.service, locations=world.locations)
            await _run_api(parts, settings, secret, world.locations, stop)


async def _run_api(
    parts: ApiParts, settings: Settings, secret: Secret, locations: RankLocations, stop: asyncio.Event
) -> None:
    disk_full = parts.services.health.news.store.disk_full
    auth = Auth.from_environment(run_tokens=RunTokens(secret), cookie_secret=secret, disk_full=disk_full)
    follower = asyncio.create_task(parts.follower.run())
    reading = asyncio.create_task(parts.services.health.news.run())
    stopping = asyncio.create_task(stop.wait())
    server = make_server(make_application(parts.services, prefix=settings.prefix, auth=auth, limits=settings.limits))
    try:
        # The first request finds the nodes already known.
        await parts.follower.asked()
        listen_at(server, settings.ip, settings.port, setting="port")
        log.info("listening on http://%s:%d%s", settings.ip, settings.port, settings.prefix)
        if settings.kubernetes is None:
            # Only now: ranks send their tokens to this address, so this process must own the port.
            await _announce(settings, locations.api_url)
        await asyncio.wait({follower, stopping}, return_when=asyncio.FIRST_COMPLETED)
        server.stop()
    finally:
        await end_tasks(follower, reading, stopping)
        await server.close_all_connections()
        await auth.close()


async def _announce(settings: Settings, api_url: str) -> None:
    """Tell running ranks the address of the service. If that fails, the service starts all the same."""
    runs = settings.state_dir / "runs"
    try:
        await asyncio.to_thread(announce, runs, api_url, alone=settings.redis_url is None)
    except OSError as error:
        log.error("%s cannot be written (%s): ranks that started before a move do not hear", runs / ADDRESS_FILE, error)
