"""`python -m hai_hub.culler`: the service `hai-culler`, which ends servers that are idle or at the end of their time.

The Hub starts and watches it. It asks the Hub who has servers, the scheduler who has live tasks, and answers a user's
own server when it will end; the same server asks it for more time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol

from jupyterhub.services.auth import HubAuth
from tornado.httpserver import HTTPServer
from tornado.web import Application, HTTPError, RequestHandler

from hai_hub.culler import memory as culler_memory
from hai_hub.culler.hub import HubApi, Unanswered
from hai_hub.culler.judging import Memory, Outlook, Server, judge, renew
from hai_hub.culler.terms import TermsBook

#: Variables of its environment, beside those that JupyterHub gives every service.
TERMS_VARIABLE: Final = "HAI_CULLER_TERMS"
STATE_VARIABLE: Final = "HAI_CULLER_STATE"
BIND_VARIABLE: Final = "HAI_CULLER_BIND"
SCHEDULER_VARIABLE: Final = "HAI_API_URL"
#: Seconds between two looks.
EVERY_S: Final = 30.0
#: How long the Hub's answer about a token is believed, as in the scheduler.
BELIEVED_S: Final = 10
#: Time between two looks that somebody asks for by asking about a server that has not been seen.
_ASKED_AT_MOST_EVERY: Final = timedelta(seconds=3)
log = logging.getLogger("hai_culler")


class Hub(Protocol):
    """What the culler needs of the Hub."""

    async def servers(self) -> list[Server]:
        """Every server that runs."""
        ...

    async def owners(self) -> frozenset[str]:
        """Users with live tasks."""
        ...

    async def stop(self, server: Server) -> None:
        """Stop a server."""
        ...


class Culler:
    """Looks at all servers, and remembers.

    Args:
        hub: Where they are.
        terms: How long they may be there.
        state_file: Where renewals and warnings are kept.
        now: The time.
    """

    def __init__(self, hub: Hub, terms: TermsBook, state_file: Path, now: Callable[[], datetime]) -> None:
        self._hub = hub
        self._terms = terms
        self._file = state_file
        self.now = now
        self._memories = culler_memory.load(state_file)
        self._servers: dict[tuple[str, str], Server] = {}
        #: None: not known.
        self._owners: frozenset[str] | None = None
        self._stopping: set[tuple[str, str]] = set()
        self._looked: datetime | None = None

    async def look(self) -> None:
        """Look once, and end what is due.

        Raises:
            Unanswered: The Hub's servers cannot be read.
        """
        self._looked = self.now()
        servers = await self._hub.servers()
        self._owners = await self._ask_for_owners()
        self._servers = {server.key: server for server in servers}
        self._stopping &= set(self._servers)
        outlooks = {server.key: self._judge(server) for server in servers}
        # Before anything ends: a warning that is forgotten would be given again, but a renewal would be lost.
        self._remember({key: outlook.memory for key, outlook in outlooks.items()})
        for server in servers:
            if outlooks[server.key].due:
                await self._end(server, outlooks[server.key])

    async def find(self, user: str, name: str) -> None:
        """Look now if a server has not been seen: it asks as soon as it is up.

        Raises:
            Unanswered: The Hub's servers cannot be read.
        """
        recent = self._looked is not None and self.now() - self._looked < _ASKED_AT_MOST_EVERY
        if (user, name) not in self._servers and not recent:
            await self.look()

    def outlook(self, user: str, name: str) -> Outlook | None:
        """What becomes of a server; None: it has not been seen."""
        server = self._servers.get((user, name))
        return None if server is None else self._judge(server)

    def renew(self, user: str, name: str) -> Outlook | None:
        """Give a server more time, as far as its terms allow; None: it has not been seen."""
        server = self._servers.get((user, name))
        if server is None:
            return None
        self._remember({**self._memories, server.key: renew(server, self.now())})
        log.info("%s asked for more time for server %r", user, name)
        return self._judge(server)

    def _judge(self, server: Server) -> Outlook:
        has_tasks = None if self._owners is None else server.user in self._owners
        return judge(
            server, self._terms.of(server.size), self._memories.get(server.key), has_tasks=has_tasks, now=self.now()
        )

    async def _ask_for_owners(self) -> frozenset[str] | None:
        if not self._terms.asks_for_tasks:
            return frozenset()
        try:
            return await self._hub.owners()
        except Unanswered as error:
            log.warning("Nobody is taken for idle now: %s", error)
            return None

    async def _end(self, server: Server, outlook: Outlook) -> None:
        if server.key not in self._stopping:
            log.info("Ending server %r of %s (%s)", server.name, server.user, outlook.reason)
        try:
            await self._hub.stop(server)
            self._stopping.add(server.key)
        except Unanswered as error:
            log.warning("Server %r of %s could not be ended, it is tried again: %s", server.name, server.user, error)

    def _remember(self, memories: Mapping[tuple[str, str], Memory]) -> None:
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
        """Called by tornado with what the routing table says."""
        self.culler = culler
        self.auth = auth

    def set_default_headers(self) -> None:
        """Nothing here is a page."""
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")

    def write_error(self, status_code: int, **given: Any) -> None:
        """A problem document (RFC 9457)."""
        error = given.get("exc_info", (None, None, None))[1]
        detail = error.log_message if isinstance(error, HTTPError) and error.log_message else "This went wrong."
        self.set_header("Content-Type", "application/problem+json")
        self.finish(json.dumps({"type": "about:blank", "title": self._reason, "status": status_code, "detail": detail}))

    async def get(self) -> None:
        """Tell."""
        await self._answer(self.culler.outlook)

    async def post(self) -> None:
        """Renew, and tell."""
        await self._answer(self.culler.renew)

    async def _answer(self, act: Callable[[str, str], Outlook | None]) -> None:
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
        """Whose token it is. A cookie counts for nothing: who asks is a program."""
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
    """What the Hub asks while it waits for the service."""

    def get(self) -> None:
        """It is there."""
        self.finish({"status": "ok"})


def shown(outlook: Outlook, now: datetime) -> dict[str, Any]:
    """An outlook as JSON. `now` is this machine's time: the clock of whoever reads it may be wrong."""
    return {
        "now": now.isoformat(),
        "ends_at": None if outlook.ends_at is None else outlook.ends_at.isoformat(),
        "reason": outlook.reason,
        "warning": outlook.warning,
        "renewable": outlook.renewable,
        "kept_for_tasks": outlook.kept_for_tasks,
    }


def application(culler: Culler, auth: HubAuth, prefix: str) -> Application:
    """The routes of the service."""
    given = {"culler": culler, "auth": auth}
    return Application([(f"{prefix}api/server", ServerHandler, given), (f"{prefix}.*", HealthHandler)])


async def keep_looking(culler: Culler, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
    """Look again and again; a look that fails is tried again at the next time."""
    while True:
        try:
            await culler.look()
        except Unanswered as error:
            log.warning("%s; trying again in %.0f s", error, EVERY_S)
        await sleep(EVERY_S)


async def main(environ: Mapping[str, str] = os.environ) -> None:
    """Run until SIGINT or SIGTERM."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s", stream=sys.stderr)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    terms = TermsBook.from_json(environ[TERMS_VARIABLE])
    ip, _, port = environ[BIND_VARIABLE].rpartition(":")
    hub = HubApi(
        hub=environ["JUPYTERHUB_API_URL"].rstrip("/"),
        scheduler=environ.get(SCHEDULER_VARIABLE, "").rstrip("/"),
        token=environ["JUPYTERHUB_API_TOKEN"],
    )
    async with hub:
        culler = Culler(hub, terms, Path(environ[STATE_VARIABLE]), lambda: datetime.now(UTC))
        auth = HubAuth(cache_max_age=BELIEVED_S)
        server = HTTPServer(application(culler, auth, environ["JUPYTERHUB_SERVICE_PREFIX"]))
        server.listen(int(port), ip)
        looking = asyncio.create_task(keep_looking(culler))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait([looking, stopped], return_when=asyncio.FIRST_COMPLETED)
        server.stop()
        await server.close_all_connections()
        if looking.done():
            # Nothing but a fault of its own ends it: the Hub starts the service again.
            looking.result()
        looking.cancel()


if __name__ == "__main__":
    asyncio.run(main())
