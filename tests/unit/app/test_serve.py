"""A process of the service: what it prepares before it begins, and that it ends with everything closed."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.system.socket_bus import SocketBus
from hai_scheduler.app import api, loop, world
from hai_scheduler.app import serve as module
from hai_scheduler.app.config import ConfigError, HaiScheduler, Settings
from hai_scheduler.app.serve import serve
from hai_scheduler.app.state_lock import StateLock
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.shared.world import World
from hai_scheduler.store.store import SqlStore


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The settings of the scheduling loop of one machine with two simulated nodes."""
    words = ["--role", "loop", "--state-dir", str(tmp_path / "state"), "--nodes", "2", "--gpus-per-node", "1"]
    return HaiScheduler().settings([*words, "--port", "1"])


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """The service changes how its process switches threads."""
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which adapters were closed, in order."""
    story: list[str] = []
    for kind in (SqlStore, LocalCluster, SocketBus):

        async def closing(adapter: Any, close: Any = kind.close, name: str = kind.__name__) -> None:
            story.append(name)
            await close(adapter)

        monkeypatch.setattr(kind, "close", closing)
    return story


@asynccontextmanager
async def serving(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[asyncio.Task[None]]:
    """The process of the settings' role, as soon as it answers whether it is well; it is ended by SIGTERM."""
    listening = asyncio.Event()
    listen = loop.listen

    def heard(*parts: Any, **where: Any) -> Any:
        listening.set()
        return listen(*parts, **where)

    monkeypatch.setattr(loop, "listen", heard)
    running = asyncio.create_task(serve(settings))
    waiting = asyncio.create_task(listening.wait())
    await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    try:
        yield running
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        await running


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_loop_decides_until_it_is_told_to_end_and_closes_everything(
    settings: Settings, closed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(settings, monkeypatch):
        assert StateLock.try_take(settings.state_dir, "another") is None, "the folder is its own"
    assert closed == ["SocketBus", "LocalCluster", "SqlStore"]
    lock = StateLock.try_take(settings.state_dir, "another")
    assert lock is not None
    lock.free()
    assert sys.getswitchinterval() == module.SWITCH_S


async def test_the_state_folder_is_made_for_its_owner_alone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (settings.state_dir / "checkpoints").mkdir(parents=True)
    (settings.state_dir / "checkpoints").chmod(0o777)
    async with serving(settings, monkeypatch):
        made = {name: mode(settings.state_dir / name) for name in ("checkpoints", "service_secret", "bus")}
    assert made == {"checkpoints": 0o700, "service_secret": 0o600, "bus": 0o700}


async def test_a_secret_that_is_given_is_not_written_to_the_disk(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(replace(settings, service_secret=Secret("s3cret" * 8)), monkeypatch):
        assert not (settings.state_dir / "service_secret").exists()


async def test_a_state_folder_that_cannot_be_used_is_named(settings: Settings) -> None:
    settings.state_dir.write_text("a file")
    with pytest.raises(ConfigError, match="state-dir"):
        await serve(settings)


async def test_what_is_away_at_the_start_is_waited_for_and_each_try_closes_what_it_opened(
    settings: Settings, closed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first check that needs the database may fail after all adapters have been opened."""
    tries, decide = 0, world.decide

    async def away(*about: Any) -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise Temporary("the state database does not answer")
        await decide(*about)

    monkeypatch.setattr(world, "decide", away)
    quickly = functools.partial(world.when_it_is_there, pauses=(0.001, 0.001))
    monkeypatch.setattr(world, "when_it_is_there", quickly)
    async with serving(settings, monkeypatch):
        assert tries == 3
        assert closed == ["SocketBus", "LocalCluster", "SqlStore"] * 2
    assert len(closed) == 9


async def test_one_that_waits_for_the_database_ends_when_it_is_told_to(
    settings: Settings, closed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = asyncio.Event()

    async def away(*_: Any) -> None:
        tried.set()
        raise Temporary("the state database does not answer")

    monkeypatch.setattr(world, "open_world", away)
    running = asyncio.create_task(serve(settings))
    await tried.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await running
    assert closed == []
    lock = StateLock.try_take(settings.state_dir, "another")
    assert lock is not None
    lock.free()


async def test_the_next_loop_knows_which_one_it_follows(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it takes the lease over at once, not when the lease of a dead loop has expired."""
    known: list[str | None] = []
    made = loop.SchedulingLoop

    def heard(around: World, tokens: RunTokens, *, predecessor: str | None) -> Any:
        known.extend((predecessor, around.holder))
        return made(around, tokens, predecessor=predecessor)

    monkeypatch.setattr(loop, "SchedulingLoop", heard)
    for _ in range(2):
        async with serving(settings, monkeypatch):
            pass
    first, holder, second, other = known
    assert (first, second) == (None, holder)
    assert holder != other


async def test_an_address_that_cannot_be_told_to_ranks_keeps_no_service_from_starting(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    (settings.state_dir / "runs").parent.mkdir(parents=True)
    (settings.state_dir / "runs").write_text("a file")
    with caplog.at_level(logging.ERROR):
        await api._announce(settings, "http://127.0.0.1:1/api/v1")
    assert "ranks that started before a move do not hear" in caplog.text


async def test_ranks_are_told_where_the_service_is(settings: Settings) -> None:
    for url in ("http://a/api/v1", "http://b/api/v1"):
        await api._announce(settings, url)
    assert (settings.state_dir / "runs" / "address").read_text().split() == ["http://b/api/v1"]
    await api._announce(replace(settings, redis_url=Secret("redis://h/0")), "http://c/api/v1")
    assert (settings.state_dir / "runs" / "address").read_text().split() == ["http://c/api/v1", "http://b/api/v1"]
