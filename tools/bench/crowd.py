"""One user with many clients: `python -m bench.crowd URL ATTACK CLIENTS`, the token on stdin, until stdin ends.

It ignores refusals, in order to test them. It prints how often each status was answered, as JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import secrets
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp

from bench import hostile

PAGE: Final = "/services/hai/"
API: Final = "/services/hai/api/v1"
#: Names of tasks that the user must have: one that runs and has printed much, and one that waits.
TALKS, WAITS = "talks", "waits"
#: Niceness of this process: it is no part of the platform, and should leave the processors to the platform.
_NICE: Final = 10


class Crowd:
    """The clients, and the statuses of their answers."""

    def __init__(self, session: aiohttp.ClientSession, nobody: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        #: Says no name.
        self._nobody = nobody
        self._page = url + PAGE
        self._url = url + API
        #: What some attacks need, made once.
        self._manifests: list[tuple[str, bytes]] = []
        self._run: tuple[str, dict[str, str]] | None = None
        self._numbers = itertools.count()
        self.statuses: Counter[str] = Counter()

    async def ask(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        async with self._session.request(method, self._url + path, **options) as response:
            self.statuses[str(response.status)] += 1
            body = await response.read()
            return response.status, json.loads(body) if response.status == 201 else None

    async def stay(self, path: str) -> None:
        """Read a stream until the server ends it."""
        async with self._session.get(self._url + path) as response:
            self.statuses[str(response.status)] += 1
            async for _ in response.content.iter_any():
                pass

    async def parse(self) -> None:
        await self.ask("POST", "/tasks/parse", data="- a\n" * 16_000, headers={"Content-Type": "application/yaml"})

    async def parse_deep(self) -> None:
        await self.ask("POST", "/tasks/parse", data="[" * 65_000, headers={"Content-Type": "application/yaml"})

    async def list(self) -> None:
        await self.ask("GET", "/tasks?limit=200")

    async def search(self) -> None:
        await self.ask("GET", f"/tasks/{TALKS}/logs/search?q=nothing-of-it")

    async def forecast(self) -> None:
        await self.ask("POST", "/forecast", json={"task": WAITS})

    async def dry_run(self) -> None:
        await self.ask("POST", "/forecast", json={"submit": {"name": "thought", "command": ["true"], "cwd": "/"}})

    async def explain(self) -> None:
        await self.ask("GET", f"/tasks/{WAITS}/explain")

    async def submit_and_stop(self) -> None:
        body = {"name": f"m{next(self._numbers)}", "command": ["true"], "cwd": "/", "env": {"BIG": "x" * 100_000}}
        status, task = await self.ask("POST", "/tasks", json=body)
        if status == 201:
            await self.ask("POST", f"/tasks/{task['id']}/stop")

    async def streams(self) -> None:
        await self.stay("/events")

    async def followers(self) -> None:
        await self.stay(f"/tasks/{TALKS}/logs?follow=true")

    async def log_limit(self) -> None:
        await self.ask("GET", f"/tasks/{TALKS}/logs?limit=10000&cursor=1:{200_000 + 40 * next(self._numbers)}")

    async def log_tail(self) -> None:
        await self.ask("GET", f"/tasks/{TALKS}/logs?tail=10000")

    async def manifests(self) -> None:
        if not self._manifests:
            self._manifests = [hostile.manifest(number) for number in range(8)]
        digest, packed = self._manifests[next(self._numbers) % len(self._manifests)]
        headers = {"Content-Type": "application/octet-stream"}
        await self.ask("PUT", f"/snapshots/{digest}", data=packed, headers=headers)

    async def run_metrics(self) -> None:
        await self._as_run("metrics", hostile.metrics(), "application/json")

    async def run_metrics_wrong(self) -> None:
        await self._as_run("metrics", hostile.wrong_metrics(), "application/json")

    async def run_log(self) -> None:
        await self._as_run("log?offset=0", b"x\n" * 400_000, "application/octet-stream")

    async def _as_run(self, what: str, body: bytes, kind: str) -> None:
        """Send as rank 0 of the task that talks: its first line is its token, as whoever owns it can have it."""
        if self._run is None:
            async with self._session.get(f"{self._url}/tasks/{TALKS}/logs?limit=10") as response:
                lines = (await response.json())["lines"]
            token = next(line["text"] for line in lines if line["text"].startswith("run:"))
            self._run = token.split(":")[1], {"Authorization": f"Bearer {token}"}
        run, headers = self._run
        path = f"/runs/{run}/ranks/0/{what}"
        await self.ask("PUT", path, data=body, headers={**headers, "Content-Type": kind})

    async def queue(self) -> None:
        await self.ask("GET", "/queue?limit=200")

    async def overview(self) -> None:
        await self.ask("GET", "/overview")

    async def nodes(self) -> None:
        await self.ask("GET", "/nodes")

    async def metrics(self) -> None:
        await self.ask("GET", f"/tasks/{TALKS}/metrics")

    async def reports(self) -> None:
        await self.ask("GET", "/reports?since=2026-01-01T00:00:00Z&until=2027-01-01T00:00:00Z&by=user,day")

    async def tags(self) -> None:
        body = {"tags": [f"tag {number}" for number in range(50)]}
        await self.ask("PUT", f"/tasks/t{next(self._numbers) % 400}/tags", json=body)

    async def priority(self) -> None:
        level = ("LOW", "NORMAL")[next(self._numbers) % 2]
        await self.ask("PUT", f"/tasks/{WAITS}/priority", json={"priority": level})

    async def actions(self) -> None:
        await self.ask("POST", "/tasks/actions", json={"action": "hold", "tasks": [f"t{n}" for n in range(200)]})

    async def notify(self) -> None:
        await self.ask("POST", "/me/notifications/test", json={})

    async def profiles(self) -> None:
        await self.ask("POST", f"/tasks/{TALKS}/profiles", json={"seconds": 0.1})

    async def wrong_bodies(self) -> None:
        body = "{" + ",".join(f'"{number:x}":0' for number in range(80_000)) + "}"
        await self.ask("POST", "/tasks", data=body, headers={"Content-Type": "application/json"})

    async def bad_tokens(self) -> None:
        await self.ask("GET", "/me", headers={"Authorization": f"Bearer {secrets.token_hex(16)}"})

    async def anonymous_page(self) -> None:
        await self._anonymous(self._page)

    async def anonymous(self) -> None:
        await self._anonymous(f"{self._url}/tasks?limit=200")

    async def description(self) -> None:
        await self._anonymous(f"{self._url}/openapi.json")

    async def _anonymous(self, address: str) -> None:
        async with self._nobody.get(address, allow_redirects=False) as response:
            self.statuses[str(response.status)] += 1
            await response.read()


#: Attacks, in the order in which they are measured.
ATTACKS: Final = (
    "parse",
    "parse_deep",
    "list",
    "search",
    "forecast",
    "dry_run",
    "explain",
    "submit_and_stop",
    "streams",
    "followers",
    "manifests",
    "run_metrics",
    "run_metrics_wrong",
    "run_log",
    "log_limit",
    "log_tail",
    "anonymous_page",
    "anonymous",
    "description",
    "bad_tokens",
    "queue",
    "overview",
    "nodes",
    "metrics",
    "reports",
    "tags",
    "priority",
    "actions",
    "notify",
    "profiles",
    "wrong_bodies",
)


async def _again(crowd: Crowd, attack: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await attack()
        except (OSError, aiohttp.ClientError, TimeoutError) as error:
            crowd.statuses[type(error).__name__] += 1
            await asyncio.sleep(0.1)


async def main(url: str, attack: str, clients: int) -> None:
    """Attack until stdin ends."""
    token = sys.stdin.readline().strip()
    headers = {"Authorization": f"Bearer {token}"}
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        aiohttp.ClientSession(headers=headers, connector=connector) as session,
        aiohttp.ClientSession(connector=connector, connector_owner=False) as nobody,
    ):
        crowd = Crowd(session, nobody, url)
        work = [asyncio.create_task(_again(crowd, getattr(crowd, attack))) for _ in range(clients)]
        await asyncio.to_thread(sys.stdin.read)
        for one in work:
            one.cancel()
        await asyncio.gather(*work, return_exceptions=True)
    print(json.dumps(crowd.statuses))


if __name__ == "__main__":
    os.nice(_NICE)
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
