"""Pages that are open, without browsers: clients that send what a page sends, when it sends it."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import aiohttp

from bench.studio.scene import token
from bench.studio.service import PREFIX


@dataclass(frozen=True, slots=True)
class LiveValue:
    """What a live value of the page asks, as in `lab_extension/src/models`."""

    paths: tuple[str, ...]
    #: Kinds of events after which it asks again.
    concerns: str
    #: Least seconds between two readings after events, and seconds between two without one.
    interval: float
    live: float
    #: Whether it asks once more after an event, for an answer that knows of it; clients here always do.
    twice: bool = False
    #: What it asks after events; empty: the same.
    changed: tuple[str, ...] = ()


#: The live values, by their files there.
LIVE_VALUES: Final = {
    "cluster": LiveValue(
        ("/cluster", "/me"), r"^(task\.(submitted|state|priority|held)|node\.|quota\.|cluster\.)", 1.5, 20.0
    ),
    "overview": LiveValue(
        ("/overview",), r"^(task\.(submitted|state|priority|held)|node\.|cluster\.)", 1.5, 20.0, True
    ),
    "queue": LiveValue(
        ("/queue?limit=20",),
        r"^(task\.(submitted|state|priority|held|order)|node\.|quota\.|cluster\.)",
        1.5,
        20.0,
        True,
    ),
    "glance": LiveValue(("/cluster/use?limit=8",), r"^task\.state$", 1.5, 20.0),
    # After a submission; what else happens to a task is read by its number.
    "taskPages": LiveValue(
        ("/tasks?use=true&limit=200&total=true",),
        r"^(task\.|cluster\.)",
        0.5,
        120.0,
        changed=("/tasks?use=true&limit=50&total=true",),
    ),
    "nodes": LiveValue(("/nodes?use=true",), r"^(task\.state|node\.)", 1.5, 30.0),
}
#: What a page reads once.
_ONCE: Final = {"overview": ("/reports/nodes?by=day",)}
#: The models of a page, by its name; all pages have that of the cluster.
PAGES: Final = {
    "overview": tuple(LIVE_VALUES[name] for name in ("cluster", "overview", "queue", "glance")),
    "tasks": (LIVE_VALUES["cluster"], LIVE_VALUES["taskPages"]),
    "nodes": (LIVE_VALUES["cluster"], LIVE_VALUES["nodes"]),
}
#: Which pages are open: of ten, six show the overview, three their tasks, one the nodes.
MIX: Final = (
    "overview",
    "tasks",
    "overview",
    "overview",
    "nodes",
    "overview",
    "tasks",
    "overview",
    "tasks",
    "overview",
)


@dataclass(slots=True)
class PagesHeard:
    """What the pages have sent and heard."""

    #: Requests by path without its query, and answers that were none.
    asked: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    #: Seconds of each answer, and from each event at the service until a page had it.
    answers: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    #: Seconds from an event at the service until a page had read again what it shows of it.
    shown: list[float] = field(default_factory=list)

    def clear(self) -> None:
        """Begin again."""
        for each in (self.asked, self.refused, self.answers, self.delays, self.shown):
            each.clear()
        self.bytes = 0


class _Rung:
    """Whether a live value must be read again, and since when."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        self._since: float | None = None

    def ring(self, at: float) -> None:
        """Take note of an event of that time."""
        self._since = at if self._since is None else self._since
        self.heard.set()

    def take(self) -> float | None:
        """The time of the first event since the last call; None: there was none."""
        since, self._since = self._since, None
        self.heard.clear()
        return since


class OpenPage:
    """One page: its stream, and its models."""

    def __init__(self, session: aiohttp.ClientSession, root: str, user: str, page: str, seen: PagesHeard) -> None:
        self._session, self._root, self._page, self._seen = session, f"{root}{PREFIX}", page, seen
        self._headers = {"Authorization": f"Bearer {token(user)}"}
        self._rung = [_Rung() for _ in PAGES[page]]

    async def stay(self) -> None:
        """Be open until cancelled."""
        await self._get(self._root)
        work: list[Coroutine[Any, Any, None]] = [self._follow()]
        work += [self._read(model, rung) for model, rung in zip(PAGES[self._page], self._rung, strict=True)]
        work += [self._get(f"{self._root}api/v1{path}") for path in _ONCE.get(self._page, ())]
        await asyncio.gather(*work)

    async def _read(self, model: LiveValue, rung: _Rung) -> None:
        again = False
        while True:
            since = rung.take()
            began = time.monotonic()
            paths = model.paths if since is None else model.changed or model.paths
            await asyncio.gather(*(self._get(f"{self._root}api/v1{path}") for path in paths))
            if since is not None:
                self._seen.shown.append(time.time() - since)
            if again:
                again = False
                await asyncio.sleep(max(0.0, began + model.interval - time.monotonic()))
                continue
            try:
                async with asyncio.timeout(model.live):
                    await rung.heard.wait()
                again = model.twice
                await asyncio.sleep(max(0.0, began + model.interval - time.monotonic()))
            except TimeoutError:
                pass

    async def _get(self, url: str) -> None:
        began = time.perf_counter()
        async with self._session.get(url, headers=self._headers) as response:
            self._seen.bytes += len(await response.read())
            kind = url.removeprefix(self._root).partition("?")[0]
            if response.status == 200:
                self._seen.asked[kind] += 1
                self._seen.answers.append(time.perf_counter() - began)
            else:
                self._seen.refused[f"{response.status} {kind}"] += 1

    async def _follow(self) -> None:
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._session.get(f"{self._root}api/v1/events", headers=self._headers, timeout=timeout) as response:
            response.raise_for_status()
            async for event in _events(response.content):
                at = datetime.fromisoformat(event["at"]).timestamp()
                self._seen.delays.append(time.time() - at)
                for model, rung in zip(PAGES[self._page], self._rung, strict=True):
                    if re.match(model.concerns, event["kind"]):
                        rung.ring(at)


async def _events(lines: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any]]:
    kind = ""
    async for line in lines:
        if line.startswith(b"event: "):
            kind = line[7:].decode().strip()
        elif line.startswith(b"data: ") and kind != "hello":
            yield json.loads(line[6:])


async def open_pages(root: str, users: Sequence[str], seen: PagesHeard, *, within: float) -> asyncio.Task[None]:
    """Open a page for each of the users, one after the other in `within` seconds; they stay until it is cancelled."""
    ready: deque[asyncio.Task[None]] = deque()
    choose = random.Random(11)

    async def one(session: aiohttp.ClientSession, number: int, user: str) -> None:
        await asyncio.sleep(within * choose.random())
        await OpenPage(session, root, user, MIX[number % len(MIX)], seen).stay()

    async def all_of_them() -> None:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as group:
            for number, user in enumerate(users):
                ready.append(group.create_task(one(session, number, user)))

    opened = asyncio.create_task(all_of_them())
    await asyncio.sleep(within)
    return opened
