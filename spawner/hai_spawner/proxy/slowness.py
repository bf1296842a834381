"""How slowly a client may send a body or take an answer before it is cut off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import StreamReader, web

#: Seconds that a body may keep the proxy waiting altogether, beside those that its bytes earn.
BODY_PATIENCE_S: Final = 30.0
#: Bytes that earn a second more. Slower than any line on which somebody would use a notebook.
BODY_BYTES_A_SECOND: Final = 500
#: Seconds in which a client must take something of what is held for it. A page in the background takes at once.
TAKES_NOTHING_S: Final = 300.0


class TooSlow(Exception):
    """The client keeps a connection and hardly uses it."""


class Body:
    """The body of a request as the server behind is to get it. Only the time spent on waiting for the client counts.

    Args:
        content: What arrives.
        patience_s: Seconds to wait altogether.
        bytes_a_second: Bytes that earn one more.
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
        #: Whether the client was too slow: what is raised is wrapped by whoever sends it on.
        self.was_too_slow = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Its pieces. Raises TooSlow."""
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
    """Send a piece of an answer.

    Raises:
        TooSlow: The client takes nothing.
    """
    try:
        async with asyncio.timeout(patience_s):
            await answer.write(piece)
    except TimeoutError:
        raise TooSlow from None
