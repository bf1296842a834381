"""A proxy on loopback, with a Hub and servers behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import aiohttp
from aiohttp import web

from hai_spawner.proxy.embedded import EmbeddedProxy
from kit.ports import free_port

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def serve(**handlers: Handler) -> tuple[web.AppRunner, str]:
    app = web.Application(client_max_size=0)
    for name, handler in handlers.items():
        app.router.add_route("*", f"/{name}", handler)
        app.router.add_route("*", f"/{name}/{{rest:[\\s\\S]*}}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1, auto_decompress=False, handler_cancellation=True)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    return runner, f"http://127.0.0.1:{port}"


class World:
    """A proxy whose root is a Hub that makes error pages, a client, and servers by name."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.proxy: EmbeddedProxy
        self.client: aiohttp.ClientSession
        self._runners: list[web.AppRunner] = []

    async def start(self) -> None:
        async def page(request: web.Request) -> web.Response:
            where = request.query.get("url")
            return web.Response(text=f"<h1>page for {request.match_info.get('rest')} {where}</h1>")

        runner, hub = await serve(hub=page)
        self._runners.append(runner)
        self.proxy = EmbeddedProxy(public_url=self.url, hub=SimpleNamespace(url=hub + "/hub/"), host_routing=False)
        await self.proxy.start()
        await self.proxy.add_route("/", hub, {"hub": True})
        self.client = aiohttp.ClientSession(auto_decompress=False)

    async def server(self, **handlers: Handler) -> str:
        runner, url = await serve(**handlers)
        self._runners.append(runner)
        for name in handlers:
            await self.proxy.add_route(f"/{name}/", url, {})
        return url

    async def stop(self) -> None:
        await self.client.close()
        await self.proxy.stop()
        for runner in self._runners:
            await runner.cleanup()
