"""The contract of a bus, on every adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.adapters.system.redis_bus import RedisBus
from hai_scheduler.adapters.system.socket_bus import SocketBus
from hai_scheduler.ports.bus import Bus
from kit.buses import SOON, opened, opened_sockets
from kit.memory.clock import VirtualClock
from kit.redis_server import RedisServer


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(params=["memory", "sockets", "redis"])
async def bus(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bus]:
    if request.param == "memory":
        yield MemoryBus()
    elif request.param == "sockets":
        async with opened_sockets(tmp_path / "bus") as bus:
            yield bus
    else:
        async with opened(request.getfixturevalue("redis")) as bus:
            yield bus


async def test_a_ring_wakes_every_listener_to_the_topic(bus: Bus) -> None:
    async with bus.listen("tick") as one, bus.listen("tick") as other:
        waits = [asyncio.create_task(ears.wait(SOON)) for ears in (one, other)]
        await asyncio.sleep(0)
        await bus.ring("tick")
        assert await asyncio.gather(*waits) == [True, True]


async def test_a_ring_before_the_wait_is_kept(bus: Bus) -> None:
    async with bus.listen("tick") as ears:
        await bus.ring("tick")
        assert await ears.wait(SOON)


async def test_rings_are_merged(bus: Bus) -> None:
    async with bus.listen("tick") as ears:
        for _ in range(3):
            await bus.ring("tick")
        assert await ears.wait(SOON)
        assert not await ears.wait(0.01)


async def test_a_ring_before_listening_is_not_heard(bus: Bus) -> None:
    await bus.ring("tick")
    async with bus.listen("tick") as ears:
        assert not await ears.wait(0.01)


async def test_other_topics_are_not_heard(bus: Bus) -> None:
    async with bus.listen("tick", "feed") as ears:
        await bus.ring("run:1.1")
        assert not await ears.wait(0.01)
        await bus.ring("feed")
        assert await ears.wait(SOON)
        await bus.ring("tick")
        assert await ears.wait(SOON)


async def test_a_wait_without_limit_ends_with_a_ring(bus: Bus) -> None:
    async with bus.listen("tick") as ears:
        waiting = asyncio.create_task(ears.wait(None))
        await asyncio.sleep(0)
        assert not waiting.done()
        await bus.ring("tick")
        assert await asyncio.wait_for(waiting, SOON)


@pytest.mark.parametrize("seconds", [0, -1])
async def test_a_wait_of_no_time_says_what_is_there(bus: Bus, seconds: float) -> None:
    async with bus.listen("tick") as ears:
        assert not await ears.wait(seconds)
        await bus.ring("tick")
        assert await ears.wait(SOON)
        await bus.ring("tick")
        await asyncio.sleep(0)
        assert await ears.wait(seconds)


async def test_a_cancelled_wait_takes_no_ring_away(bus: Bus) -> None:
    async with bus.listen("tick") as ears:
        waiting = asyncio.create_task(ears.wait(None))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await bus.ring("tick")
        assert await ears.wait(SOON)


async def test_one_who_stopped_listening_is_forgotten_and_others_are_not(bus: Bus) -> None:
    async with bus.listen("tick") as one:
        async with bus.listen("tick", "tick"):
            pass
        await bus.ring("tick")
        assert await one.wait(SOON)


async def test_to_ring_without_listeners_is_fine(bus: Bus) -> None:
    await bus.ring("nobody")
    async with bus.listen("somebody") as ears:
        await bus.ring("somebody")
        assert await ears.wait(SOON), "the bus goes on"


async def test_listening_may_end_by_an_exception(bus: Bus) -> None:
    with pytest.raises(ZeroDivisionError):
        async with bus.listen("tick"):
            raise ZeroDivisionError
    await bus.ring("tick")


async def test_timeouts_follow_the_clock_that_the_bus_was_given() -> None:
    clock = VirtualClock()
    bus = MemoryBus(clock)
    async with bus.listen("tick") as ears:
        waiting = asyncio.create_task(ears.wait(3600))
        await clock.advance(3599)
        assert not waiting.done()
        await clock.advance(1)
        assert await waiting is False
        waiting = asyncio.create_task(ears.wait(3600))
        await clock.advance(5)
        await bus.ring("tick")
        await clock.settle()
        assert waiting.done()
        assert await waiting is True
        assert clock.next_wake is None


class TestSeveralProcesses:
    """Buses between processes; each bus stands for a process."""

    @pytest.fixture(params=["sockets", "redis"])
    def one_more(
        self, request: pytest.FixtureRequest, tmp_path: Path
    ) -> Callable[[], AbstractAsyncContextManager[RedisBus | SocketBus]]:
        """Opens the bus of another process."""
        if request.param == "sockets":
            return lambda: opened_sockets(tmp_path / "bus")
        redis: RedisServer = request.getfixturevalue("redis")
        return lambda: opened(redis)

    async def test_a_ring_is_heard_in_the_other_process(self, one_more) -> None:
        async with (
            one_more() as one,
            one_more() as other,
            other.listen("run:7.1", "tick") as ears,
            other.listen("feed") as deaf,
        ):
            await one.ring("run:7.1")
            assert await ears.wait(SOON)
            assert not await deaf.wait(0.01)
            await one.ring("tick")
            assert await ears.wait(SOON)

    async def test_ones_own_ring_is_heard_once(self, one_more) -> None:
        async with (
            one_more() as one,
            one_more() as other,
            one.listen("tick") as ears,
            other.listen("tick", "feed") as others,
        ):
            await one.ring("tick")
            assert await ears.wait(0), "a ring in the same process needs no other process"
            assert await others.wait(SOON)
            await other.ring("feed")  # a round trip after which the echo of the first has come as well
            await one.ring("feed")
            assert await others.wait(SOON)
            assert not await ears.wait(0.05)

    async def test_the_last_ring_of_a_process_that_ends_is_sent(self, one_more) -> None:
        async with one_more() as other, other.listen("tick") as ears:
            async with one_more() as one:
                await one.ring("tick")
            assert await ears.wait(SOON)
