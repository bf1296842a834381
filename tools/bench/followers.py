"""The cost of followers of one log for the service, and their delay: `python -m bench followers`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aiohttp

from bench.figures import Report, percentile, say
from bench.followers_service import USERS
from bench.proc import cpu_share
from integration.api.conftest import PREFIX

TOPIC: Final = "followers of one log"
FOLLOWERS: Final = (0, 1, 50, 200)
#: Lines that the task prints each second, and the seconds of a measurement.
LINES_A_SECOND: Final = 10
SECONDS: Final = 10.0


def measure(report: Report) -> None:
    """Count the service's processor time with more and more followers of a log that grows."""
    for count in FOLLOWERS:
        say(f"{count} followers")
        with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as temporary:
            share, delays = asyncio.run(_measured(Path(temporary), count))
        report.add(TOPIC, f"{count} followers: service CPU", share, "%", "of a core")
        if delays:
            share_heard = 100 * len(delays) / (count * LINES_A_SECOND * SECONDS)
            report.add(TOPIC, f"{count} followers: lines heard of lines printed", share_heard, "%", "100: they keep up")
            report.add(TOPIC, f"{count} followers: delay p50", 1000 * percentile(delays, 50), "ms")
            report.add(TOPIC, f"{count} followers: delay p99", 1000 * percentile(delays, 99), "ms")


async def _measured(folder: Path, count: int) -> tuple[float, list[float]]:
    (folder / "log").mkdir()
    log = folder / "log" / f"{0:020d}.log"
    log.touch()
    command = [sys.executable, "-m", "bench.followers_service", str(folder)]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220  # ours
    assert service.stdout is not None
    root = await asyncio.to_thread(service.stdout.readline)
    delays: list[float] = []
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            jobs = [asyncio.create_task(_print(log))]
            jobs += [
                asyncio.create_task(_follow(session, root.strip(), number % USERS, delays)) for number in range(count)
            ]
            await asyncio.sleep(3)
            delays.clear()
            share = await asyncio.to_thread(cpu_share, service.pid, SECONDS)
            heard = list(delays)
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
    finally:
        service.kill()
        service.wait()
    return share, heard


async def _print(log: Path) -> None:
    with log.open("a") as file:
        while True:
            file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ} {time.time()}\n")
            file.flush()
            await asyncio.sleep(1 / LINES_A_SECOND)


async def _follow(session: aiohttp.ClientSession, root: str, user: int, delays: list[float]) -> None:
    url = f"{root}{PREFIX}api/v1/tasks/1/logs?follow=1"
    headers = {"Authorization": f"Bearer user-{user}"}
    async with session.get(url, headers=headers, timeout=aiohttp.ClientTimeout(total=None)) as response:
        assert response.status == 200, await response.text()
        async for raw in response.content:
            if raw.startswith(b"data: "):
                line: dict[str, Any] = json.loads(raw[6:])
                if line.get("rank") is not None:
                    delays.append(time.time() - float(line["text"]))
