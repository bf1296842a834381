"""I1: since when GPUs are idle is noted in the task, by any replica and in any pieces."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.core.metrics.series_piece import SeriesPiece
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.service.metrics import idle_gpus
from hai_scheduler.service.metrics.idle_gpus import IdleGpus
from hai_scheduler.service.metrics.taking import MetricsIntake
from hai_scheduler.service.shared.topics import TICK
from kit.builders import T0, a_run
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world
from unit.service.metrics.metrics_world import BEGIN, a_task_with, points

RUN = RunId("1.1")
#: `idle_after`, seconds.
LONG = 900


class World:
    """A task of two ranks that runs since an hour."""

    def __init__(self) -> None:
        self.clock, self.store = VirtualClock(T0), MemoryStore()
        self.bus = MemoryBus(self.clock)
        self.intakes = [self.intake(), self.intake()]

    def intake(self) -> MetricsIntake:
        """A replica of the service."""
        world = make_world(store=self.store, bus=self.bus, clock=self.clock)
        return MetricsIntake(world, idle=IdleGpus(world))

    async def send(self, seconds: Iterable[int], use: float | None, *, rank: int = 0, replica: int = 0) -> None:
        values = {"cpu": 1.0} if use is None else {"cpu": 1.0, "gpu0_use": use}
        await self.intakes[replica].take(RUN, rank, SeriesPiece.of(points(seconds, **values)))

    async def since(self, rank: int = 0) -> int | None:
        """Since when a rank is idle, seconds after T0."""
        async with self.store.read() as tx:
            task = await tx.tasks.get(TaskId(1))
        assert task.run is not None
        found = task.run.ranks[rank].idle_gpus_since
        return None if found is None else int(found.timestamp()) - BEGIN


@pytest.fixture
async def world() -> World:
    made = World()
    await a_task_with(made.store, a_run(1, 1, nodes=2))
    await made.clock.advance(3600)
    return made


async def test_i1_it_is_noted_when_it_has_lasted_and_taken_back_when_the_gpus_work(world: World) -> None:
    async with world.bus.listen(TICK) as ears:
        await world.send(range(10, LONG, 10), 0)
        assert await world.since() is None
        assert not await ears.wait(0)
        await world.send([LONG], 0)
        assert await world.since() == 0
        assert await ears.wait(0)
    await world.send(range(LONG + 10, LONG + 600, 10), 0)
    assert await world.since() == 0
    await world.send([LONG + 600], 70)
    assert await world.since() is None
    async with world.store.read() as tx:
        events = [one for one in await tx.events.page(after=0, limit=100) if one.kind == EventKind.TASK_GPUS_IDLE]
    assert [event.data["ranks"] for event in events] == [[0], []]


async def test_i1_each_rank_is_by_itself(world: World) -> None:
    for rank, use in ((0, 0.0), (1, 50.0)):
        await world.send(range(10, LONG + 10, 10), use, rank=rank)
    assert (await world.since(0), await world.since(1)) == (0, None)


async def test_i1_a_rank_without_gpus_is_not_idle(world: World) -> None:
    await world.send(range(10, 2000, 10), None)
    assert await world.since() is None


async def test_i1_points_that_are_sent_again_change_nothing(world: World) -> None:
    await world.send(range(10, LONG + 10, 10), 0)
    await world.send(range(10, LONG + 10, 10), 0)
    assert await world.since() == 0


async def test_i1_what_another_replica_took_is_known(world: World) -> None:
    for number, first in enumerate(range(10, LONG + 10, 100)):
        await world.send(range(first, min(first + 100, LONG + 10), 10), 0, replica=number % 2)
    assert await world.since() is not None
    await world.send([LONG + 110], 50, replica=0)
    assert await world.since() is None
    # The other one has not seen that they worked, and reads it.
    await world.send(range(LONG + 120, LONG + 620, 10), 0, replica=1)
    assert await world.since() is None


async def test_i1_a_service_that_starts_again_reads_what_was_before(world: World) -> None:
    await world.send(range(10, 810, 10), 0)
    world.intakes[0] = world.intake()
    await world.send(range(810, LONG + 70, 10), 0)
    since = await world.since()
    assert since is not None
    assert since <= 60


async def test_ranks_that_have_sent_nothing_for_longest_are_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_gpus, "MOST", 1)
    for rank in (0, 1):
        await world.send([10], 0, rank=rank)
    idle = world.intakes[0].idle
    assert idle is not None
    assert list(idle._known) == [(RUN, 1)]


async def test_i1_a_rank_that_works_needs_no_look_at_the_store(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.send([10], 50)

    def never() -> None:
        raise AssertionError("a look at the store")

    monkeypatch.setattr(world.store, "read", never)
    await world.send([20, 30], 50)
    await world.send([40], 50)


async def test_i1_what_another_replica_has_noted_is_taken_back_by_the_one_that_sees_work(world: World) -> None:
    await world.send([10], 50, replica=0)
    await world.send(range(20, LONG + 30, 10), 0, replica=1)
    assert await world.since() is not None
    await world.send([LONG + 30], 50, replica=0)
    assert await world.since() is None
