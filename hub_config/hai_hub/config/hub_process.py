"""Prepare the Hub's own process: open files, slow clients, services that start or hang, and errors of its database.

Like `service_process`, this changes internals of JupyterHub and tornado, which have no settings for these things.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, Final

import tornado.tcpserver
from jupyterhub import handlers
from jupyterhub.handlers.base import PrefixRedirectHandler
from jupyterhub.objects import Server
from tornado.httpserver import HTTPServer

from hai_client.accepting import RETRY_AFTER_S, accept_handler, raise_file_limit
from hai_client.waiting import BODY_S, IDLE_S, HeedsWaiting
from hai_hub.config.database_errors import tell_database_errors
from hai_hub.config.settings import SERVICE_NAME

log = logging.getLogger("hai_hub")

_ABSENT: Final = {
    "type": "about:blank",
    "title": "Service Unavailable",
    "status": 503,
    "detail": "The scheduler service is starting: try again in a moment.",
    "code": "restarting",
}


#: For tornado's server. It holds a body whole, before it knows whose it is; no form or API of the Hub needs so much.
_LIMITS: Final = {"idle_connection_timeout": IDLE_S, "body_timeout": BODY_S, "max_body_size": 1024 * 1024}


class AbsentService(PrefixRedirectHandler):
    """Answers 503 for the scheduler service while the proxy has no route to it.

    A request that no route of the proxy matches arrives at the Hub, which redirects it to one of its own pages. A
    program would understand that redirect as "not found", although the scheduler service is only starting.
    """

    async def prepare(self) -> None:
        """Answer requests for the scheduler service with 503; leave all others to JupyterHub."""
        if not self.request.path.startswith(f"{self.base_url}services/{SERVICE_NAME}/"):
            await super().prepare()
            return
        self.set_status(503)
        self.set_header("Content-Type", "application/problem+json")
        self.set_header("Retry-After", str(RETRY_AFTER_S))
        self.finish(json.dumps(_ABSENT))


class HubServer(HeedsWaiting, HTTPServer):
    """The Hub's own HTTP server. It closes connections of slow clients, as every local process can reach it."""

    waiting_log = log

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Add the limits to the arguments that JupyterHub has chosen; tornado calls this."""
        super().initialize(*args, **(_LIMITS | kwargs))


_wait_up = Server.wait_up


async def wait_up(self: Server, timeout: float = 10, **given: Any) -> Any:  # noqa: ASYNC109  # it is JupyterHub's
    """Wait for a server as JupyterHub does, but never longer than `timeout` seconds. Raises TimeoutError.

    JupyterHub ends no single try: it waits minutes for a process that is stopped, whose port still takes connections.
    """
    async with asyncio.timeout(timeout):
        return await _wait_up(self, timeout=timeout, **given)


def prepare_hub() -> None:
    """Prepare this Hub process: more open files, and what this module and `database_errors` have."""
    before, now = raise_file_limit()
    if now != before:
        log.info("The limit of open files was raised from %d to %d", before, now)
    setattr(tornado.tcpserver, "add_accept_handler", accept_handler(log))  # noqa: B010  # it is not exported
    HTTPServer.configure(HubServer)
    handlers.PrefixRedirectHandler = AbsentService
    Server.wait_up = wait_up
    tell_database_errors()
