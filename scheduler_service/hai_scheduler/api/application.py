"""Creates the tornado application from the route table."""

from __future__ import annotations

import logging
import re

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from hai_client.calm import calm
from hai_client.waiting import BODY_S, IDLE_S
from hai_scheduler.api.routes import API, ROUTES
from hai_scheduler.api.server.auth import COOKIES, Auth, Callback
from hai_scheduler.api.server.endpoint import Endpoint
from hai_scheduler.api.server.kinds import LimitSettings
from hai_scheduler.api.server.limits import Limits
from hai_scheduler.api.server.page import FILES, PATHS, PageDocument, PageFiles, StudioPage, read_page
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.api.server.route import RouteIndex
from hai_scheduler.api.server.serving import ResilientServer
from hai_scheduler.api.server.user_book import UserBook

log = logging.getLogger(__name__)


def make_application(
    platform: Platform, *, prefix: str, auth: Auth, limits: LimitSettings | None = None, page: StudioPage | None = None
) -> Application:
    """Return the application of the interface and the page.

    Args:
        platform: The use cases.
        prefix: The service's address, which begins and ends with a slash (`/services/hai/`).
        auth: Finds out who sends a request.
        limits: How many requests each client may send; None: the defaults.
        page: The page of the service; None: the one that is installed in this environment.
    """
    page = page or read_page()
    table = RouteIndex(prefix + API, ROUTES)
    gates = Limits(limits or LimitSettings(), clock=platform.world.clock, refused=platform.prometheus.refused)
    platform.prometheus.show_limits(gates)
    endpoint = {
        "auth": auth,
        "table": table,
        "platform": platform,
        "users": UserBook(platform.world.store, platform.world.clock, platform.people.archiving.names),
        "limits": gates,
    }
    page_arguments = {"auth": auth, "limits": gates, "page": page, "prefix": prefix}
    here = re.escape(prefix)
    return Application(
        [
            (rf"{here}oauth_callback", Callback, {"auth": auth}),
            (rf"{here}{FILES}/([\w.-]+)", PageFiles, {"limits": gates, "page": page}),
            (rf"(?:{here}{PATHS}|{here}?)", PageDocument, page_arguments),
        ],
        default_handler_class=Endpoint,
        default_handler_args=endpoint,
        cookie_secret=auth.cookie_secret.reveal(),
        log_function=_log,
        # `Auth` asks for JupyterHub's own XSRF proof, which is stricter and knows tokens.
        xsrf_cookies=False,
        xsrf_cookie_kwargs=dict(COOKIES),
        compress_response=False,
    )


def make_server(application: Application) -> HTTPServer:
    """Return a server with limits on headers, on slow clients and on log lines; handlers limit bodies."""
    # Refused requests, and malformed ones.
    calm(__name__, "tornado.general", "tornado.application")
    return ResilientServer(
        application,
        body_timeout=BODY_S,
        idle_connection_timeout=IDLE_S,
        max_header_size=64 * 1024,
        xheaders=True,
    )


def _log(handler: RequestHandler) -> None:
    """Count and log a request: status, method, path without its query (which may hold secrets), time."""
    request, status = handler.request, handler.get_status()
    path = request.path
    if isinstance(handler, Endpoint):
        route = handler.route.path if handler.route else "none"
        kind = handler.route.budget if handler.route else None
        handler.metrics.request(request.method or "", route, kind, status, handler.seconds)
    # Refusals for too many requests are frequent; `Limits` logs the refused client once a minute.
    level = logging.WARNING if status >= 500 else logging.DEBUG if status < 400 or status == 429 else logging.INFO
    log.log(level, "%d %s %s %.0f ms", status, request.method, path[:200], 1000 * request.request_time())
