"""The Hub's door for spot containers: `/hub/hai/spot`.

A run of a spot container's task knocks with its run's token. The scheduler service says whose run that is and where it
can be reached; neither is believed of whoever knocks. Then the spawner of the owner's server says what to run. Where
the server is not being started, it is started now: so it comes back by itself when its task gets its next turn.
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
#: When a run is to knock again, in seconds.
_SOON: Final = 1.0


class SpotHandler(APIHandler):
    """Speaks with the launchers of spot containers."""

    #: Starts that nobody waits for; the loop alone would forget them.
    _under_way: ClassVar[set[asyncio.Task[Any]]] = set()

    def initialize(self, api_url: str) -> None:
        """Called by tornado with what the routing table says.

        Args:
            api_url: Base of the scheduler's REST interface.
        """
        self._api_url = api_url

    def check_xsrf_cookie(self) -> None:
        """No cookie opens this door, so none can be misused."""

    async def post(self) -> None:
        """A run knocks: what is it to run?"""
        body, facts = self._body(), await self._facts()
        port, generation = body.get("port"), body.get("generation")
        if not isinstance(port, int) or not 1 <= port <= 65535 or not isinstance(generation, str | None):
            raise HTTPError(400, "port must be a number from 1 to 65535, and generation a text or null")
        user, spawner = self._spawner(body, facts)
        self._answer(
            await self._knocked(user, spawner, facts, port, generation) or {"generation": None, "retry_s": _SOON}
        )

    async def delete(self) -> None:
        """A run says that its server ends now."""
        body, facts = self._body(), await self._facts()
        _, spawner = self._spawner(body, facts)
        spawner.spot.leave(facts["run_id"])
        self._notice_end(spawner)
        self._answer({})

    async def _knocked(
        self, user: Any, spawner: Any, facts: dict[str, Any], port: int, generation: str | None
    ) -> dict[str, Any] | None:
        """What the run is told; None: come again."""
        if facts["address"] is None or facts["state"] not in ("starting", "running"):
            return None
        orders: dict[str, Any] | None = spawner.spot.knock(facts["run_id"], facts["address"], port, generation)
        if orders is None and spawner.ready:
            # A server of an earlier run, or one whose token nobody knows any more.
            spawner.spot.leave(spawner.spot.kept.run)
            self._notice_end(spawner)
        elif orders is None and not spawner.active:
            self.log.info("Task %d has its turn: starting server %s of %s", facts["task_id"], spawner.name, user.name)
            # The run speaks for its owner.
            self._jupyterhub_user, self._token_authenticated = user, True
            self._in_background(self.spawn_single_user(user, spawner.name))
        return orders

    def _spawner(self, body: dict[str, Any], facts: dict[str, Any]) -> tuple[Any, Any]:
        """The owner and his server. Raises HTTPError where the Hub does not count on this task."""
        server = body.get("server")
        user = self.find_user(facts["user"])
        if user is None or not isinstance(server, str) or server not in user.orm_spawners:
            raise HTTPError(410, f"{facts['user']} has no server {server!r} any more")
        spawner = user.spawners[server]
        kept = getattr(getattr(spawner, "spot", None), "kept", None)
        if kept is None or kept.task != facts["task_id"]:
            raise HTTPError(410, f"server {server!r} of {user.name} is not task {facts['task_id']} any more")
        return user, spawner

    async def _facts(self) -> dict[str, Any]:
        """What the scheduler service says of the run whose token this is. Raises HTTPError."""
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
        # It holds the server's token.
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(body))

    def _notice_end(self, spawner: Any) -> None:
        """Let the Hub look now instead of at its next round."""
        if spawner.ready:
            self._in_background(spawner.poll_and_notify())

    def _in_background(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            # The launcher knocks again; JupyterHub has logged what it knows itself.
            self.log.warning("A spot container was not started: %s", error)
