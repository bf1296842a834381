"""A proxy for HTTP and HTTPS, as companies have one, which notes what it was asked for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Proxy:
    """Where it listens, where hosts are (`HOST:PORT`, to a port of this machine), and what it was asked for."""

    address: str
    places: Mapping[str, int]
    asked: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
            url = urlsplit(target)
            place = target if method == "CONNECT" else f"{url.hostname}:{url.port or 80}"
            self.asked.append(place)
            if place not in self.places:
                writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            back, forth = await asyncio.open_connection("127.0.0.1", self.places[place])
            with contextlib.closing(forth):
                if method == "CONNECT":
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    forth.write(head.replace(target.encode(), url.path.encode() or b"/", 1))
                await asyncio.gather(_copy(reader, forth), _copy(back, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def proxying(places: Mapping[str, int]) -> AsyncIterator[Proxy]:
    """Run a proxy that reaches these places and no other."""
    made = Proxy("", places)
    connections: set[asyncio.Task[None]] = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.ensure_future(made.serve(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    made.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        # The transports close in the next turn of the loop.
        await asyncio.sleep(0)
