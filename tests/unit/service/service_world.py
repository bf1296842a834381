"""A whole service over memory adapters in virtual time, driven tick by tick."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.adapters.identities.fixed import OneAccount
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.app.loop import SchedulingLoop
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.workspace.abi import PlatformImage
from hai_scheduler.ports.identities import Identities
from hai_scheduler.ports.images import Images
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.messages import message_of
from hai_scheduler.service.insight.queries import TaskView
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_WRITE, Caller
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.tasks.submission import Submission
from kit.builders import some_nodes
from kit.memory.behaviour import Behaviour
from kit.memory.clock import VirtualClock
from kit.memory.cluster import MemoryCluster, notices_of
from kit.memory.haienvs import MemoryHaienvs
from kit.stores import ScratchStore
from kit.worlds import TOKENS, make_world

ADMIN = Caller(name="root", scopes=frozenset({SCOPE_ADMIN}))
SHORT = Policy(min_run=timedelta(seconds=30), slice=timedelta(seconds=60), default_grace=timedelta(seconds=20))


def user(name: str) -> Caller:
    return Caller(name=name, scopes=frozenset({SCOPE_WRITE}))


def message_in(view: TaskView) -> str:
    """What the task does, as its owner reads it in English."""
    return message_of(ENGLISH, view.task, view.verdict, view.at)


class Service:
    """A world and the service in it; `restart` replaces the service and keeps the world."""

    def __init__(
        self,
        nodes: int = 4,
        policy: Policy | Policies = SHORT,
        haienvs: MemoryHaienvs | None = None,
        images: Images | None = None,
        platform_image: PlatformImage | None = None,
    ) -> None:
        self.clock = VirtualClock()
        self.haienvs, self.images, self.platform_image = haienvs, images, platform_image
        self.identities: Identities = OneAccount(100)
        self.store = ScratchStore()
        self.cluster = MemoryCluster(self.clock, some_nodes(nodes), notices=notices_of(self.store))
        self.bus = MemoryBus(self.clock)
        policies = policy if isinstance(policy, Policies) else Policies(default=policy)
        self.settings = ServiceSettings(policy=policies)
        self._starts = 0
        self.restart()

    def restart(self) -> None:
        """Replace the service, as a new process of it would."""
        self._starts += 1
        world = make_world(
            store=self.store,
            cluster=self.cluster,
            bus=self.bus,
            clock=self.clock,
            settings=self.settings,
            haienvs=self.haienvs,
            images=self.images,
            platform_image=self.platform_image,
            identities=self.identities,
            holder=f"holder-{self._starts}",
        )
        self.loop, self.platform = SchedulingLoop(world, TOKENS), Platform(world)

    async def open(self) -> Service:
        """Write quota for all users, and tick once to read the nodes; returns the service."""
        async with self.store.write() as tx:
            for level in Priority:
                await tx.quotas.put(Quota(subject="public", group="training", priority=level, limit=None))
        await self.loop.cycle.tick()
        return self

    async def submit(
        self, name: str, who: str, nodes: int = 1, does: Behaviour | None = None, **more: object
    ) -> TaskId:
        """Submit a task whose job behaves as `does` says; returns its id."""
        fields = {"priority": Priority.NORMAL, **more}
        task = await self.platform.tasks.submissions.submit(
            user(who), Submission(name=name, command=("train",), cwd="/", nodes=nodes, **fields)
        )
        self.cluster.jobs.script(task.id, does or Behaviour())
        return task.id

    async def step(self, seconds: float = 0, ticks: int = 3) -> None:
        """Let `seconds` pass, then tick `ticks` times, so that all consequences have settled."""
        await self.clock.advance(seconds)
        for _ in range(ticks):
            await self.loop.cycle.tick()
        self.cluster.record.check()

    async def events(self, kind: str) -> list[HistoryEvent]:
        """All events of that kind, in order."""
        async with self.store.read() as tx:
            return [event for event in await tx.events.page(after=0, limit=100_000) if event.kind == kind]

    async def task(self, task_id: TaskId) -> Task:
        async with self.store.read() as tx:
            return await tx.tasks.get(task_id)

    async def states(self, *task_ids: TaskId) -> list[str]:
        return [(await self.task(task_id)).state.value for task_id in task_ids]
