"""A log that grows, a feed, and those who follow them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskSpec, TaskState
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.computing.workers import Here
from hai_scheduler.service.insight.feed import Feed
from hai_scheduler.service.logs.lines import Cursor, Page
from hai_scheduler.service.logs.reading import Logs
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from hai_scheduler.service.shared.news import News
from hai_scheduler.service.shared.topics import FEED
from kit.builders import T0, a_run, a_task
from kit.memory.store import MemoryStore
from kit.waiting import until
from kit.worlds import make_world

ALICE = Caller(name="alice")


ADMIN = Caller(name="root", scopes=frozenset({SCOPE_ADMIN}))


@dataclass
class Growing:
    """A cluster with logs that grow."""

    logs: dict[str, bytes] = field(default_factory=dict)
    #: The most bytes of a line without an end that one read returns.
    longest: int = 1 << 20
    reads: int = 0
    broken: bool = False

    def log_place(self, _run_id: str) -> None:
        """Return None: other processes cannot read these logs."""

    async def read_log(self, run_id: str, _rank: int, *, offset: int, limit: int) -> LogChunk:
        self.reads += 1
        if self.broken:
            raise Temporary
        if run_id not in self.logs:
            raise Absent
        limit, offset = min(limit, self.longest), min(offset, len(self.logs[run_id]))
        data = self.logs[run_id][offset : offset + limit]
        whole = data[: data.rfind(b"\n") + 1] or (data if len(data) == limit else b"")
        return LogChunk(start=offset, next=offset + len(whole), data=whole, final=False)

    def prints(self, *texts: str) -> None:
        self.logs["1.1"] = self.logs.get("1.1", b"") + b"".join(f"{text}\n".encode() for text in texts)


@dataclass
class World:
    store: MemoryStore
    bus: MemoryBus
    cluster: Growing
    logs: Logs
    feed: Feed

    async def end(self) -> None:
        """Let the run and its task succeed, as a tick writes it."""
        async with self.store.write() as tx:
            task = await tx.tasks.get(TaskId(1))
            run = replace(task.run, ended_at=T0, reason=Reason.SUCCEEDED)
            over = replace(task, run=run, state=TaskState.SUCCEEDED, ended_at=T0, reason=Reason.SUCCEEDED)
            await tx.tasks.save(over)
        await self.happens("task.state")

    async def happens(self, kind: str, user: str | None = "alice", task_id: int | None = 1) -> None:
        async with self.store.write() as tx:
            who = None if task_id is None else TaskId(task_id)
            await tx.events.add(HistoryEvent(at=T0, kind=kind, actor="scheduler", user=user, task_id=who))
        await self.bus.ring(FEED)

    def follow(self, cursor: Cursor | None = None) -> Follower:
        return Follower(self.logs.follow(ALICE, "task-1", cursor=cursor))


class Follower:
    """A follower of a log, which reads on only while `may` is set."""

    def __init__(self, pages: AsyncIterator[Page]) -> None:
        self.lines: list[str] = []
        self.pages: list[Page] = []
        self.may = asyncio.Event()
        self.may.set()
        self._task = asyncio.create_task(self._read(pages))

    async def _read(self, pages: AsyncIterator[Page]) -> None:
        async with aclosing(pages):
            async for page in pages:
                self.pages.append(page)
                self.lines += [line.text for line in page.lines if line.rank is not None]
                await self.may.wait()

    async def has(self, *lines: str) -> None:
        await until(f"the follower to have {lines}", lambda: self.lines[-len(lines) :] == list(lines))

    async def ended(self) -> None:
        async with asyncio.timeout(30):
            await self._task

    async def leaves(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def a_world() -> World:
    """A store with one running task of alice's, and those who may follow it."""
    store, bus, cluster = MemoryStore(), MemoryBus(), Growing()
    async with store.write() as tx:
        task = await tx.tasks.add(a_task(), TaskSpec(command=("x",), cwd="/"))
        await tx.tasks.save(replace(task, state=TaskState.RUNNING, run=a_run(task.id)))
    paper = News(store=store, bus=bus, look_every=0.02)
    logs = Logs(make_world(store=store, cluster=cluster), news=paper, workers=Here(store), look_every=0.02)  # type: ignore[arg-type]
    return World(store, bus, cluster, logs, Feed(make_world(store=store), news=paper))
