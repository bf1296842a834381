"""Two real services on one database, each a scheduling loop and an API, beside a Hub that says who a token is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from kit.databases import empty_postgres, postgres_url, sqlite_url
from kit.ports import free_port
from kit.redis_server import RedisServer
from kit.waiting import PATIENCE, until

PREFIX = "/services/hai/"
SECRET = "the-secret-that-all-replicas-of-these-tests-share"
PASSWORDS = ("s3cret-of-redis", "s3cret-of-postgres", SECRET)
#: Seconds; much longer than any step takes.
SOON = 120.0
#: Seconds within which another replica leads, on a machine that is busy with other work too.
TAKEOVER = 60.0


class _User(RequestHandler):
    """A stand-in for the Hub's API of tokens: `NAME-token` belongs to the user NAME, with all scopes."""

    def get(self) -> None:
        name = self.request.headers["Authorization"].split(" ", 1)[1].removesuffix("-token")
        scopes = ["access:services!service=hai", "custom:hai:tasks:write", "custom:hai:admin", "custom:hai:metrics"]
        self.write(json.dumps({"name": name, "kind": "user", "groups": [], "scopes": scopes}))


@dataclass
class Replica:
    """One loop and one API, as on a machine of their own; `process` is the loop's."""

    name: str
    log: Path
    words: list[str]
    environ: dict[str, str]
    client: aiohttp.ClientSession
    port: int = field(default_factory=free_port)
    health_port: int = field(default_factory=free_port)
    process: asyncio.subprocess.Process | None = None
    api: asyncio.subprocess.Process | None = None

    @property
    def api_log(self) -> Path:
        """The log of the API; `log` is the log of the loop."""
        return self.log.with_suffix(".api.log")

    @property
    def said(self) -> str:
        """The text of both logs."""
        return "".join(log.read_text() for log in (self.log, self.api_log) if log.exists())

    @property
    def processes(self) -> list[asyncio.subprocess.Process]:
        """The processes of loop and API that have been started."""
        return [process for process in (self.process, self.api) if process is not None]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PREFIX}api/v1"

    @property
    def up(self) -> bool:
        """Whether the loop or the API runs."""
        return any(process.returncode is None for process in self.processes)

    async def launch(self) -> None:
        """Start both processes at once."""
        await asyncio.gather(self.launch_loop(), self.launch_api())

    async def launch_loop(self) -> None:
        """Start the scheduling loop."""
        self.process = await self._start(self.log, "--role", "loop", "--health-port", str(self.health_port))

    async def launch_api(self) -> None:
        """Start the API."""
        self.api = await self._start(self.api_log, "--role", "api")

    async def _start(self, log: Path, *words: str) -> asyncio.subprocess.Process:
        with log.open("ab") as output:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "hai_scheduler", *words, *self.words, "--port", str(self.port)),
                env=self.environ,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    async def leader(self) -> str | None:
        """Which loop leads, as this loop says; None while the loop or the API is not ready."""
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            status, _ = await self.json("GET", "/health/ready", None)
            return await self.loop_says() if status == 200 else None
        assert self.up, self.said
        return None

    async def loop_says(self) -> str | None:
        """Which loop leads, as this loop says; None while it is not ready."""
        url, limit = f"http://127.0.0.1:{self.health_port}/health/ready", aiohttp.ClientTimeout(total=10)
        async with self.client.get(url, timeout=limit) as response:
            return str((await response.json())["leader"]) if response.status == 200 else None

    async def ready(self) -> bool:
        return await self.leader() is not None

    async def leads(self) -> bool:
        return await self.leader() == "this"

    async def follows(self) -> bool:
        return await self.leader() == "another"

    async def json(self, method: str, path: str, who: str | None = "ann-token", **options: Any) -> tuple[int, Any]:
        headers = {} if who is None else {"Authorization": f"Bearer {who}"}
        limit = aiohttp.ClientTimeout(total=options.pop("seconds", 30))
        async with self.client.request(method, self.url + path, headers=headers, timeout=limit, **options) as response:
            text = await response.text()
            return response.status, json.loads(text) if text else None

    async def is_told_to_be(self, status: str) -> bool:
        """Whether health says so by now: it knows of nodes what the process last saw."""
        return bool((await self.get("/health"))["status"] == status)

    async def get(self, path: str) -> Any:
        status, body = await self.json("GET", path)
        assert status == 200, body
        return body

    async def submit(self, name: str, script: str, **more: Any) -> int:
        """Submit a task of one node that runs shell lines; returns its id."""
        body = {"name": name, "command": ["sh", "-c", script], "cwd": "/", "nodes": 1, "priority": "NORMAL", **more}
        status, task = await self.json("POST", "/tasks", json=body)
        assert status == 201, task
        return int(task["id"])

    async def state(self, task: int) -> str:
        return str((await self.get(f"/tasks/{task}"))["state"])

    async def wait_for(self, task: int, state: str, *, within: float = PATIENCE) -> None:
        await until(f"task {task} to be {state}", lambda: self.state(task), within, met=lambda seen: seen == state)

    def send(self, number: signal.Signals) -> None:
        """Send the signal to loop and API."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    async def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Send the signal to both and wait for their end; returns an exit status other than 0 if one has it, else 0."""
        self.send(number)
        async with asyncio.timeout(SOON):
            statuses = [await process.wait() for process in self.processes]
        return next((status for status in statuses if status), 0)


@dataclass
class Pair:
    """Two replicas, the world that they share, and a folder for what tasks write. A module's tests share one."""

    one: Replica
    other: Replica
    redis: RedisServer
    folder: Path
    tokens: RunTokens

    async def start(self) -> tuple[Replica, Replica]:
        """Start the replicas that are not up, at the same time; returns the leader and the follower."""
        await asyncio.gather(*(replica.launch() for replica in (self.one, self.other) if not replica.up))
        return await self.roles()

    async def roles(self) -> tuple[Replica, Replica]:
        """The leader and the follower, as soon as there are both."""

        async def found() -> tuple[Replica, Replica] | None:
            for leader, follower in ((self.one, self.other), (self.other, self.one)):
                if await leader.leads() and await follower.follows():
                    return leader, follower
            return None

        try:
            return await until("a leader and a follower", found)
        except AssertionError:
            pytest.fail(f"there are no leader and follower:\n{self.logs()}")

    def counting(self, name: str, then: str = "true") -> str:
        """A script that adds a line to the file `name` each time it runs."""
        return f"echo ran >> {shlex.quote(str(self.folder / name))}; {then}"

    def count(self, name: str) -> int:
        """How often that script was run."""
        file = self.folder / name
        return len(file.read_text().splitlines()) if file.exists() else 0

    def token(self, run_id: str) -> str:
        return self.tokens.make(RunId(run_id)).reveal()

    def logs(self) -> str:
        return self.one.said + self.other.said


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hub() -> AsyncIterator[str]:
    server = HTTPServer(Application([("/hub/api/user", _User)]))
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    yield f"http://127.0.0.1:{sockets[0].getsockname()[1]}/hub/api"
    server.stop()
    await server.close_all_connections()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["postgres"])
async def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """PostgreSQL with nothing in it, unless the test asks for SQLite."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path_factory.mktemp("database") / "hai.sqlite")
    url = postgres_url()
    await empty_postgres(url, drop=True)
    return url.replace("hai@", "hai:s3cret-of-postgres@")


def service_environment(hub: str, database: str, redis: RedisServer | None) -> dict[str, str]:
    """What the Hub gives a service of its own, with the databases of two replicas; nothing of who runs the tests.

    Empty and None: the service's own SQLite, and no other replica.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HAI_", "JUPYTERHUB_"))}
    return kept | {
        "HAI_DB_URL": database,
        "HAI_REDIS_URL": redis.url if redis is not None else "",
        "HAI_SERVICE_SECRET": SECRET,
        "JUPYTERHUB_API_URL": hub,
        "JUPYTERHUB_API_TOKEN": "token-of-the-service",
        "JUPYTERHUB_SERVICE_NAME": "hai",
        "JUPYTERHUB_CLIENT_ID": "service-hai",
        "JUPYTERHUB_SERVICE_PREFIX": PREFIX,
        "JUPYTERHUB_OAUTH_ACCESS_SCOPES": '["access:services!service=hai"]',
        "PYTHONUNBUFFERED": "1",
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, hub: str, database: str) -> AsyncIterator[Pair]:
    """Two replicas that have not been started."""
    tmp_path = tmp_path_factory.mktemp("replicas")
    redis = RedisServer(password="s3cret-of-redis")
    state = tmp_path / "state"
    environ = service_environment(hub, database, redis)
    # The lease is as long as usual: with a shorter one a busy machine lets a replica wait until it has lost it.
    words = ["--state-dir", str(state), "--nodes", "2", "--gpus-per-node", "1"]
    folder = tmp_path / "tasks"
    folder.mkdir()
    made: list[Replica] = []
    async with aiohttp.ClientSession() as client:
        try:
            redis.start()
            made = [Replica(name, tmp_path / f"{name}.log", words, environ, client) for name in ("one", "other")]
            yield Pair(*made, redis=redis, folder=folder, tokens=RunTokens(Secret(SECRET)))
        finally:
            for replica in made:
                if replica.up:
                    await replica.end()
            _end_ranks(state)
            redis.remove()


@pytest_asyncio.fixture(loop_scope="module")
async def pair(world: Pair) -> AsyncIterator[Pair]:
    """The same two, with Redis up; what a test leaves over does not hold the nodes of the next one."""
    if not world.redis.up:
        world.redis.start()
    yield world
    for replica in (world.one, world.other):
        if replica.up:
            await _stop_tasks(replica)
            return


@pytest_asyncio.fixture(loop_scope="module")
async def single(tmp_path: Path, hub: str) -> AsyncIterator[Replica]:
    """One service that is alone, on SQLite; it has not been started."""
    environ = service_environment(hub, "", None)
    words = ["--state-dir", str(tmp_path / "state"), "--nodes", "1", "--gpus-per-node", "1"]
    async with aiohttp.ClientSession() as client:
        replica = Replica("single", tmp_path / "single.log", words, environ, client)
        try:
            yield replica
        finally:
            if replica.up:
                await replica.end()
            _end_ranks(tmp_path / "state")


async def _stop_tasks(replica: Replica) -> None:
    """End every task, and wait until they have ended."""

    async def unfinished() -> list[int]:
        tasks = (await replica.get("/tasks?user=*&limit=200"))["items"]
        return [task["id"] for task in tasks if task["state"] not in {"succeeded", "failed", "stopped"}]

    async def none() -> bool:
        return not await unfinished()

    await until("the service to be ready", replica.ready)
    for task in await unfinished():
        await replica.json("POST", f"/tasks/{task}/stop")
    await until("every task to end", none)


def _end_ranks(state: Path) -> None:
    """End the ranks: ranks outlive their service, but these must not outlive their test."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(state).encode() in (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
