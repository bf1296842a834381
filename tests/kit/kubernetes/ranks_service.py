"""The service as ranks see it, over one cluster and without a store; commands of tests ask it whether they may exit."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from aiohttp import web

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.errors import Absent, OffsetMismatch, Temporary
from kit.stores import ScratchStore

_KEEP = 1 << 30


class RanksService:
    """A stand-in for the service that answers the supervisors in pods."""

    def __init__(self) -> None:
        self.logs = ScratchStore().logs
        self.cluster: Cluster | None = None
        #: Whether commands that wait may exit.
        self.released = False
        #: How often each command was started, by run and rank.
        self.starts: Counter[str] = Counter()
        #: The reports of ranks.
        self.reports: list[dict[str, Any]] = []
        #: Whether a rank that its node tells to leave is answered that its run was killed.
        self.killed = True
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self, host: str) -> None:
        """Listen where pods can reach it."""
        app = web.Application(client_max_size=1 << 24)
        app.add_routes(
            [
                web.get("/api/runs/{run}/addresses", self._addresses),
                web.get("/api/runs/{run}/notice", self._notice),
                web.post("/api/runs/{run}/ranks/{rank}/report", self._report),
                web.put("/api/runs/{run}/ranks/{rank}/log", self._log),
                web.get("/go", self._go),
                web.get("/started/{what}", self._started),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "0.0.0.0", 0)
        await site.start()
        self.url = f"http://{host}:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _addresses(self, request: web.Request) -> web.Response:
        found = None
        async with asyncio.timeout(float(request.query["wait"]) + 5):
            while found is None and not self._closing.is_set():
                try:
                    found = await self.cluster.addresses(RunId(request.match_info["run"])) if self.cluster else None
                except (Absent, Temporary):
                    found = None
                if found is None:
                    await asyncio.sleep(0.2)
        return web.json_response({"addresses": found})

    async def _notice(self, request: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(float(request.query["wait"])):
                await self._closing.wait()
        except TimeoutError:
            pass
        return web.Response(status=204)

    async def _report(self, request: web.Request) -> web.Response:
        report = await request.json()
        self.reports.append({**report, "run": request.match_info["run"], "rank": int(request.match_info["rank"])})
        return web.Response(status=410 if report["kind"] == "leaving" and self.killed else 204)

    async def _log(self, request: web.Request) -> web.Response:
        run, rank = RunId(request.match_info["run"]), int(request.match_info["rank"])
        offset, skip = int(request.query["offset"]), request.query.get("skip") == "true"
        try:
            end = await self.logs.append(run, rank, offset=offset, data=await request.read(), keep=_KEEP, skip=skip)
        except OffsetMismatch as error:
            return web.json_response({}, status=409, headers={"Upload-Offset": str(error.expected)})
        return web.json_response({"next": end})

    async def _go(self, request: web.Request) -> web.Response:
        return web.Response(status=200 if self.released else 204)

    async def _started(self, request: web.Request) -> web.Response:
        self.starts[request.match_info["what"]] += 1
        return web.Response()
