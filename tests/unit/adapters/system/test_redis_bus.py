"""The bus between replicas: a loss of Redis costs latency, and nothing else."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Iterator

import pytest

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.adapters.system.redis_bus import MOST_UNSENT, PATIENCE, RedisBus, open_bus
from hai_scheduler.ports.bus import Subscription
from kit.buses import SOON, opened
from kit.redis_server import RedisServer


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


class TestRedisChannel:
    """The messages on the channel of Redis."""

    @pytest.fixture
    async def pair(self, redis: RedisServer) -> AsyncIterator[tuple[RedisBus, RedisBus]]:
        async with opened(redis) as one, opened(redis) as other:
            yield one, other

    async def test_what_another_program_puts_on_the_channel_does_no_harm(
        self, redis: RedisServer, pair: tuple[RedisBus, RedisBus]
    ) -> None:
        one, other = pair
        async with other.listen("tick") as ears:
            for rubbish in (b"", b"\xff\x00", b"word", b"a b c"):
                await one._client.publish(one._channel, rubbish)
            await one.ring("tick")
            assert await ears.wait(SOON)


class TestAnUnreliableRedis:
    """A loss of Redis costs latency, and nothing else."""

    @pytest.fixture
    def own(self) -> Iterator[RedisServer]:
        server = RedisServer(password="s3cret-of-redis")
        try:
            server.start()
            yield server
        finally:
            server.remove()

    async def heard(self, ears: Subscription) -> None:
        """Take all rings that have arrived by now."""
        while await ears.wait(0.05):
            pass

    async def test_after_it_was_killed_and_started_again_rings_are_heard_again(self, own: RedisServer) -> None:
        async with opened(own) as one, opened(own) as other, other.listen("tick") as ears:
            own.kill()
            own.start()
            assert await ears.wait(SOON), "a listener without a connection is woken: it may have missed a ring"
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
            # A ring that waited for Redis would take PATIENCE.
            async with asyncio.timeout(PATIENCE / 2):
                await one.ring("tick")
                assert await near.wait(SOON)
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
