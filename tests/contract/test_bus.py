"""What every bus promises (hai_scheduler/ports.py, Bus and Ears), on every adapter."""

from __future__ import annotations

import asyncio

import pytest

from hai_scheduler.adapters.memory.bus import MemoryBus
from hai_scheduler.adapters.memory.clock import VirtualClock
from hai_scheduler.ports import Bus

#: Seconds: longer than any ring takes, on the slowest machine.
SOON = 10.0


@pytest.fixture(params=["memory"])
def bus(request: pytest.FixtureRequest) -> Bus:
    return MemoryBus()


async def test_a_ring_wakes_everybody_who_listens_to_the_topic(bus: Bus) -> None:
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


async def test_to_ring_where_nobody_listens_is_fine(bus: Bus) -> None:
    await bus.ring("nobody")


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
