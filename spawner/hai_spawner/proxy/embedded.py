"""The proxy inside the Hub's process: one process less, and only Python packages to install."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from jupyterhub.proxy import Proxy
from traitlets import Float, Int, Unicode

from hai_client.waiting import IDLE_S
from hai_spawner.proxy.forwarding import HEADER_LIMIT, Forwarder
from hai_spawner.proxy.renewal import LOOK_S, Renewal
from hai_spawner.proxy.routes import ProxyRoute, RouteTable
from hai_spawner.proxy.site import GuardedSite, OneLineLog, heeding_bodies


async def _without_versions(_request: web.Request, answer: web.StreamResponse) -> None:
    """Remove the header `Server`, which tells the versions of aiohttp, tornado and Python."""
    answer.headers.pop("Server", None)


class EmbeddedProxy(Proxy):
    """A reverse proxy in the Hub's own event loop, for a Hub on one machine.

    It listens on the address of `JupyterHub.bind_url`, and on that of `https_ip` and `https_port` if there is one.
    Requests and answers are streamed, so server-sent events arrive as they are sent and uploads have no size limit. The
    connection of a client that sends its header or body too slowly is closed (`hai_client.waiting`,
    `hai_spawner.proxy.slowness`). When the Hub stops, open websockets are closed with it; on a cluster, where the Hub
    restarts while users work, the proxy is a pod of its own.
    """

    shutdown_timeout = Float(
        1.0, min=0.0, config=True, help="Seconds that open requests have to finish when the Hub stops."
    )

    https_ip = Unicode("", config=True, help="A second address to listen on, for HTTPS. Empty: all addresses.")
    https_port = Int(0, min=0, config=True, help="The port of that second address; 0: there is none.")
    https_certificate = Unicode("", config=True, help="File in PEM with the certificate of that address.")
    https_key = Unicode("", config=True, help="File in PEM with the private key of that certificate.")

    _renewing: asyncio.Task[None] | None = None
    _table: RouteTable | None = None
    _forwarder: Forwarder | None = None
    _runner: web.AppRunner | None = None

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._renewals: list[Renewal] = []

    @property
    def table(self) -> RouteTable:
        """The table of routes, made on first use."""
        if self._table is None:
            self._table = RouteTable(by_host=bool(self.host_routing))
        return self._table

    async def start(self) -> None:
        """Listen on the configured address. Raises OSError: the address is in use or not of this machine."""
        address = urlsplit(self.public_url)
        believed = frozenset(getattr(self.app, "trusted_downstream_ips", ()))
        self._forwarder = Forwarder(self.table, self.log, error_url=self._hub_error_url(), believed=believed)
        app = web.Application()
        # Every path, also one with a line break in it, which `.` would leave to aiohttp's own plain 404.
        app.router.add_route("*", r"/{path:[\s\S]*}", heeding_bodies(self._forwarder.handle, self.log))
        app.on_response_prepare.append(_without_versions)
        connection = {
            "access_log": None,
            "auto_decompress": False,
            "keepalive_timeout": IDLE_S,
            "logger": OneLineLog(self.log),
            "max_field_size": HEADER_LIMIT,
            "max_line_size": HEADER_LIMIT,
        }
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=self.shutdown_timeout)
        await self._runner.setup()
        port = address.port or (443 if address.scheme == "https" else 80)
        places = [(address.hostname, port, self.ssl_cert, self.ssl_key or self.ssl_cert)]
        if self.https_port:
            places.append((self.https_ip or None, self.https_port, self.https_certificate, self.https_key))
        try:
            for host, port, certificate, key in places:
                await self._listen(host, port, connection, certificate, key)
        except (OSError, ValueError):
            await self.stop()
            raise
        self.log.info("The proxy inside the Hub listens on %s", self.public_url)

    async def _listen(
        self, host: str | None, port: int, connection: dict[str, Any], certificate: str, key: str
    ) -> None:
        """Listen on an address, with TLS if there is a certificate, which may be renewed while it is in use."""
        assert self._runner is not None
        renewal = Renewal(Path(certificate), Path(key), self.log) if certificate else None
        context = None if renewal is None else renewal.context
        site = GuardedSite(self._runner, host, port, self.log, connection=connection, ssl_context=context)
        await site.start()
        if renewal is not None:
            renewal.renewed.append(site.renew)
            self._renewals.append(renewal)
            if self._renewing is None:
                self._renewing = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for renewal in self._renewals:
                renewal.look()

    async def stop(self) -> None:
        """Stop listening, end open requests, and close connections to the servers behind."""
        if self._renewing is not None:
            self._renewing.cancel()
            self._renewing = None
        self._renewals.clear()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        if self._forwarder is not None:
            await self._forwarder.close()
            self._forwarder = None

    async def add_route(self, routespec: str, target: str, data: dict[str, Any]) -> None:
        """Send requests below `routespec` to `target`."""
        self.table.add(ProxyRoute(self.validate_routespec(routespec), target, data))

    async def delete_route(self, routespec: str) -> None:
        """Remove a route; no error if there is none."""
        self.table.remove(self.validate_routespec(routespec))

    async def get_all_routes(self) -> dict[str, dict[str, Any]]:
        """Return all routes in JupyterHub's form, by routespec."""
        return {
            route.routespec: {"routespec": route.routespec, "target": route.target, "data": dict(route.data)}
            for route in self.table.all()
        }

    def _hub_error_url(self) -> str | None:
        hub_url = str(self.hub.url) if self.hub is not None else ""
        return hub_url.rstrip("/") + "/error" if hub_url.startswith(("http://", "https://")) else None
