"""Following logs and the feed: read once for all followers, nothing lost or doubled, no follower delays another."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import pytest

from hai_scheduler.adapters.memory.store import MemoryStore
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskSpec, TaskState
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.computing.workers import Here
from hai_scheduler.service.insight.feed import Feed
from hai_scheduler.service.insight.queries import EVERYBODY
from hai_scheduler.service.logs import story as log_story
from hai_scheduler.service.logs.lines import Cursor, Page
from hai_scheduler.service.logs.reading import Logs
from hai_scheduler.service.shared import news
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from hai_scheduler.service.shared.errors import NotFound, Unavailable
from hai_scheduler.service.shared.news import News
from hai_scheduler.service.shared.topics import FEED
from kit.builders import T0, a_run, a_task
from kit.waiting import until

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


@pytest.fixture
async def world() -> World:
    store, bus, cluster = MemoryStore(), MemoryBus(), Growing()
    async with store.write() as tx:
        task = await tx.tasks.add(a_task(), TaskSpec(command=("x",), cwd="/"))
        await tx.tasks.save(replace(task, state=TaskState.RUNNING, run=a_run(task.id)))
    paper = News(store=store, bus=bus, look_every=0.02)
    logs = Logs(store=store, cluster=cluster, news=paper, workers=Here(store), look_every=0.02)  # type: ignore[arg-type]
    return World(store, bus, cluster, logs, Feed(store=store, news=paper))


async def test_a_log_is_read_once_for_all_who_follow_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.cluster.prints("first")
    followers = [world.follow() for _ in range(50)]
    for one in followers:
        await one.has("first")
    await until(
        "the followers to come to the end", lambda: all(one.pages[-1].lines == () for one in followers)
    )  # the followers have come to the end
    (story,) = world.logs._stories.values()
    page_of, asked = world.logs._page, []

    async def counted(*given: object) -> Page:
        asked.append(given)
        return await page_of(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Logs, "_page", lambda _self, *given: counted(*given))
    before = world.cluster.reads
    world.cluster.prints("second")
    for one in followers:
        await one.has("first", "second")
    await world.end()
    for one in followers:
        await one.ended()
        assert one.lines == ["first", "second"]
    assert len(asked) < 50
    assert world.cluster.reads - before < 50
    last = [next(page for page in reversed(one.pages) if page.lines) for one in followers]
    assert all(page is last[0] for page in last), "what is sent is made once"
    assert story is not None
    assert world.logs._stories == {}


async def test_the_end_of_a_run_is_told_as_soon_as_it_is_written(world: World) -> None:
    slow = replace(world.logs, look_every=0.2)
    world.cluster.prints("only")
    one = Follower(slow.follow(ALICE, "1"))
    await one.has("only")
    await until("a follower to be served", lambda: slow._stories)
    await world.end()
    await one.ended()
    assert one.pages[-1].final
    assert [line.text for line in one.pages[-1].lines if line.rank is None][-1].startswith("-- run 1 succeeded")


@pytest.mark.parametrize("seed", range(8))
async def test_nothing_is_lost_or_doubled_whenever_followers_come_and_however_fast_they_read(
    world: World, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(log_story, "HELD", 2)
    dice = random.Random(seed)
    world.cluster.longest = 300
    printed: list[str] = []
    followers: list[tuple[int, Follower]] = []
    cursors = [(0, None)]
    for step in range(30):
        for _ in range(dice.randrange(4)):
            # Now and then a line that is read in pieces.
            text = f"line {len(printed)}" + "x" * (dice.random() < 0.1) * 700
            printed.append(text)
            world.cluster.prints(text)
        if dice.random() < 0.4:
            followers.append((0, world.follow()))
        for _, one in followers:
            (one.may.clear if dice.random() < 0.4 else one.may.set)()
        await asyncio.sleep(dice.choice([0, 0.003, 0.03]))
        if step % 10 == 9:
            page = await world.logs.page(ALICE, "1", limit=dice.randrange(1, 20))
            cursors.append((len([line for line in page.lines if line.rank is not None]), page.cursor))
    for told, cursor in cursors[1:]:
        followers.append((told, world.follow(cursor)))
    await asyncio.sleep(0.03)
    await world.end()
    for _, one in followers:
        one.may.set()
    whole = "".join(printed)
    for told, one in followers:
        await one.ended()
        before = await world.logs.page(ALICE, "1", limit=1000)
        texts = [line.text for line in before.lines if line.rank is not None]
        assert "".join(texts) == whole
        assert "".join(one.lines) == "".join(texts[told:])
    assert world.logs._stories == {}


async def test_a_slow_follower_delays_no_other_and_misses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_story, "HELD", 3)
    slow, fast = world.follow(), world.follow()
    world.cluster.prints("line 0")
    await slow.has("line 0")
    slow.may.clear()
    for number in range(1, 12):
        world.cluster.prints(f"line {number}")
        await fast.has(f"line {number}")
    assert len(slow.lines) < 4
    slow.may.set()
    await world.end()
    await slow.ended()
    await fast.ended()
    assert slow.lines == fast.lines == [f"line {number}" for number in range(12)]


async def test_where_a_log_cannot_be_read_all_followers_are_told_and_the_next_one_begins_again(world: World) -> None:
    followers = [world.follow() for _ in range(3)]
    await until("every follower to have a page", lambda: world.logs._stories and all(one.pages for one in followers))
    world.cluster.broken = True
    for one in followers:
        with pytest.raises(Unavailable):
            await one.ended()
    world.cluster.broken = False
    world.cluster.prints("again")
    later = world.follow()
    await later.has("again")
    await later.leaves()
    assert world.logs._stories == {}
    assert not world.bus._listeners


async def test_events_are_read_once_for_all_streams(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[list[int]] = [[] for _ in range(30)]
    jobs = [asyncio.create_task(_listen(world.feed, ADMIN, heard[n], 0)) for n in range(30)]
    await world.happens("task.submitted")
    await until("all to hear", lambda: all(heard))
    looks = []
    real = MemoryStore.read
    monkeypatch.setattr(MemoryStore, "read", lambda store: looks.append(1) or real(store))
    for _ in range(5):
        await world.happens("task.state")
    await until("all to hear six events", lambda: all(len(one) == 6 for one in heard))
    assert len(looks) < 30
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)
    assert not world.bus._listeners


@pytest.mark.parametrize("held", [1, 4, 1000])
async def test_every_reader_gets_each_of_their_events_once(
    world: World, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    monkeypatch.setattr(news, "HELD", held)
    monkeypatch.setattr("hai_scheduler.service.insight.feed.PAGE", 3)
    monkeypatch.setattr(news, "PAGE", 3)
    mine: list[int] = []
    everything: list[int] = []
    early: list[int] = []
    jobs = [asyncio.create_task(_listen(world.feed, ADMIN, early, 0))]
    for number in range(40):
        await world.happens("task.state", user="alice" if number % 3 else "bob", task_id=number)
        if number == 20:
            jobs.append(asyncio.create_task(_listen(world.feed, ALICE, mine, 5)))
            jobs.append(asyncio.create_task(_listen(world.feed, ADMIN, everything, 0)))
        if number % 4 == 0:
            await asyncio.sleep(0)
    await until(
        "each reader to have the last event that it may see",
        lambda: (early[-1:], everything[-1:], mine[-1:]) == ([40], [40], [39]),
    )
    assert early == everything == list(range(1, 41))
    assert mine == [seq for seq in range(6, 41) if (seq - 1) % 3]
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)


async def test_a_user_without_news_is_not_read_for_again_and_again(world: World) -> None:
    for _ in range(3):
        await world.happens("task.state", user="bob", task_id=9)
    stream = world.feed.follow(ALICE, after=0)
    async with aclosing(stream):
        assert await anext(stream) is None
        assert await anext(stream) is None


async def _listen(feed: Feed, caller: Caller, heard: list[int], after: int) -> None:
    stream = feed.follow(caller, after=after, user=EVERYBODY if caller.admin else None)
    async with aclosing(stream):
        async for event in stream:
            heard += [] if event is None else [event.seq]


async def test_a_task_that_is_forgotten_ends_its_followers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_story, "FACTS_EVERY", 0.01)
    one = world.follow()
    await until("a follower to be served", lambda: world.logs._stories)
    async with world.store.write() as tx:
        task = await tx.tasks.get(TaskId(1))
        await tx.tasks.save(replace(task, run=replace(task.run, ended_at=T0), state=TaskState.FAILED, ended_at=T0))
        await tx.tasks.delete(TaskId(1))
    with pytest.raises(NotFound):
        await one.ended()
