"""A local TCP proxy that can be shut."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Passage:
    """Passes each connection to the first of the addresses that takes it."""

    def __init__(self, *to: tuple[str, int], listen: str = "127.0.0.1") -> None:
        self._to = to
        self._listen = listen
        self._server: asyncio.Server | None = None
        self._pumps: set[asyncio.Task[None]] = set()
        self.port = 0

    async def open(self) -> None:
        """Listen; every time on the same port."""
        self._server = await asyncio.start_server(self._pass, self._listen, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def shut(self) -> None:
        """Take no more connections, and close the open ones."""
        assert self._server is not None
        self._server.close()
        for pump in list(self._pumps):
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for host, port in self._to:
            with suppress(OSError):
                there_reader, there_writer = await asyncio.open_connection(host, port)
                break
        else:
            writer.close()
            return
        for source, sink in ((reader, there_writer), (there_reader, writer)):
            pump = asyncio.create_task(self._pump(source, sink))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    @staticmethod
    async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        except OSError:
            return
        finally:
            sink.close()
