"""The Hub's endpoint for the runs of spot containers: `/hub/hai/spot`.

A run of a spot container's task calls it with the run's token. Owner and address of the run come from the scheduler
service, never from the caller. Then the spawner of the owner's server says what to run. If the server is not being
started, the Hub starts it now: so it comes back without its user when its task gets its next turn.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, ClassVar, Final

import aiohttp
from jupyterhub.apihandlers.base import APIHandler
from tornado.web import HTTPError

_TOKEN: Final = re.compile(r"run:(\d{1,18}\.\d{1,9}):[0-9a-f]{1,128}")
_TIMEOUT: Final = aiohttp.ClientTimeout(total=10, sock_connect=5)
#: Seconds after which a run is to call again.
_SOON: Final = 1.0


class SpotHandler(APIHandler):
    """Answers the launchers of spot containers."""

    #: Background work. Kept here because asyncio holds only weak references to its tasks.
    _under_way: ClassVar[set[asyncio.Task[Any]]] = set()

    def initialize(self, api_url: str) -> None:
        """Store the argument of the routing table; tornado calls this.

        Args:
            api_url: Base of the scheduler's REST interface.
        """
        self._api_url = api_url

    def check_xsrf_cookie(self) -> None:
        """Skip the check: requests are authorised by a run's token, never by a cookie that another site could use."""

    async def post(self) -> None:
        """Tell a run what to run, or when to call again."""
        body, facts = self._body(), await self._facts()
        port, generation = body.get("port"), body.get("generation")
        if not isinstance(port, int) or not 1 <= port <= 65535 or not isinstance(generation, str | None):
            raise HTTPError(400, "port must be a number from 1 to 65535, and generation a text or null")
        user, spawner = self._spawner(body, facts)
        self._answer(
            await self._knocked(user, spawner, facts, port, generation) or {"generation": None, "retry_s": _SOON}
        )

    async def delete(self) -> None:
        """Note that the server of the calling run ends now."""
        body, facts = self._body(), await self._facts()
        _, spawner = self._spawner(body, facts)
        spawner.spot.leave(facts["run_id"])
        self._notice_end(spawner)
        self._answer({})

    async def _knocked(
        self, user: Any, spawner: Any, facts: dict[str, Any], port: int, generation: str | None
    ) -> dict[str, Any] | None:
        """Return what the run is told; None: it is to call again."""
        if facts["address"] is None or facts["state"] not in ("starting", "running"):
            return None
        orders: dict[str, Any] | None = spawner.spot.knock(facts["run_id"], facts["address"], port, generation)
        if orders is None and spawner.ready:
            # A server of an earlier run, or one whose token is lost, for example after a restart of the Hub.
            spawner.spot.leave(spawner.spot.record.run)
            self._notice_end(spawner)
        elif orders is None and not spawner.active:
            self.log.info("Task %d has its turn: starting server %s of %s", facts["task_id"], spawner.name, user.name)
            # The run speaks for its owner.
            self._jupyterhub_user, self._token_authenticated = user, True
            self._in_background(self.spawn_single_user(user, spawner.name))
        return orders

    def _spawner(self, body: dict[str, Any], facts: dict[str, Any]) -> tuple[Any, Any]:
        """Return the owner and the spawner of their server. Raises HTTPError if the server is not of this task."""
        server = body.get("server")
        user = self.find_user(facts["user"])
        if user is None or not isinstance(server, str) or server not in user.orm_spawners:
            raise HTTPError(410, f"{facts['user']} has no server {server!r} any more")
        spawner = user.spawners[server]
        record = getattr(getattr(spawner, "spot", None), "record", None)
        if record is None or record.task != facts["task_id"]:
            raise HTTPError(410, f"server {server!r} of {user.name} is not task {facts['task_id']} any more")
        return user, spawner

    async def _facts(self) -> dict[str, Any]:
        """Return the scheduler service's facts of the run that the token belongs to. Raises HTTPError."""
        token = self.get_auth_token() or ""
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise HTTPError(403, "this needs the token of a run")
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        try:
            async with (
                aiohttp.ClientSession(timeout=_TIMEOUT) as session,
                session.get(f"{self._api_url}/runs/{match[1]}", headers=headers, allow_redirects=False) as answer,
            ):
                status, facts = answer.status, await answer.json(content_type=None)
        except (OSError, aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise HTTPError(503, f"the scheduler service does not answer ({type(error).__name__})") from None
        if status in (401, 403, 410):
            raise HTTPError(410, "this run is over")
        if status != 200 or not isinstance(facts, dict):
            raise HTTPError(503, f"the scheduler service answers {status}")
        return facts

    def _body(self) -> dict[str, Any]:
        body = self.get_json_body()
        if not isinstance(body, dict):
            raise HTTPError(400, "send a JSON object")
        return body

    def _answer(self, body: dict[str, Any]) -> None:
        # The body holds the server's token.
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(body))

    def _notice_end(self, spawner: Any) -> None:
        """Let the Hub poll the server now instead of at its next interval."""
        if spawner.ready:
            self._in_background(spawner.poll_and_notify())

    def _in_background(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            # The launcher calls again; JupyterHub has logged the details.
            self.log.warning("A spot container was not started: %s", error)
