"""The contract of a bus (hai_scheduler/ports, Bus and Ears), on every adapter."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from hai_scheduler.adapters.memory.clock import VirtualClock
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.adapters.system.redis_bus import MOST_UNSENT, PATIENCE, SILENCE, RedisBus, open_bus
from hai_scheduler.adapters.system.socket_bus import MOST_UNSENT as MOST_UNSENT_DATAGRAMS
from hai_scheduler.adapters.system.socket_bus import SocketBus
from hai_scheduler.adapters.system.socket_bus import open_bus as open_socket_bus
from hai_scheduler.ports.bus import Bus, Subscription
from kit.redis_server import RedisServer

#: Seconds; longer than any ring takes on the slowest machine.
SOON = 60.0


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


@asynccontextmanager
async def opened_sockets(folder: Path) -> AsyncIterator[SocketBus]:
    """The bus of one process of a machine."""
    bus = await open_socket_bus(folder, MemoryBus())
    try:
        yield bus
    finally:
        await bus.close()


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


class TestSocketsOfAMachine:
    """Dead processes, slow processes and strangers do not disturb the others."""

    async def test_the_folder_and_a_long_path_to_it_are_for_the_owner_alone(self, tmp_path: Path) -> None:
        folder = tmp_path / ("long" * 40) / "bus"
        assert len(str(folder)) > 150, "longer than the name of a socket may be"
        async with opened_sockets(folder) as one, opened_sockets(folder) as other, other.listen("tick") as ears:
            assert folder.stat().st_mode & 0o777 == 0o700
            await one.ring("tick")
            assert await ears.wait(SOON)
        assert list(folder.iterdir()) == [], "who ends in order leaves nothing"

    async def test_the_socket_of_a_dead_process_is_swept(self, tmp_path: Path) -> None:
        folder = tmp_path / "bus"
        async with opened_sockets(folder) as one, opened_sockets(folder) as other, other.listen("tick") as ears:
            dead = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            dead.bind(str(folder / "999999-dead.sock"))
            dead.close()
            assert len(list(folder.iterdir())) == 3
            await one.ring("tick")
            assert await ears.wait(SOON)
            assert len(list(folder.iterdir())) == 2

    async def test_a_process_that_does_not_listen_delays_no_other_and_hears_everything_later(
        self, tmp_path: Path
    ) -> None:
        folder = tmp_path / "bus"
        async with opened_sockets(folder) as one, opened_sockets(folder) as quick, quick.listen("last") as ears:
            slow = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            slow.setblocking(False)
            slow.bind(str(folder / "1-slow.sock"))
            try:
                for number in range(3000):
                    await one.ring(f"run:{number}.1")
                    await asyncio.sleep(0)  # each message goes out by itself
                assert sum(map(len, one._late.values())) <= MOST_UNSENT_DATAGRAMS
                async with asyncio.timeout(SOON):
                    await one.ring("last")
                    assert await ears.wait(SOON)
                heard = set()
                async with asyncio.timeout(SOON):
                    while "*" not in heard:
                        try:
                            heard |= set(slow.recv(65536).decode().split("\n"))
                        except BlockingIOError:
                            await asyncio.sleep(0.01)
                assert "run:0.1" in heard
            finally:
                slow.close()

    async def test_a_ring_for_everything_wakes_every_listener(self, tmp_path: Path) -> None:
        folder = tmp_path / "bus"
        async with opened_sockets(folder) as one, opened_sockets(folder) as other, other.listen("run:3.1") as ears:
            for number in range(MOST_UNSENT_DATAGRAMS + 10):
                await one.ring(f"run:{number + 100}.1")
            assert await ears.wait(SOON), "too many for one datagram: it stands for all topics"

    async def test_rubbish_does_no_harm(self, tmp_path: Path) -> None:
        folder = tmp_path / "bus"
        async with opened_sockets(folder) as one, opened_sockets(folder) as other, other.listen("tick") as ears:
            stranger = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            for rubbish in (b"", b"\xff\x00", b"\n\n", b"word" * 100):
                stranger.sendto(rubbish, str(folder / other._name))
            stranger.close()
            (folder / "no-socket.sock").write_text("")
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
