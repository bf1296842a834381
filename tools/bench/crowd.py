"""One user with many clients: `python -m bench.crowd URL ATTACK CLIENTS`, the token on stdin, until stdin ends.

It ignores refusals, in order to test them. It prints how often each status was answered, as JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp

API: Final = "/services/hai/api/v1"
#: Names of tasks that the user must have: one that runs and has printed much, and one that waits.
TALKS, WAITS = "talks", "waits"
#: Niceness of this process: it is no part of the platform, and should leave the processors to the platform.
_NICE: Final = 10


class Crowd:
    """The clients, and the statuses of their answers."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url + API
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
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
        crowd = Crowd(session, url)
        work = [asyncio.create_task(_again(crowd, getattr(crowd, attack))) for _ in range(clients)]
        await asyncio.to_thread(sys.stdin.read)
        for one in work:
            one.cancel()
        await asyncio.gather(*work, return_exceptions=True)
    print(json.dumps(crowd.statuses))


if __name__ == "__main__":
    os.nice(_NICE)
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
