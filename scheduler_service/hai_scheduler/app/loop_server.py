"""The HTTP server of the scheduling loop, which answers health checks and nothing else."""

from __future__ import annotations

import json
import logging
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from hai_client.waiting import BODY_S, IDLE_S
from hai_scheduler import __version__
from hai_scheduler.api.server.serving import ResilientServer
from hai_scheduler.app.listening import listen_at
from hai_scheduler.service.platform.health import Health
from hai_scheduler.service.platform.readiness import Readiness
from hai_scheduler.service.shared.errors import Unavailable

log = logging.getLogger(__name__)


class _Live(RequestHandler):
    def get(self) -> None:
        self.write({"status": "live"})


class _Ready(RequestHandler):
    def initialize(self, readiness: Readiness) -> None:
        self._readiness = readiness

    async def get(self) -> None:
        try:
            self.write({"status": "ready", "leader": await self._readiness.leader()})
        except Unavailable as error:
            self.set_status(503)
            self.set_header("Content-Type", "application/problem+json")
            self.finish(json.dumps({"title": "Service Unavailable", "status": 503, "detail": str(error)}))


class _Health(RequestHandler):
    def initialize(self, health: Health) -> None:
        self._health = health

    async def get(self) -> None:
        told = await self._health.look()
        silence = None if told.silence is None else told.silence.total_seconds()
        status = "ok" if told.wrong is None else "degraded"
        self.write({"status": status, "version": __version__, "last_tick_s": silence, "detail": told.wrong})


def listen(readiness: Readiness, health: Health, *, address: str, port: int) -> HTTPServer:
    """Serve `/health`, `/health/live` and `/health/ready` there; port 0 is any free port. Raises CannotListen."""
    handlers: list[Any] = [
        (r"/health/live", _Live),
        (r"/health/ready", _Ready, {"readiness": readiness}),
        (r"/health", _Health, {"health": health}),
    ]
    server = ResilientServer(
        Application(handlers, log_function=_say_nothing),
        body_timeout=BODY_S,
        idle_connection_timeout=IDLE_S,
        max_body_size=1024,
    )
    listen_at(server, address, port, setting="health-port")
    for listener in server._sockets.values():
        log.info("the loop tells its health at http://%s:%d/health", *listener.getsockname()[:2])
    return server


def _say_nothing(_: RequestHandler) -> None:
    """Log nothing: probes come every few seconds."""
