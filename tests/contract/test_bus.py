"""What every bus promises (hai_scheduler/ports.py, Bus and Ears), on every adapter."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from hai_scheduler.adapters.memory.bus import MemoryBus
from hai_scheduler.adapters.memory.clock import VirtualClock
from hai_scheduler.adapters.redis.bus import MOST_UNSENT, SILENCE, RedisBus, open_bus
from hai_scheduler.ports import Bus, Ears
from redis_server import RedisServer

#: Seconds: longer than any ring takes, on the slowest machine.
SOON = 10.0


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@asynccontextmanager
async def opened(server: RedisServer, silence: float = SILENCE) -> AsyncIterator[RedisBus]:
    """The bus of one process, connected."""
    bus = await open_bus(server.url, MemoryBus(), silence=silence)
    try:
        assert await bus.wait_until_listening(SOON)
        yield bus
    finally:
        await bus.close()


@pytest.fixture(params=["memory", "redis"])
async def bus(request: pytest.FixtureRequest, redis: RedisServer) -> AsyncIterator[Bus]:
    if request.param == "memory":
        yield MemoryBus()
        return
    async with opened(redis) as bus:
        yield bus


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


class TestSeveralProcesses:
    """What only a bus between processes can show: each bus stands for a process."""

    @pytest.fixture
    async def pair(self, redis: RedisServer) -> AsyncIterator[tuple[RedisBus, RedisBus]]:
        async with opened(redis) as one, opened(redis) as other:
            yield one, other

    async def test_a_ring_is_heard_in_the_other_process(self, pair: tuple[RedisBus, RedisBus]) -> None:
        one, other = pair
        async with other.listen("run:7.1", "tick") as ears, other.listen("feed") as deaf:
            await one.ring("run:7.1")
            assert await ears.wait(SOON)
            assert not await deaf.wait(0.01)
            await one.ring("tick")
            assert await ears.wait(SOON)

    async def test_ones_own_ring_is_heard_once(self, pair: tuple[RedisBus, RedisBus]) -> None:
        one, other = pair
        async with one.listen("tick") as ears, other.listen("tick", "feed") as others:
            await one.ring("tick")
            assert await ears.wait(0), "it needs no Redis"
            assert await others.wait(SOON)
            await other.ring("feed")  # a round trip after which the echo of the first has come as well
            await one.ring("feed")
            assert await others.wait(SOON)
            assert not await ears.wait(0.05)

    async def test_the_last_ring_of_a_process_that_ends_is_sent(self, redis: RedisServer) -> None:
        async with opened(redis) as other, other.listen("tick") as ears:
            async with opened(redis) as one:
                await one.ring("tick")
            assert await ears.wait(SOON)

    async def test_what_somebody_else_puts_on_the_channel_harms_nobody(
        self, redis: RedisServer, pair: tuple[RedisBus, RedisBus]
    ) -> None:
        one, other = pair
        async with other.listen("tick") as ears:
            for rubbish in (b"", b"\xff\x00", b"word", b"a b c"):
                await one._client.publish(one._channel, rubbish)
            await one.ring("tick")
            assert await ears.wait(SOON)


class TestAnUnreliableRedis:
    """Its loss costs latency, and nothing else."""

    @pytest.fixture
    def own(self) -> Iterator[RedisServer]:
        server = RedisServer(password="s3cret-of-redis")
        try:
            server.start()
            yield server
        finally:
            server.remove()

    async def heard(self, ears: Ears) -> None:
        """Take what has been rung by now."""
        while await ears.wait(0.05):
            pass

    async def test_after_it_was_killed_and_started_again_rings_are_heard_again(self, own: RedisServer) -> None:
        async with opened(own) as one, opened(own) as other, other.listen("tick") as ears:
            own.kill()
            own.start()
            assert await ears.wait(SOON), "who could not listen is woken: he may have missed a ring"
            assert await one.wait_until_listening(SOON)
            await self.heard(ears)
            await one.ring("tick")
            assert await ears.wait(SOON)

    async def test_a_ring_while_it_is_away_is_heard_here_at_once_and_there_later(self, own: RedisServer) -> None:
        async with opened(own) as one, opened(own) as other:
            own.kill()
            async with one.listen("tick") as near, other.listen("tick") as far:
                await one.ring("tick")
                assert await near.wait(0)
                assert not await far.wait(0.05)
                own.start()
                assert await far.wait(SOON)

    async def test_a_ring_does_not_wait_for_a_redis_that_hangs(self, own: RedisServer) -> None:
        async with opened(own) as one, opened(own) as other, one.listen("tick") as near, other.listen("tick") as far:
            own.send(signal.SIGSTOP)
            async with asyncio.timeout(1):
                await one.ring("tick")
                assert await near.wait(1)
            own.send(signal.SIGCONT)
            assert await far.wait(SOON)

    async def test_a_redis_that_hangs_for_good_is_left_and_found_again(self, own: RedisServer) -> None:
        async with opened(own, silence=0.2) as bus:
            own.send(signal.SIGSTOP)
            async with asyncio.timeout(SOON):
                while bus._listening.is_set():  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            own.send(signal.SIGCONT)
            assert await bus.wait_until_listening(SOON)

    async def test_what_is_kept_for_it_is_bounded_and_loses_no_listener(self, own: RedisServer) -> None:
        async with opened(own) as one, opened(own) as other:
            own.kill()
            for number in range(MOST_UNSENT + 10):
                await one.ring(f"run:{number}.1")
            assert len(one._unsent) <= MOST_UNSENT
            async with other.listen("run:3.1") as ears:
                own.start()
                assert await ears.wait(SOON)

    async def test_it_need_not_be_there_at_the_start(self, own: RedisServer) -> None:
        own.kill()
        bus = await open_bus(own.url, MemoryBus())
        async with bus.listen("tick") as ears:
            await bus.ring("tick")
            assert await ears.wait(0)
            assert not await bus.wait_until_listening(0.2)
            own.start()
            assert await bus.wait_until_listening(SOON)
        await bus.close()

    async def test_it_ends_in_time_while_redis_hangs(self, own: RedisServer) -> None:
        bus = await open_bus(own.url, MemoryBus())
        assert await bus.wait_until_listening(SOON)
        own.send(signal.SIGSTOP)
        await bus.ring("tick")
        async with asyncio.timeout(5):
            await bus.close()
        own.send(signal.SIGCONT)

    async def test_a_trouble_is_logged_once_and_without_the_password(
        self, own: RedisServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "hai_scheduler")
        wrong = await open_bus(own.url.replace("s3cret-of", "wr0ng-s3cret-of"), MemoryBus())
        async with asyncio.timeout(SOON):
            while not wrong._troubles:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert not await wrong.wait_until_listening(1)
        await wrong.ring("tick")
        await wrong.close()
        assert 1 <= len(caplog.records) <= 2, "one for each direction"
        assert "s3cret" not in caplog.text
        assert "s3cret" not in repr(wrong) + repr(vars(wrong)["_troubles"])


@pytest.mark.parametrize(
    "url", ["", "http://:s3cret@h/0", "redis://:s3cret@h:port/0", "redis://h/0?socket_timeout=s3cret"]
)
async def test_what_is_no_address_of_a_redis_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ValueError, match="redis://HOST:6379/0") as caught:
        await open_bus(url, MemoryBus())
    assert "s3cret" not in str(caught.value)
    assert caught.value.__suppress_context__
