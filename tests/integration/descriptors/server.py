"""A server of the platform with few file descriptors: `server.py service|proxy|hub LIMIT`. Prints its port."""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
from pathlib import Path

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

LIMIT = int(sys.argv[2])


class Hello(RequestHandler):
    async def get(self) -> None:
        if self.request.path == "/hold":
            # Like a long poll: being served, so nothing that may be closed for others.
            await asyncio.Event().wait()
        # The service's own files must be had, too, however many clients there are.
        self.write(Path("/proc/self/stat").read_text()[:1])  # noqa: ASYNC240  # it is no real file


async def main(kind: str) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
    app = Application([(r"/.*", Hello)])
    if kind == "service":
        from hai_scheduler.api.application import make_server

        server: HTTPServer = make_server(app)
    else:
        # The proxy is in the Hub's process.
        from hai_hub.config.hub_process import prepare_hub

        prepare_hub()
        server = HTTPServer(app)
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    port = sockets[0].getsockname()[1]
    if kind == "proxy":
        from hai_spawner.proxy.embedded import EmbeddedProxy

        with bind_sockets(0, "127.0.0.1")[0] as probe:
            free = probe.getsockname()[1]
        proxy = EmbeddedProxy(public_url=f"http://127.0.0.1:{free}", hub=None, host_routing=False)
        await proxy.start()
        await proxy.add_route("/", f"http://127.0.0.1:{port}", {"hub": True})
        port = free
    print(port, flush=True)
    await asyncio.Event().wait()


logging.basicConfig(level=logging.INFO, stream=sys.stderr)
# A line for each request is none of what is counted.
logging.getLogger("tornado.access").setLevel(logging.WARNING)
asyncio.run(main(sys.argv[1]))
