"""A real service whose SQLite database is taken back to an older state, with real runs (decision 0016)."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application

from hai_client.errors import Invalid
from hai_scheduler.state_cli.app import run_backup, run_restore
from integration.replicas.conftest import PREFIX, SECRET, Replica, _end_ranks, _User
from kit.waiting import until

#: A command that runs until it is ended.
FOREVER = "echo started; while :; do sleep 0.1; done"


class Alone:
    """One service, its state folder, and its database."""

    def __init__(self, service: Replica, state: Path) -> None:
        self.service = service
        self.state = state
        self.database = state / "hai.sqlite"

    async def start(self) -> Replica:
        """Start it and wait until it schedules."""
        await self.service.launch()
        await until("the service to lead", self.service.leads)
        return self.service

    def restore_by_hand(self, backup: Path) -> None:
        """What an admin does who has not read the manual."""
        for file in self.state.glob("hai.sqlite*"):
            file.unlink()
        shutil.copy(backup, self.database)

    async def run(self, name: str, script: str, *, end: str = "succeeded", user: str = "ann") -> int:
        body = {"name": name, "command": ["sh", "-c", script], "cwd": "/", "nodes": 1, "priority": "NORMAL"}
        status, task = await self.service.json("POST", "/tasks", f"{user}-token", json=body)
        assert status == 201, task
        await self.service.wait_for(task["id"], end)
        return int(task["id"])

    async def log(self, task: int) -> list[str]:
        page = await self.service.get(f"/tasks/{task}/logs")
        return [line["text"] for line in page["lines"] if line["rank"] is not None]

    def pids(self, run: str) -> set[int]:
        """The supervisors of a run."""
        task, _, number = run.partition(".")
        return {int(lock.read_text()) for lock in (self.state / "runs" / task / number).glob("*/lock")}


@pytest_asyncio.fixture
async def own_hub() -> AsyncIterator[str]:
    server = HTTPServer(Application([("/hub/api/user", _User)]))
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    yield f"http://127.0.0.1:{sockets[0].getsockname()[1]}/hub/api"
    server.stop()
    await server.close_all_connections()


@pytest_asyncio.fixture
async def alone(tmp_path: Path, own_hub: str) -> AsyncIterator[Alone]:
    state = tmp_path / "state"
    environ = {
        "PATH": "/usr/bin:/bin",
        "HAI_SERVICE_SECRET": SECRET,
        "JUPYTERHUB_API_URL": own_hub,
        "JUPYTERHUB_API_TOKEN": "token-of-the-service",
        "JUPYTERHUB_SERVICE_NAME": "hai",
        "JUPYTERHUB_CLIENT_ID": "service-hai",
        "JUPYTERHUB_SERVICE_PREFIX": PREFIX,
        "JUPYTERHUB_OAUTH_ACCESS_SCOPES": '["access:services!service=hai"]',
    }
    words = ["--state-dir", str(state), "--nodes", "2", "--gpus-per-node", "1", "--HaiScheduler.lease_length=2.5s"]
    async with aiohttp.ClientSession() as client:
        service = Replica("alone", tmp_path / "log", words, environ, client)
        try:
            yield Alone(service, state)
        finally:
            if service.up:
                await service.end()
            _end_ranks(state)


async def test_a_copy_that_is_put_back_by_hand_confuses_no_run_with_another(alone: Alone, tmp_path: Path) -> None:
    service = await alone.start()
    known = await alone.run("known", FOREVER, end="running")
    backup = tmp_path / "backup.sqlite"
    assert run_backup(["--state-dir", str(alone.state), str(backup)]) == 0
    secret = await alone.run("secret", "echo ann has a secret")
    stray = await alone.run("stray", FOREVER, end="running")
    before = alone.pids(f"{known}.1") | alone.pids(f"{stray}.1")
    await service.end(signal.SIGKILL)
    alone.restore_by_hand(backup)

    await alone.start()
    assert alone.pids(f"{known}.1") | alone.pids(f"{stray}.1") == before
    assert await service.state(known) == "running"
    (orphan,) = (await service.get("/orphans"))["items"]
    assert (orphan["run"], orphan["user"], orphan["live"]) == (f"{stray}.1", "ann", True)
    await until("the health to be degraded", lambda: service.is_told_to_be("degraded"))
    (kept,) = (alone.state / "runs" / ".aside").glob(f"*-1/{secret}/1/0/log/*")
    assert "ann has a secret" in kept.read_text()

    mark = tmp_path / "ran"
    body = {"name": "new", "command": ["sh", "-c", f"echo x >> {mark}; echo of bob"], "cwd": "/", "nodes": 1}
    status, task = await service.json("POST", "/tasks", "bob-token", json={**body, "priority": "NORMAL"})
    assert status == 201
    assert task["id"] > stray

    async def explained() -> bool:
        told = await service.get(f"/tasks/{task['id']}/explain")
        return "runs that belong to no task" in str(told)

    await until("the explanation to name the orphans", explained)
    assert not mark.exists(), "nothing is started over a run that lives"
    assert (await service.json("POST", f"/orphans/{stray}.1/end"))[0] == 200
    await service.wait_for(task["id"], "succeeded")
    assert mark.read_text() == "x\n"
    assert await alone.log(task["id"]) == ["of bob"]
    assert (await service.get("/orphans"))["items"] == []
    await until("the health to be good again", lambda: service.is_told_to_be("ok"))
    assert await service.state(known) == "running"


def without_wal(alone: Alone) -> None:
    (alone.state / "hai.sqlite-wal").unlink()


def without_database(alone: Alone) -> None:
    for file in alone.state.glob("hai.sqlite*"):
        file.unlink()


@pytest.mark.parametrize("lose", [without_wal, without_database])
async def test_a_database_that_has_lost_its_last_writes_gives_no_id_again(
    alone: Alone, tmp_path: Path, lose: Callable[[Alone], None]
) -> None:
    service = await alone.start()
    old = [await alone.run(f"t{number}", "echo ann has a secret; exit 3", end="failed") for number in range(3)]
    live = await alone.run("live", FOREVER, end="running")
    before = alone.pids(f"{live}.1")
    await service.end(signal.SIGKILL)
    lose(alone)
    await alone.start()
    mark = tmp_path / "ran"
    new = await alone.run("t0", f"echo x >> {mark}; echo of bob", user="bob")
    assert new > max(*old, live)
    assert mark.read_text() == "x\n"
    assert await alone.log(new) == ["of bob"]
    assert [one["run"] for one in (await service.get("/orphans"))["items"]] == [f"{live}.1"]
    assert alone.pids(f"{live}.1") == before


async def test_hai_restore(alone: Alone, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    service = await alone.start()
    known = await alone.run("known", FOREVER, end="running")
    backup = tmp_path / "backup.sqlite"
    run_backup(["--state-dir", str(alone.state), str(backup)])
    ended = await alone.run("ended", "echo hello")
    stray = await alone.run("stray", FOREVER, end="running")
    words = ["--state-dir", str(alone.state), str(backup)]
    with pytest.raises(Invalid, match="a scheduler service uses"):
        run_restore(words)
    assert await service.state(stray) == "running"
    assert await service.end(signal.SIGTERM) == 0
    capsys.readouterr()

    assert await asyncio.to_thread(run_restore, words) == 0
    said = capsys.readouterr().out
    assert "its epoch 2 begins" in said
    assert "runs that the database knows: 1, 1 of them live" in said
    assert f"run {ended}.1 of ann on " in said
    assert ".aside/" in said
    assert f"run {stray}.1 of ann on " in said
    assert "live, log below" in said
    (replaced,) = [file for file in alone.state.glob("hai.sqlite.replaced-*") if file.name[-4:] not in ("-wal", "-shm")]
    assert str(replaced) in said

    await alone.start()
    assert await service.state(known) == "running"
    assert [one["run"] for one in (await service.get("/orphans"))["items"]] == [f"{stray}.1"]
    # The other way round: what was replaced knows the stray run, and has forgotten nothing.
    await service.end(signal.SIGTERM)
    await asyncio.to_thread(run_restore, ["--state-dir", str(alone.state), str(replaced)])
    await alone.start()
    assert await service.state(stray) == "running"
    assert (await service.get("/orphans"))["items"] == []
