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
from hai_scheduler.api.server.page import PageFile, StudioPage
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.app.loop import SchedulingLoop
from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Checkpoint, Rank, RankState, Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.workspace.abi import PlatformImage
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.platform.loop_status import SETTING, LoopStatus
from hai_scheduler.service.scheduling.cycle import Cycle
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.latest_plan import LatestPlan
from hai_scheduler.service.shared.world import RankLocations
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.workspace.fabric_trials import FabricTrials
from integration.api.fakes import ACCESS, FakeCluster, FakeHub, hub_answers
from kit.memory.cluster import MemoryCluster, notices_of
from kit.memory.haienvs import MemoryHaienvs
from kit.stores import ScratchStore
from kit.worlds import TOKENS, make_world

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

    store: ScratchStore
    bus: MemoryBus
    cluster: FakeCluster
    platform: Platform
    hub: FakeHub
    root: str
    client: aiohttp.ClientSession
    tokens: RunTokens = TOKENS
    haienvs: MemoryHaienvs = field(default_factory=lambda: MemoryHaienvs(clock=SystemClock()))

    @property
    def latest_plan(self) -> LatestPlan:
        return self.platform.world.latest_plan

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
        return await self.platform.tasks.submissions.submit(Caller(name=user), submission)

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
    platform: Platform, tokens: RunTokens, limits: LimitSettings | None = None
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
    application = make_application(platform, prefix=PREFIX, auth=auth, limits=limits, page=PAGE)
    root, server = _serve(make_server(application))
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        yield root, hub, client
    for one in (server, hub_server):
        one.stop()
        await one.close_all_connections()
    await auth.close()


async def _as_it_is(bearable: float | None = None) -> None:
    """Leave the view as the test wrote it."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """The interface over a store and a cluster in memory; nothing ticks."""
    clock = SystemClock()
    store, bus, cluster = ScratchStore(), MemoryBus(clock), FakeCluster()
    haienvs = MemoryHaienvs(clock=clock)

    async def versions() -> dict[str, str | None]:
        return {"service": "1.2.3", "lab": None}

    platform = Platform(
        make_world(
            store=store,
            bus=bus,
            cluster=cluster,
            clock=clock,
            locations=PLACES,
            holder="machine-7:4711",
            address_book=SettingsAddressBook(MESSAGING),
            haienvs=haienvs,
            snapshots=SnapshotFolder(tmp_path / "snapshots", clock),
            platform_image=PlatformImage(image="hai-task:1"),
            versions=versions,
            latest_plan=LatestPlan(
                nodes=[Node(name=f"node-{n}", gpus=2) for n in range(1, 5)], last_tick=clock.now(), ticks=1
            ),
        )
    )
    platform.world.latest_plan.asked = _as_it_is
    platform.logs.reading.look_every = platform.insight.feed.news.look_every = 0.02
    async with store.write() as tx:
        for level in (Priority.NORMAL, Priority.HIGH):
            await tx.quotas.put(Quota(subject="public", group="training", priority=level, limit=4))
    async with served(platform, TOKENS) as (root, hub, client):
        world = World(
            store=store,
            bus=bus,
            cluster=cluster,
            platform=platform,
            hub=hub,
            root=root,
            client=client,
            haienvs=haienvs,
        )
        await world.loop_says()
        yield world


@asynccontextmanager
async def trying_fabrics(world: World) -> AsyncIterator[None]:
    """Trials of fabrics are carried out, as the loop does it."""
    trying = asyncio.create_task(FabricTrials(world.platform.world).run(lambda: True))
    try:
        yield
    finally:
        trying.cancel()


@pytest.fixture
async def platform() -> AsyncIterator[tuple[World, Cycle]]:
    """The whole service as it is put together for production, with two nodes in memory; the test ticks."""
    clock = SystemClock()
    store, bus = ScratchStore(), MemoryBus(clock)
    nodes = [Node(name="node-1", gpus=2), Node(name="node-2", gpus=2)]
    cluster = MemoryCluster(clock, nodes, notices=notices_of(store))
    around = make_world(store=store, cluster=cluster, bus=bus, clock=clock, locations=PLACES, holder="test")
    loop, platform = SchedulingLoop(around, TOKENS), Platform(around)
    async with store.write() as tx:
        for level in Priority:
            await tx.quotas.put(Quota(subject="public", group="training", priority=level, limit=None))
    await loop.cycle.tick()
    async with served(platform, TOKENS) as (root, hub, client):
        yield (
            World(
                store=store,
                bus=bus,
                cluster=cluster,  # type: ignore[arg-type]
                platform=platform,
                hub=hub,
                root=root,
                client=client,
            ),
            loop.cycle,
        )


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
