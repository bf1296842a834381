"""A real service whose database is away when it starts, or freezes while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from integration.replicas.conftest import SECRET, Replica, service_environment
from kit.databases import empty_postgres, postgres_url
from kit.redis_server import RedisServer
from kit.waiting import until

#: The Hub of a module is shared, and with it the loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")

SOCKET = ".s.PGSQL.5432"


class Door:
    """A proxy before the database that can be shut or frozen; while frozen, it passes nothing and closes nothing."""

    def __init__(self, folder: Path, behind: str) -> None:
        self.folder, self._behind = folder, behind
        self._flows = asyncio.Event()
        self._flows.set()
        self._server: asyncio.Server | None = None
        self._copies: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"postgresql://hai@/postgres?host={self.folder}"

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self.folder / SOCKET)
        (self.folder / SOCKET).chmod(0o777)

    def freeze(self) -> None:
        self._flows.clear()

    def thaw(self) -> None:
        self._flows.set()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for copy in self._copies:
            copy.cancel()
        await asyncio.gather(*self._copies, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_unix_connection(f"{self._behind}/{SOCKET}")
        for source, target in ((reader, there_writer), (there_reader, writer)):
            self._copies.add(asyncio.create_task(self._copy(source, target)))

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                await self._flows.wait()
                target.write(data)
                await target.drain()
        target.close()


@pytest_asyncio.fixture(loop_scope="module")
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    url = postgres_url()
    await empty_postgres(url, drop=True)
    door = Door(tmp_path, url.partition("host=")[2])
    yield door
    await door.close()


@pytest_asyncio.fixture(loop_scope="module")
async def service(tmp_path: Path, hub: str, door: Door) -> AsyncIterator[Replica]:
    """One that has not been started. Its Redis never is."""
    redis = RedisServer(password="s3cret-of-redis")
    words = ["--state-dir", str(tmp_path / "state"), "--nodes", "1", "--gpus-per-node", "1"]
    async with aiohttp.ClientSession() as client:
        replica = Replica("one", tmp_path / "log", words, service_environment(hub, door.url, redis), client)
        yield replica
        if replica.up:
            await replica.end()
    redis.remove()


async def answers(service: Replica, path: str) -> tuple[int, dict | None] | None:
    """Status and body of the answer; None while no service listens."""
    try:
        return await service.json("GET", path, None, seconds=5)
    except aiohttp.ClientError:
        return None


async def test_a_service_that_starts_before_its_database_waits_and_says_so(service: Replica, door: Door) -> None:
    await service.launch()

    async def live() -> bool:
        return await answers(service, "/health/live") == (200, {"status": "live"})

    await until("the service to be live", live)
    for path in ("/health/ready", "/health", "/tasks"):
        answer = await answers(service, path)
        assert answer is not None
        status, problem = answer
        assert (status, problem["code"]) == (503, "unavailable"), path
        assert "waits for its database" in problem["detail"]
    assert service.api_log.read_text().count("the service cannot start yet and tries again") == 1
    await door.open()
    await until("the service to lead", service.leads)
    assert "Traceback" not in service.said
    assert "the waiting is over" in service.api_log.read_text()
    task = await service.submit("after", "true")
    await service.wait_for(task, "succeeded")


async def test_who_waits_for_its_database_can_be_told_to_end(service: Replica) -> None:
    await service.launch()

    async def waits() -> bool:
        return all("the service cannot start yet" in log.read_text() for log in (service.log, service.api_log))

    await until("both processes to say what they wait for", waits)
    assert await service.end(signal.SIGTERM) == 0
    assert "Traceback" not in service.said


async def test_a_database_that_freezes_makes_it_unready_within_a_second_or_so(service: Replica, door: Door) -> None:
    await door.open()
    await service.launch()
    await until("the service to lead", service.leads)
    door.freeze()
    for _ in range(5):
        began = time.monotonic()
        answer = await answers(service, "/health/ready")
        took = time.monotonic() - began
        assert answer is not None
        assert answer[0] == 503
        assert took < 3, "a second, and what a crowded machine adds"
        assert (await answers(service, "/health/live") or (0,))[0] == 200
        assert (await answers(service, "/health") or (0,))[0] == 200
    door.thaw()
    await until("the service to lead", service.leads)


async def test_a_service_whose_database_is_frozen_at_its_start_waits_too(service: Replica, door: Door) -> None:
    await door.open()
    door.freeze()
    await service.launch()

    async def unready() -> bool:
        return (await answers(service, "/health/ready") or (0,))[0] == 503

    await until("the service to be unready", unready)
    assert (await answers(service, "/health/live") or (0,))[0] == 200
    door.thaw()
    await until("the service to lead", service.leads)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (
            "mysql://hai:s3cret@db/hai",
            "HaiScheduler.db_url: the state database 'mysql://***@db/hai' is not supported",
        ),
        ("postgresql://hai@/no-such-database?host={behind}", "does not let the service in"),
        ("sqlite:////proc/hai/hai.sqlite", "cannot be written"),
    ],
)
async def test_wrong_settings_end_it_with_a_sentence(service: Replica, door: Door, url: str, words: str) -> None:
    service.environ["HAI_DB_URL"] = url.format(behind=door._behind)
    await service.launch()
    assert [await process.wait() for process in service.processes] == [2, 2]
    log = service.said
    assert log.count(words) == 2, "each process says it"
    assert "Traceback" not in log
    assert "s3cret" not in log
    assert SECRET not in log
