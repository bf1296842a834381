"""The interface over real HTTP, beside a Hub that answers as JupyterHub does; store and bus are in memory."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from jupyterhub.services.auth import HubOAuth
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from hai_scheduler.adapters.messaging.address_book import SettingsAddressBook
from hai_scheduler.adapters.messaging.settings import MailSettings, MessagingSettings
from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.api.application import make_application, make_server
from hai_scheduler.api.server.auth import BELIEVED, Auth
from hai_scheduler.api.server.kinds import LimitSettings
from hai_scheduler.api.server.metrics import Metrics
from hai_scheduler.api.server.page import PageFile, StudioPage
from hai_scheduler.api.server.services import Services
from hai_scheduler.app.opening import Adapters
from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Checkpoint, Rank, RankState, Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.workspace.abi import PlatformImage
from hai_scheduler.core.workspace.builds import BuildSettings
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
from hai_scheduler.service.platform.health import Health
from hai_scheduler.service.platform.loop_status import SETTING, LoopStatus, StatusReader
from hai_scheduler.service.platform.readiness import Readiness
from hai_scheduler.service.policy.changes import PolicyChanges
from hai_scheduler.service.policy.store import PolicyStore
from hai_scheduler.service.profiling.intake import RecordingIntake
from hai_scheduler.service.profiling.recordings import Recordings
from hai_scheduler.service.quota.own import OwnQuotas
from hai_scheduler.service.runs.image_reports import ImageReports
from hai_scheduler.service.runs.rank_reports import RankReports
from hai_scheduler.service.runs.rendezvous import Rendezvous
from hai_scheduler.service.runs.run_facts import RunRegistry
from hai_scheduler.service.scheduling.cycle import Cycle
from hai_scheduler.service.shared.archived_names import ArchivedNames
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.latest_plan import LatestPlan
from hai_scheduler.service.shared.news import News
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.tasks.builds import EnvironmentBuilds
from hai_scheduler.service.tasks.experiments import Experiments
from hai_scheduler.service.tasks.labels import Labels
from hai_scheduler.service.tasks.many import ManyTasks
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.tasks.submissions import Submissions
from hai_scheduler.service.workspace.catalogue import Catalogue
from hai_scheduler.service.workspace.code_snapshots import CodeSnapshots
from hai_scheduler.service.workspace.mount_rules import MountRules
from hai_scheduler.service.workspace.named_environments import NamedEnvironments
from hai_scheduler.service.workspace.pinning import Pinning
from hai_scheduler.service.workspace.rank_env import RankLocations
from hai_scheduler.service.workspace.runtime_env import RuntimeEnvs
from integration.api.fakes import ACCESS, FakeCluster, FakeHub, hub_answers
from kit.both_roles import assemble
from kit.memory.cluster import MemoryCluster, notices_of
from kit.memory.haienvs import MemoryHaienvs
from kit.memory.store import MemoryStore

PREFIX = "/services/hai/"
#: A page of one small file.
PAGE = StudioPage(
    '<div data-prefix="%PREFIX%" data-hub="%HUB%">',
    {"main.0123456789abcdef.js": PageFile("text/javascript; charset=utf-8", b"open()", gzip.compress(b"open()"))},
)
PLACES = RankLocations(api_url="http://127.0.0.1/api", checkpoint_root="/checkpoints")

#: Mail is set up, and webhooks may lie on this machine.
MESSAGING = MessagingSettings(
    mail=MailSettings(host="mail.example.org", port=25, security="none", sender="hai@example.org"),
    webhook_networks=(ip_network("127.0.0.0/8"),),
)


def at(second: int) -> datetime:
    return datetime(2026, 1, 5, 12, 0, second, tzinfo=UTC)


Messages = AsyncIterator[tuple[str, str | None, Any]]


async def _messages(response: aiohttp.ClientResponse) -> Messages:
    message: dict[str, str] = {}
    async for raw in response.content:
        line = raw.decode().rstrip("\n")
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            message[name] = value
        elif message:
            yield message["event"], message.get("id"), json.loads(message["data"])
            message = {}


@dataclass
class World:
    """Everything that a test may look at or change."""

    store: MemoryStore
    bus: MemoryBus
    cluster: FakeCluster
    latest_plan: LatestPlan
    services: Services
    tokens: RunTokens
    hub: FakeHub
    root: str
    client: aiohttp.ClientSession
    haienvs: MemoryHaienvs = field(default_factory=lambda: MemoryHaienvs(clock=SystemClock()))

    @property
    def url(self) -> str:
        return f"{self.root}{PREFIX}api/v1"

    def ask(self, method: str, path: str, who: str | None = "alice", **options: Any) -> Any:
        """Send a request with the token of `who`."""
        headers = dict(options.pop("headers", {}))
        if who is not None:
            headers.setdefault("Authorization", f"Bearer {who}-token")
        return self.client.request(method, f"{self.url}{path}", headers=headers, allow_redirects=False, **options)

    async def json(self, method: str, path: str, who: str | None = "alice", **options: Any) -> tuple[int, Any]:
        async with self.ask(method, path, who, **options) as response:
            text = await response.text()
            return response.status, json.loads(text) if text else None

    @asynccontextmanager
    async def stream(self, path: str, who: str = "alice", *, last: str | None = None) -> AsyncIterator[Messages]:
        """The messages of a stream as (event, id, data); comments are left out."""
        headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
        async with asyncio.timeout(60), self.ask("GET", path, who, headers=headers) as response:
            assert response.status == 200, await response.text()
            assert response.content_type == "text/event-stream"
            yield _messages(response)

    async def loop_says(self, **told: Any) -> None:
        """What the scheduling loop has written of itself: it has just ticked and is well, but for what is given."""
        now = datetime.now(UTC)
        well: dict[str, Any] = {
            "holder": "machine-7:4711",
            "at": now,
            "last_tick": now,
            "tick_seconds": 0.25,
            "plan_seconds": 0.125,
            "ticks": 7,
            "trouble": None,
            "blind": False,
            "policy_trouble": None,
            "rotation_alarms": 0,
        }
        async with self.store.write() as tx:
            await tx.settings.put(SETTING, LoopStatus(**well | told).text)

    def listeners(self, topic: str) -> int:
        """The number of listeners to the topic now."""
        return len(self.bus._listeners.get(topic, ()))

    async def submit(self, name: str = "train", user: str = "alice", **options: Any) -> Task:
        submission = Submission(name=name, command=("python", "train.py"), cwd="/w", **options)
        return await self.services.submissions.submit(Caller(name=user), submission)

    async def start(
        self,
        task: Task,
        *,
        nodes: tuple[str, ...] = ("node-1",),
        gpus: tuple[tuple[int, ...], ...] = (),
        number: int = 1,
    ) -> Task:
        """Give the task a run that is up, as the scheduler would."""
        run = Run(
            id=task.run_id(number),
            number=number,
            ranks=tuple(
                Rank(rank=i, node=name, gpus=gpus[i] if gpus else (), state=RankState.RUNNING)
                for i, name in enumerate(nodes)
            ),
            priority=Priority.NORMAL,
            started_at=at(0),
            running_at=at(1),
        )
        async with self.store.write() as tx:
            task = await tx.tasks.get(task.id)
            return await tx.tasks.save(replace(task, state=TaskState.RUNNING, run=run))

    async def end(self, task: Task, reason: Reason, state: TaskState, **about_run: Any) -> Task:
        """End the task's run."""
        async with self.store.write() as tx:
            task = await tx.tasks.get(task.id)
            assert task.run is not None
            run = replace(task.run, ended_at=at(33), reason=reason, **about_run)
            over = at(33) if state.ended else None
            return await tx.tasks.save(replace(task, state=state, run=run, reason=reason, ended_at=over))


@asynccontextmanager
async def served(
    services: Services, tokens: RunTokens, limits: LimitSettings | None = None
) -> AsyncIterator[tuple[str, FakeHub, aiohttp.ClientSession]]:
    """The interface on a port of its own, beside a Hub; and a browser."""
    hub = FakeHub()
    hub_root, hub_server = _serve(HTTPServer(hub_answers(hub)))
    auth = Auth(
        HubOAuth(
            api_url=f"{hub_root}/hub/api",
            api_token="service",
            hub_prefix="/hub/",
            base_url=PREFIX,
            oauth_client_id="service-hai",
            access_scopes={ACCESS},
            cache_max_age=BELIEVED,
        ),
        run_tokens=tokens,
        cookie_secret=Secret("cookie secret"),
    )
    hub.forget = auth.hub.cache.clear
    application = make_application(services, prefix=PREFIX, auth=auth, limits=limits, page=PAGE)
    root, server = _serve(make_server(application))
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        yield root, hub, client
    for one in (server, hub_server):
        one.stop()
        await one.close_all_connections()
    await auth.close()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    clock = SystemClock()
    store, bus, cluster = MemoryStore(), MemoryBus(clock), FakeCluster()
    latest_plan = LatestPlan(
        nodes=[Node(name=f"node-{n}", gpus=2) for n in range(1, 5)], last_tick=clock.now(), ticks=1
    )
    tokens = RunTokens(Secret("run secret"))
    reader = StatusReader(store=store, clock=clock)
    settings = ServiceSettings()
    policy_store = PolicyStore(settings)
    haienvs = MemoryHaienvs(clock=clock)
    runtime_envs = RuntimeEnvs(store=store, pinning=Pinning(haienvs=haienvs))
    code = CodeSnapshots(
        store=store,
        clock=clock,
        policies=lambda: policy_store.current,
        snapshots=SnapshotFolder(tmp_path / "snapshots", clock),
    )
    queries = Queries(store=store, clock=clock, latest_plan=latest_plan, locations=PLACES)
    submissions = Submissions(
        store=store,
        bus=bus,
        clock=clock,
        settings=settings,
        policies=policy_store,
        latest_plan=latest_plan,
        runtime_envs=runtime_envs,
        code=code,
    )
    workers, news = Here(store), News(store=store, bus=bus, look_every=0.02)
    pace = Pace()
    images = NamedEnvironments(store=store, bus=bus, clock=clock)
    health = Health(news=reader, latest_plan=latest_plan)

    async def versions() -> dict[str, str | None]:
        return {"service": "1.2.3", "lab": None}

    policy = PolicyChanges(store=store, bus=bus, clock=clock, latest_plan=latest_plan, policy_store=policy_store)
    services = Services(
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
            cluster=cluster,  # type: ignore[arg-type]
            health=health,
            queries=queries,
            versions=versions,
        ),
        administration=Administration(store=store, bus=bus, clock=clock, latest_plan=latest_plan),
        rank_reports=RankReports(store=store, bus=bus, clock=clock),
        image_reports=ImageReports(store=store, clock=clock, platform=PlatformImage(image="hai-task:1")),
        run_registry=RunRegistry(store=store, cluster=cluster),  # type: ignore[arg-type]
        rendezvous=Rendezvous(store=store, cluster=cluster, bus=bus, clock=clock),  # type: ignore[arg-type]
        rank_logs=RankLogs(store=store, keep_bytes=1000),
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
        readiness=Readiness(store=store, clock=clock, latest_plan=latest_plan, holder="machine-7:4711"),
        explanations=Explanations(
            queries=queries,
            clock=clock,
            latest_plan=latest_plan,
            workers=workers,
            silence=Silence(store=store, cluster=cluster, clock=clock),
        ),  # type: ignore[arg-type]
        decisions=Decisions(store=store),
        experiments=Experiments(workers=workers),
        forecasts=Forecasts(
            store=store, clock=clock, latest_plan=latest_plan, submissions=submissions, workers=workers
        ),
        logs=Logs(store=store, cluster=cluster, news=news, workers=workers, look_every=0.02),  # type: ignore[arg-type]
        rank_metrics=MetricsIntake(
            store=store,
            bus=bus,
            clock=clock,
            pace=pace,
            idle=IdleGpus(store=store, bus=bus, clock=clock, policies=policy_store),
        ),
        series=Series(store=store, clock=clock, pace=pace),
        newest_points=NewestPoints(store=store, bus=bus, clock=clock, pace=pace),
        recordings=Recordings(store=store, bus=bus, clock=clock, workers=workers, settings=settings),
        recording_intake=RecordingIntake(store=store, bus=bus, clock=clock),
        cluster_use=NewestUse(store=store, clock=clock, latest_plan=latest_plan),
        failures=Failures(cluster=cluster),  # type: ignore[arg-type]
        feed=Feed(store=store, news=news),
        notifications=OwnNotifications(store=store, bus=bus, clock=clock, book=SettingsAddressBook(MESSAGING)),
        orphans=Orphans(store=store, bus=bus, clock=clock),
        own_quotas=OwnQuotas(store=store, bus=bus, clock=clock, latest_plan=latest_plan),
        policy=policy,
        mount_rules=MountRules(store=store, bus=bus, clock=clock, latest_plan=latest_plan),
        environments=images,
        catalogue=Catalogue(images=images, haienvs=haienvs),
        builds=EnvironmentBuilds(
            submissions=submissions, latest_plan=latest_plan, builder=BuildSettings(), haienvs=haienvs
        ),
        runtime_envs=runtime_envs,
        code=code,
        metrics=Metrics(reader),
        health=health,
    )
    async with store.write() as tx:
        for level in (Priority.NORMAL, Priority.HIGH):
            await tx.quotas.put(Quota(subject="public", group="training", priority=level, limit=4))
    async with served(services, tokens) as (root, hub, client):
        world = World(
            store=store,
            bus=bus,
            cluster=cluster,
            latest_plan=latest_plan,
            services=services,
            tokens=tokens,
            hub=hub,
            root=root,
            client=client,
            haienvs=haienvs,
        )
        await world.loop_says()
        yield world


@pytest.fixture
async def platform() -> AsyncIterator[tuple[World, Cycle]]:
    """The whole service as it is put together for production, with two nodes in memory; the test ticks."""
    clock = SystemClock()
    store, bus = MemoryStore(), MemoryBus(clock)
    nodes = [Node(name="node-1", gpus=2), Node(name="node-2", gpus=2)]
    cluster = MemoryCluster(clock, nodes, notices=notices_of(store))
    tokens = RunTokens(Secret("run secret"))
    parts = assemble(
        Adapters(store=store, cluster=cluster, bus=bus, clock=clock),
        ServiceSettings(),
        tokens=tokens,
        locations=PLACES,
        holder="test",
    )
    async with store.write() as tx:
        for level in Priority:
            await tx.quotas.put(Quota(subject="public", group="training", priority=level, limit=None))
    await parts.cycle.tick()
    async with served(parts.services, tokens) as (root, hub, client):
        world = World(
            store=store,
            bus=bus,
            cluster=cluster,  # type: ignore[arg-type]
            latest_plan=parts.cycle.latest_plan,
            services=parts.services,
            tokens=tokens,
            hub=hub,
            root=root,
            client=client,
        )
        yield world, parts.cycle


def _serve(server: HTTPServer) -> tuple[str, HTTPServer]:
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    return f"http://127.0.0.1:{sockets[0].getsockname()[1]}", server


@pytest.fixture
async def saved_story(world: World) -> Task:
    """A task that was suspended once, saved, and then succeeded, with a log of both runs."""
    task = await world.submit()
    task = await world.start(task)
    world.cluster.logs[f"{task.id}.1", 0] = b"2026-01-05T12:00:02.000000Z step 1\n2026-01-05T12:00:03.000000Z step 2\n"
    saved = Checkpoint(at=at(30), step=2)
    await world.end(task, Reason.PREEMPTED, TaskState.SUSPENDED, left=Left.SAVED, checkpoint=saved)
    await world.start(task, nodes=("node-2",), number=2)
    world.cluster.logs[f"{task.id}.2", 0] = b"2026-01-05T12:00:40.000000Z step 3 done\n"
    return await world.end(task, Reason.SUCCEEDED, TaskState.SUCCEEDED)
