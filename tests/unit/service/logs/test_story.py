"""A log that grows is read once for all followers: nothing is lost or doubled, no follower delays another."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.service.logs import story as log_story
from hai_scheduler.service.logs.lines import Page
from hai_scheduler.service.logs.reading import Logs
from hai_scheduler.service.shared.errors import NotFound, Unavailable
from kit.builders import T0
from kit.waiting import until
from unit.service.followers_kit import ALICE, Follower, World, a_world


@pytest.fixture
async def world() -> World:
    return await a_world()


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
