"""Limit how slowly a client may send a body or read an answer before its connection is closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import StreamReader, web

#: Seconds that a body may keep the proxy waiting in total, beside one second for each `BODY_BYTES_A_SECOND` bytes.
BODY_PATIENCE_S: Final = 30.0
#: Bytes for which a body gets one more second. No network on which notebooks are usable is that slow.
BODY_BYTES_A_SECOND: Final = 500
#: Seconds in which a client must read some of the answer. Browsers read at once, also for a page in the background.
TAKES_NOTHING_S: Final = 300.0


class TooSlow(Exception):
    """The client sends or reads too slowly."""


class Body:
    """The body of a request, to be sent to the server behind. Only time spent waiting for the client counts.

    Args:
        content: The body as it arrives.
        patience_s: Seconds to wait in total.
        bytes_a_second: Bytes for which the body gets one more second.
    """

    def __init__(
        self,
        content: StreamReader,
        *,
        patience_s: float = BODY_PATIENCE_S,
        bytes_a_second: float = BODY_BYTES_A_SECOND,
    ) -> None:
        self._content = content
        self._left_s = patience_s
        self._bytes_a_second = bytes_a_second
        #: Whether the client was too slow. aiohttp wraps the exception, so callers check this instead.
        self.was_too_slow = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the pieces of the body. Raises TooSlow."""
        clock = asyncio.get_running_loop().time
        while True:
            began = clock()
            try:
                async with asyncio.timeout(max(0.0, self._left_s)):
                    piece = await self._content.readany()
            except TimeoutError:
                self.was_too_slow = True
                raise TooSlow from None
            if not piece:
                return
            self._left_s += len(piece) / self._bytes_a_second - (clock() - began)
            yield piece


async def give(answer: web.StreamResponse, piece: bytes, *, patience_s: float = TAKES_NOTHING_S) -> None:
    """Send a piece of an answer. Raises TooSlow: the client reads nothing."""
    try:
        async with asyncio.timeout(patience_s):
            await answer.write(piece)
    except TimeoutError:
        raise TooSlow from None
