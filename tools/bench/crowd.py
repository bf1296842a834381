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
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import aiohttp

from bench import hostile

PAGE: Final = "/services/hai/"
API: Final = f"{PAGE}api/v1"
#: Names of tasks that the user must have: one that runs and has printed much, its token first, and one that waits.
#: There are tasks `t0` to `t399` besides.
TALKS, WAITS = "talks", "waits"
#: Niceness of this process: it is no part of the platform, and should leave the processors to the platform.
_NICE: Final = 10
_YAML: Final = {"Content-Type": "application/yaml"}
_JSON: Final = {"Content-Type": "application/json"}
_BYTES: Final = {"Content-Type": "application/octet-stream"}


class Crowd:
    """The clients, and the statuses of their answers."""

    def __init__(self, session: aiohttp.ClientSession, nobody: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        #: Says no name.
        self._nobody = nobody
        self._url = url
        self._numbers = itertools.count()
        #: What attacks have made once.
        self.made: dict[str, Any] = {}
        self.statuses: Counter[str] = Counter()

    def number(self) -> int:
        """Return another number at each call."""
        return next(self._numbers)

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        """Send a request; returns the answer if something was made, or if it is about a log."""
        async with self._session.request(method, self._url + API + path, **options) as response:
            self.statuses[str(response.status)] += 1
            body = await response.read()
            return json.loads(body) if response.status == 201 or "/logs" in path else None

    async def stay(self, path: str) -> None:
        """Read a stream until the server ends it."""
        async with self._session.get(self._url + API + path) as response:
            self.statuses[str(response.status)] += 1
            async for _ in response.content.iter_any():
                pass

    async def anonymous(self, path: str) -> None:
        """Send a request without a token."""
        async with self._nobody.get(self._url + path, allow_redirects=False) as response:
            self.statuses[str(response.status)] += 1
            await response.read()

    async def as_run(self, what: str, body: bytes, kind: Mapping[str, str]) -> None:
        """Send as rank 0 of the task that talks: its first line is its token, as its owner can have it."""
        if "run" not in self.made:
            lines = (await self.ask("GET", f"/tasks/{TALKS}/logs?limit=10"))["lines"]
            self.made["run"] = next(line["text"] for line in lines if line["text"].startswith("run:"))
        token = self.made["run"]
        headers = {"Authorization": f"Bearer {token}", **kind}
        await self.ask("PUT", f"/runs/{token.split(':')[1]}/ranks/0/{what}", data=body, headers=headers)


Attack = Callable[[Crowd], Awaitable[object]]


async def _submit_and_stop(crowd: Crowd) -> None:
    body = {"name": f"m{crowd.number()}", "command": ["true"], "cwd": "/", "env": {"BIG": "x" * 100_000}}
    if (task := await crowd.ask("POST", "/tasks", json=body)) is not None:
        await crowd.ask("POST", f"/tasks/{task['id']}/stop")


async def _manifests(crowd: Crowd) -> None:
    made = crowd.made.setdefault("manifests", [])
    if not made:
        made += [hostile.manifest(number) for number in range(8)]
    digest, packed = made[crowd.number() % len(made)]
    await crowd.ask("PUT", f"/snapshots/{digest}", data=packed, headers=_BYTES)


async def _log_limit(crowd: Crowd) -> None:
    await crowd.ask("GET", f"/tasks/{TALKS}/logs?limit=10000&cursor=1:{200_000 + 40 * crowd.number()}")


async def _tags(crowd: Crowd) -> None:
    body = {"tags": [f"tag {number}" for number in range(50)]}
    await crowd.ask("PUT", f"/tasks/t{crowd.number() % 400}/tags", json=body)


async def _priority(crowd: Crowd) -> None:
    level = ("LOW", "NORMAL")[crowd.number() % 2]
    await crowd.ask("PUT", f"/tasks/{WAITS}/priority", json={"priority": level})


async def _bad_tokens(crowd: Crowd) -> None:
    await crowd.ask("GET", "/me", headers={"Authorization": f"Bearer {secrets.token_hex(16)}"})


async def _run_metrics(crowd: Crowd) -> None:
    await crowd.as_run("metrics", hostile.metrics(), _JSON)


def _get(path: str) -> Attack:
    return lambda crowd: crowd.ask("GET", path)


def _send(method: str, path: str, **options: Any) -> Attack:
    return lambda crowd: crowd.ask(method, path, **options)


#: Attacks, in the order in which they are measured.
ATTACKS: Final[Mapping[str, Attack]] = {
    "parse": _send("POST", "/tasks/parse", data="- a\n" * 16_000, headers=_YAML),
    "parse_deep": _send("POST", "/tasks/parse", data="[" * 65_000, headers=_YAML),
    "list": _get("/tasks?limit=200"),
    "search": _get(f"/tasks/{TALKS}/logs/search?q=nothing-of-it"),
    "forecast": _send("POST", "/forecast", json={"task": WAITS}),
    "dry_run": _send("POST", "/forecast", json={"submit": {"name": "thought", "command": ["true"], "cwd": "/"}}),
    "explain": _get(f"/tasks/{WAITS}/explain"),
    "submit_and_stop": _submit_and_stop,
    "streams": lambda crowd: crowd.stay("/events"),
    "followers": lambda crowd: crowd.stay(f"/tasks/{TALKS}/logs?follow=true"),
    "manifests": _manifests,
    "run_metrics": _run_metrics,
    "run_metrics_wrong": lambda crowd: crowd.as_run("metrics", hostile.wrong_metrics(), _JSON),
    "run_log": lambda crowd: crowd.as_run("log?offset=0", b"x\n" * 400_000, _BYTES),
    "log_limit": _log_limit,
    "log_tail": _get(f"/tasks/{TALKS}/logs?tail=10000"),
    "anonymous_page": lambda crowd: crowd.anonymous(PAGE),
    "anonymous": lambda crowd: crowd.anonymous(f"{API}/tasks?limit=200"),
    "description": lambda crowd: crowd.anonymous(f"{API}/openapi.json"),
    "bad_tokens": _bad_tokens,
    "queue": _get("/queue?limit=200"),
    "overview": _get("/overview"),
    "nodes": _get("/nodes"),
    "metrics": _get(f"/tasks/{TALKS}/metrics"),
    "reports": _get("/reports?by=user"),
    "tags": _tags,
    "priority": _priority,
    "actions": _send("POST", "/tasks/actions", json={"action": "hold", "tasks": [f"t{n}" for n in range(200)]}),
    "notify": _send("POST", "/me/notifications/test", json={}),
    "profiles": _send("POST", f"/tasks/{TALKS}/profiles", json={"seconds": 0.1}),
    "wrong_bodies": _send("POST", "/tasks", data=hostile.wrong_task(), headers=_JSON),
}


async def _again(crowd: Crowd, attack: Attack) -> None:
    while True:
        try:
            await attack(crowd)
        except (OSError, aiohttp.ClientError, TimeoutError) as error:
            crowd.statuses[type(error).__name__] += 1
            await asyncio.sleep(0.1)


async def main(url: str, attack: str, clients: int) -> None:
    """Attack until stdin ends."""
    token = sys.stdin.readline().strip()
    async with (
        aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {token}"}, connector=aiohttp.TCPConnector(limit=0)
        ) as session,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as nobody,
    ):
        crowd = Crowd(session, nobody, url)
        work = [asyncio.create_task(_again(crowd, ATTACKS[attack])) for _ in range(clients)]
        await asyncio.to_thread(sys.stdin.read)
        for one in work:
            one.cancel()
        await asyncio.gather(*work, return_exceptions=True)
    print(json.dumps(crowd.statuses))


if __name__ == "__main__":
    os.nice(_NICE)
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
