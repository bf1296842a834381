"""`python -m hai_hub.culler`: the service `hai-culler`, which ends servers that are idle or at the end of their time.

The Hub starts and watches this service. It reads running servers from the Hub and users with live tasks from the
scheduler. A user's server asks it when that server will end, and can ask for more time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol

from jupyterhub.services.auth import HubAuth
from tornado.httpserver import HTTPServer
from tornado.web import Application, HTTPError, RequestHandler

from hai_client.calm import log_to_stderr
from hai_hub.culler import memory as culler_memory
from hai_hub.culler.decision import CullDecision, CullRecord, RunningServer, decide, renew
from hai_hub.culler.hub import HubApi, Unanswered
from hai_hub.culler.settings import CullPolicies

#: Environment variables of this service, beside those that JupyterHub gives every service.
POLICY_VARIABLE: Final = "HAI_CULLER_TERMS"
STATE_VARIABLE: Final = "HAI_CULLER_STATE"
BIND_VARIABLE: Final = "HAI_CULLER_BIND"
SCHEDULER_VARIABLE: Final = "HAI_API_URL"
#: Seconds between two checks of all servers.
EVERY_S: Final = 30.0
#: Seconds for which the Hub's answer about a token is cached, as in the scheduler.
BELIEVED_S: Final = 10
#: Shortest time between two extra checks, which requests about unknown servers cause.
_ASKED_AT_MOST_EVERY: Final = timedelta(seconds=3)
log = logging.getLogger("hai_culler")


class CullerHub(Protocol):
    """What the culler needs of the Hub and of the scheduler."""

    async def servers(self) -> list[RunningServer]:
        """Return every server that runs."""
        ...

    async def active_users(self) -> frozenset[str]:
        """Return the names of users with live tasks."""
        ...

    async def stop(self, server: RunningServer) -> None:
        """Stop a server."""
        ...


class Culler:
    """Checks all servers, ends those whose time is over, and remembers renewals and warnings.

    Args:
        hub: Where servers are read and stopped.
        policy: How long servers may run.
        state_file: File that keeps renewals and warnings.
        now: Returns the time of day, with a time zone.
    """

    def __init__(self, hub: CullerHub, policy: CullPolicies, state_file: Path, now: Callable[[], datetime]) -> None:
        self._hub = hub
        self._policy = policy
        self._file = state_file
        self.now = now
        self._memories = culler_memory.load(state_file)
        self._servers: dict[tuple[str, str], RunningServer] = {}
        #: None: not known.
        self._active_users: frozenset[str] | None = None
        self._stopping: set[tuple[str, str]] = set()
        self._looked: datetime | None = None

    async def look(self) -> None:
        """Check all servers once, and stop those that are due. Raises Unanswered: the Hub's servers cannot be read."""
        self._looked = self.now()
        servers = await self._hub.servers()
        self._active_users = await self._ask_for_active_users()
        self._servers = {server.key: server for server in servers}
        self._stopping &= set(self._servers)
        outlooks = {server.key: self._judge(server) for server in servers}
        # Before anything ends: a warning that is forgotten would be given again, but a renewal would be lost.
        self._remember({key: outlook.memory for key, outlook in outlooks.items()})
        for server in servers:
            if outlooks[server.key].due:
                await self._end(server, outlooks[server.key])

    async def find(self, user: str, name: str) -> None:
        """Check all servers now if this one is unknown: a new server asks as soon as it is up.

        Raises:
            Unanswered: The Hub's servers cannot be read.
        """
        recent = self._looked is not None and self.now() - self._looked < _ASKED_AT_MOST_EVERY
        if (user, name) not in self._servers and not recent:
            await self.look()

    def outlook(self, user: str, name: str) -> CullDecision | None:
        """Return when and why a server will end; None: the server is unknown."""
        server = self._servers.get((user, name))
        return None if server is None else self._judge(server)

    def renew(self, user: str, name: str) -> CullDecision | None:
        """Give a server more time, as far as its policy allows; returns the decision, None: the server is unknown."""
        server = self._servers.get((user, name))
        if server is None:
            return None
        self._remember({**self._memories, server.key: renew(server, self.now())})
        log.info("%s asked for more time for server %r", user, name)
        return self._judge(server)

    def _judge(self, server: RunningServer) -> CullDecision:
        has_tasks = None if self._active_users is None else server.user in self._active_users
        return decide(
            server, self._policy.of(server.size), self._memories.get(server.key), has_tasks=has_tasks, now=self.now()
        )

    async def _ask_for_active_users(self) -> frozenset[str] | None:
        if not self._policy.asks_for_tasks:
            return frozenset()
        try:
            return await self._hub.active_users()
        except Unanswered as error:
            log.warning("No server counts as idle now: %s", error)
            return None

    async def _end(self, server: RunningServer, outlook: CullDecision) -> None:
        if server.key not in self._stopping:
            log.info("Ending server %r of %s (%s)", server.name, server.user, outlook.reason)
        try:
            await self._hub.stop(server)
            self._stopping.add(server.key)
        except Unanswered as error:
            log.warning("Server %r of %s could not be ended, it is tried again: %s", server.name, server.user, error)

    def _remember(self, memories: Mapping[tuple[str, str], CullRecord]) -> None:
        if memories == self._memories:
            return
        self._memories = dict(memories)
        try:
            culler_memory.save(self._file, self._memories)
        except OSError as error:
            log.error("Renewals are not kept over a restart: %s", error)


class ServerHandler(RequestHandler):
    """`GET server?name=`: when the caller's own server ends, and why. `POST`: more time for it."""

    def initialize(self, *, culler: Culler, auth: HubAuth) -> None:
        """Store the arguments of the routing table; tornado calls this."""
        self.culler = culler
        self.auth = auth

    def set_default_headers(self) -> None:
        """Forbid caching, and guessing of the content type: no answer here is a page."""
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")

    def write_error(self, status_code: int, **given: Any) -> None:
        """Answer with a problem document (RFC 9457)."""
        error = given.get("exc_info", (None, None, None))[1]
        detail = error.log_message if isinstance(error, HTTPError) and error.log_message else "This went wrong."
        self.set_header("Content-Type", "application/problem+json")
        self.finish(json.dumps({"type": "about:blank", "title": self._reason, "status": status_code, "detail": detail}))

    async def get(self) -> None:
        """Answer with the server's outlook."""
        await self._answer(self.culler.outlook)

    async def post(self) -> None:
        """Renew the server's time, and answer with the new outlook."""
        await self._answer(self.culler.renew)

    async def _answer(self, act: Callable[[str, str], CullDecision | None]) -> None:
        user, name = await self._user(), self.get_query_argument("name", "")
        try:
            await self.culler.find(user, name)
        except Unanswered as error:
            raise HTTPError(503, "The Hub does not answer: ask again in a minute.") from error
        outlook = act(user, name)
        if outlook is None:
            raise HTTPError(404, "This server has not been seen yet: ask again in a minute.")
        self.finish(shown(outlook, self.culler.now()))

    async def _user(self) -> str:
        """Return the owner of the request's token. Cookies are ignored: only programs ask here."""
        header = self.request.headers.get("Authorization", "")
        scheme, _, token = header.partition(" ")
        if scheme.lower() not in ("bearer", "token") or not token:
            raise HTTPError(401, "Send `Authorization: Bearer <token>` with a token of the Hub.")
        model = await self.auth.user_for_token(token.strip(), sync=False)
        if model is None:
            raise HTTPError(401, "The Hub does not know this token, or it has expired.")
        if model.get("kind") != "user" or not self.auth.check_scopes(self.auth.access_scopes, model):
            raise HTTPError(403, "This token may not ask here: it needs the scope access:services!service=hai-culler.")
        return str(model["name"])


class HealthHandler(RequestHandler):
    """Answers the Hub's check whether the service is up."""

    def get(self) -> None:
        """Answer that the service is up."""
        self.finish({"status": "ok"})


def shown(outlook: CullDecision, now: datetime) -> dict[str, Any]:
    """Return an outlook as JSON. `now` is this machine's time: the clock of the browser may be wrong."""
    return {
        "now": now.isoformat(),
        "ends_at": None if outlook.ends_at is None else outlook.ends_at.isoformat(),
        "reason": outlook.reason,
        "warning": outlook.warning,
        "renewable": outlook.renewable,
        "kept_for_tasks": outlook.kept_for_tasks,
    }


def application(culler: Culler, auth: HubAuth, prefix: str) -> Application:
    """Return the tornado application of the service."""
    given = {"culler": culler, "auth": auth}
    return Application([(f"{prefix}api/server", ServerHandler, given), (f"{prefix}.*", HealthHandler)])


async def keep_looking(culler: Culler, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
    """Check all servers every `EVERY_S` seconds; a check that fails is repeated at the next time."""
    while True:
        try:
            await culler.look()
        except Unanswered as error:
            log.warning("%s; trying again in %.0f s", error, EVERY_S)
        await sleep(EVERY_S)


async def main(environ: Mapping[str, str] = os.environ) -> None:
    """Run the service until SIGINT or SIGTERM."""
    log_to_stderr("%(asctime)s %(name)s %(levelname)s %(message)s")
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    policy = CullPolicies.from_json(environ[POLICY_VARIABLE])
    ip, _, port = environ[BIND_VARIABLE].rpartition(":")
    hub = HubApi(
        hub=environ["JUPYTERHUB_API_URL"].rstrip("/"),
        scheduler=environ.get(SCHEDULER_VARIABLE, "").rstrip("/"),
        token=environ["JUPYTERHUB_API_TOKEN"],
    )
    async with hub:
        culler = Culler(hub, policy, Path(environ[STATE_VARIABLE]), lambda: datetime.now(UTC))
        auth = HubAuth(cache_max_age=BELIEVED_S)
        server = HTTPServer(application(culler, auth, environ["JUPYTERHUB_SERVICE_PREFIX"]), max_body_size=64 * 1024)
        server.listen(int(port), ip)
        looking = asyncio.create_task(keep_looking(culler))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait([looking, stopped], return_when=asyncio.FIRST_COMPLETED)
        server.stop()
        await server.close_all_connections()
        if looking.done():
            # Only an unexpected error ends the checks: it is raised here, and the Hub starts the service again.
            looking.result()
        looking.cancel()


if __name__ == "__main__":
    asyncio.run(main())
