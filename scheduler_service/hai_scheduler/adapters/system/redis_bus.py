"""The bus of several processes: each ring reaches this process at once, and the others through Redis."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import RedisError

from hai_scheduler.adapters.system.relayed_bus import ALL, RelayedBus
from hai_scheduler.ports.bus import Bus

log = logging.getLogger(__name__)

#: Default of `RedisBus.silence`, in seconds.
SILENCE: Final = 5.0
#: Seconds that a connection or an answer may take.
PATIENCE: Final = 5.0
#: Seconds between attempts to reach Redis again: the first pause, and the longest.
PAUSES: Final = (0.1, 2.0)
#: Seconds for sending the last rings when the service ends.
FAREWELL: Final = 1.0
#: Topics that wait to be rung while Redis is away; with more, all topics are rung when it is back.
MOST_UNSENT: Final = 1000


class RedisBus(RelayedBus):
    """A bus over publish and subscribe of Redis, on one channel; `open_bus` creates it.

    A ring is never waited for and never fails. Rings that could not be sent are sent when Redis is back. Listeners that
    were cut off meanwhile are woken once for all rings that they may have missed. So without Redis only latency grows.

    Args:
        client: A client for this bus alone; `close` closes it.
        here: The bus of this process.
        silence: Seconds after which a silent Redis gets a ping; without an answer after as many more, the connection
            is given up.
    """

    def __init__(self, client: Redis, here: Bus, *, silence: float = SILENCE) -> None:
        super().__init__(here)
        self._client = client
        self._silence = silence
        #: Redis' channels are shared by its databases, so the channel's name holds the number of the database.
        self._channel = f"hai:rings:{client.connection_pool.connection_kwargs.get('db') or 0}"
        #: Marks the rings of this process, which it ignores when they come back from Redis.
        self._me = secrets.token_hex(8)
        self._unsent: dict[str, None] = {}
        self._to_send = asyncio.Event()
        self._listening = asyncio.Event()
        self._troubles: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to listen and to send, in tasks of the running loop."""
        works = (("listening to", self._hear), ("ringing", self._send))
        self._tasks = [asyncio.create_task(self._for_ever(name, work)) for name, work in works]

    async def wait_until_listening(self, seconds: float) -> bool:
        """Wait for the connection, at most `seconds`. Returns whether it is there: then all later rings are heard."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._listening.wait()
        return self._listening.is_set()

    async def ring(self, topic: str) -> None:
        """Wake all listeners to the topic, here and in other processes. Never raises, never waits for Redis."""
        await self._here.ring(topic)
        if len(self._unsent) < MOST_UNSENT:
            self._unsent[topic] = None
        else:
            self._unsent = {ALL: None}
        self._to_send.set()

    async def close(self) -> None:
        """Send the last rings, if Redis takes them within a second, and close the connections. Never raises."""
        # An answer that comes at the same moment can swallow a cancellation.
        while left := [task for task in self._tasks if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=0.1)
        self._tasks = []
        with suppress(RedisError, OSError, TimeoutError):
            async with asyncio.timeout(FAREWELL):
                await self._publish()
        with suppress(RedisError, OSError):
            await self._client.aclose()

    # -- in the background ------------------------------------------------------------------------

    async def _for_ever(self, name: str, work: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
        """Do the work again and again, also after errors. The work calls its argument when it succeeds."""
        pause = PAUSES[0]

        def well() -> None:
            nonlocal pause
            pause = PAUSES[0]
            if self._troubles.pop(name, None) is not None:
                log.info("%s the other replicas through Redis goes well again", name)

        while True:
            try:
                await work(well)
            except (RedisError, OSError, TimeoutError) as error:
                self._tell(name, str(error) or type(error).__name__)
            except Exception:
                log.exception("%s the other replicas through Redis failed and starts again", name)
            await asyncio.sleep(pause)
            pause = min(PAUSES[1], pause * 2)

    def _tell(self, name: str, trouble: str) -> None:
        """Log an error once, until the work succeeds again."""
        if self._troubles.get(name) != trouble:
            self._troubles[name] = trouble
            log.warning(
                "%s the other replicas through Redis is tried again, all is slower meanwhile: %s", name, trouble
            )

    async def _hear(self, well: Callable[[], None]) -> None:
        """Pass on the rings of other processes, until the connection breaks."""
        async with self._client.pubsub() as ears:
            await ears.subscribe(self._channel)
            asked = False
            try:
                while True:
                    message = await ears.get_message(timeout=self._silence)
                    if message is not None:
                        asked = False
                        await self._take(message, well)
                    elif asked:
                        raise Disconnected("it does not answer")
                    else:
                        asked = True
                        await ears.ping()
            finally:
                self._listening.clear()

    async def _take(self, message: dict[str, Any], well: Callable[[], None]) -> None:
        if message["type"] == "subscribe":
            well()
            self._listening.set()
            await self._ring_here(ALL)
        elif message["type"] == "message":
            sender, _, topic = bytes(message["data"]).decode(errors="replace").partition(" ")
            if sender != self._me:
                await self._ring_here(topic)

    async def _send(self, well: Callable[[], None]) -> None:
        """Send the rings of this process, until the connection breaks."""
        while True:
            await self._to_send.wait()
            await self._publish()
            well()

    async def _publish(self) -> None:
        self._to_send.clear()
        topics, self._unsent = self._unsent, {}
        if not topics:
            return
        try:
            pipeline = self._client.pipeline(transaction=False)
            for topic in topics:
                pipeline.publish(self._channel, f"{self._me} {topic}")
            await pipeline.execute()
        except BaseException:
            self._unsent = {**topics, **self._unsent}
            self._to_send.set()
            raise


async def open_bus(url: str, here: Bus, *, silence: float = SILENCE) -> RedisBus:
    """Return a started bus over the Redis at the URL, which need not answer yet.

    Args:
        url: `redis://:PASSWORD@HOST:PORT/DB`, `rediss://...` for TLS, or `unix://PATH`.
        here: The bus of this process.
        silence: See `RedisBus`.

    Raises:
        ValueError: It is not a URL of a Redis; the message does not show it, because it may hold a password.
    """
    try:
        client = Redis.from_url(
            url,
            retry=Retry(NoBackoff(), 0),
            socket_connect_timeout=PATIENCE,
            socket_timeout=PATIENCE,
        )
    except (ValueError, TypeError):
        raise ValueError(
            "the address of Redis is none: write redis://HOST:6379/0, rediss://HOST:6379/0 or unix:///PATH"
        ) from None
    bus = RedisBus(client, here, silence=silence)
    bus.start()
    return bus
