"""One address for two services, as a Service of Kubernetes is in front of replicas."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress


class Balancer:
    """Passes each connection to the first of the local ports that takes it."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._server: asyncio.Server | None = None
        self._pumps: set[asyncio.Task[None]] = set()
        self.port = 0

    async def open(self) -> None:
        """Listen where pods can reach it."""
        self._server = await asyncio.start_server(self._pass, "0.0.0.0", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Close it with all connections."""
        assert self._server is not None
        self._server.close()
        for pump in list(self._pumps):
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for port in self._ports:
            with suppress(OSError):
                there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
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
