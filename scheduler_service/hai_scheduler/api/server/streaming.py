"""Sends a stream of server-sent events to its reader, as fast as both may."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final

from tornado.iostream import StreamClosedError
from tornado.web import RequestHandler

from hai_scheduler.api.server.limits import Pass
from hai_scheduler.api.server.route import Stream
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.effort import Effort

#: After this time without messages a stream sends a comment, in seconds, so that proxies keep it open.
KEEP_ALIVE: Final = 15.0
#: A reader that reads nothing for this time, in seconds, is disconnected.
STALLED: Final = 60.0
#: A stream ends after this time, in seconds, so that rights are checked again; clients resume it.
STREAM_LIFE: Final = 3600.0
#: How often a stream asks whether its reader may still read it, in seconds. The Hub's answer is kept for
#: `auth.BELIEVED` seconds, so a revoked token works for the sum of both at most.
LOOKS_AGAIN: Final = 10.0
#: The longest pause at a time of an answer that sends too much, in seconds: less than KEEP_ALIVE.
LONGEST_LAG: Final = 5.0


class StreamSender:
    """Sends one stream: a batch is made only when the last was sent, and only for a reader who may still read it.

    Args:
        handler: The handler of the request.
        place: The stream's place in the budget of its reader; None: it is not limited.
        effort: The work of the request.
        clock: The clock.
        still_may: Tells whether the reader may still read; may raise Refused.
    """

    def __init__(
        self,
        handler: RequestHandler,
        place: Pass | None,
        effort: Effort,
        clock: Clock,
        still_may: Callable[[], Awaitable[bool]],
    ) -> None:
        self._handler = handler
        self._place = place
        self._effort = effort
        self._clock = clock
        self._still_may = still_may

    async def send(self, stream: Stream) -> None:
        """Send batch after batch, which limits the memory used, until the stream or the right to read it ends.

        Raises:
            Refused: the stream refuses the request with its first batch, or the reader has lost the right to read.
            StreamClosedError: the reader has gone, or does not read.
        """
        handler = self._handler
        began = looked = time.monotonic()
        async with aclosing(stream.batches) as batches:
            sent = 0.0
            async for batch in batches:  # the first may still refuse the request: nothing has been sent
                now = time.monotonic()
                if not handler._headers_written:
                    handler.set_header("Content-Type", "text/event-stream")
                    handler.set_header("X-Accel-Buffering", "no")
                text = batch if isinstance(batch, bytes) else "".join(message.encode() for message in batch)
                if text or now - sent >= KEEP_ALIVE:
                    handler.write(text or ": keep-alive\n\n")
                    await flush_in_time(handler)
                    sent = now
                    await slow_down(self._place, self._effort, self._clock, len(text))
                if now >= began + STREAM_LIFE:
                    return
                if now >= looked + LOOKS_AGAIN:
                    looked = now
                    if not await self._still_may():
                        return


async def slow_down(place: Pass | None, effort: Effort, clock: Clock, size: int) -> None:
    """Charge what was sent, and wait if the user is sent too much a second; meanwhile nothing more is made.

    Args:
        place: The place of the request in the budget of its user; None: it is not limited.
        effort: The work of the request.
        clock: The clock.
        size: How much was sent, in bytes.
    """
    if place is not None:
        place.charge_size(size)
        place.charge_work(effort.take())
        if (lag := place.lag) > 0:
            await clock.sleep(min(lag, LONGEST_LAG))


async def flush_in_time(handler: RequestHandler) -> None:
    """Wait until the reader has read what was written. Raises StreamClosedError if that takes too long."""
    try:
        async with asyncio.timeout(STALLED):
            await handler.flush()
    except TimeoutError:
        cut_off(handler)
        raise StreamClosedError from None


def cut_off(handler: RequestHandler) -> None:
    """Close the connection in the middle of an answer."""
    connection: Any = handler.request.connection
    connection.stream.close()
