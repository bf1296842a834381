"""What the Hub's own process needs while it serves: open files, and true answers for what is not there yet.

Like `service_process`, this reaches into JupyterHub and tornado, which have no settings for it.
"""

from __future__ import annotations

import json
import logging
from typing import Any, Final

import tornado.tcpserver
from jupyterhub import handlers
from jupyterhub.handlers.base import PrefixRedirectHandler
from tornado.httpserver import HTTPServer

from hai_client.accepting import RETRY_AFTER_S, accept_handler, raise_file_limit
from hai_client.waiting import BODY_S, IDLE_S, HeedsWaiting
from hai_hub.config.settings import SERVICE_NAME

log = logging.getLogger("hai_hub")

_ABSENT: Final = {
    "type": "about:blank",
    "title": "Service Unavailable",
    "status": 503,
    "detail": "The scheduler service is starting: try again in a moment.",
    "code": "restarting",
}


class AbsentService(PrefixRedirectHandler):
    """Requests that no route of the proxy takes arrive at the Hub, and the Hub sends browsers on to its own pages.

    Those for the scheduler service come here while its route is missing, which is while something starts. A
    program would take the redirect, and the page behind it, for "there is no such thing".
    """

    async def prepare(self) -> None:
        """Answer for the service; leave the rest to JupyterHub."""
        if not self.request.path.startswith(f"{self.base_url}services/{SERVICE_NAME}/"):
            await super().prepare()
            return
        self.set_status(503)
        self.set_header("Content-Type", "application/problem+json")
        self.set_header("Retry-After", str(RETRY_AFTER_S))
        self.finish(json.dumps(_ABSENT))


class HubServer(HeedsWaiting, HTTPServer):
    """The Hub's own server: who sends slowly, or nothing, is cut off. Everybody on the machine can reach it."""

    waiting_log = log

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Called by tornado with what JupyterHub has chosen."""
        super().initialize(*args, **({"idle_connection_timeout": IDLE_S, "body_timeout": BODY_S} | kwargs))


def prepare_hub() -> None:
    """Let this Hub process open as many files as it may, bear a lack of them, and say what is only starting."""
    before, now = raise_file_limit()
    if now != before:
        log.info("The limit of open files was raised from %d to %d", before, now)
    setattr(tornado.tcpserver, "add_accept_handler", accept_handler(log))  # noqa: B010  # it is not exported
    HTTPServer.configure(HubServer)
    handlers.PrefixRedirectHandler = AbsentService
