"""What survives the end of a process, and what an error may show."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.store.store import open_store
from kit.builders import a_spec, a_task
from kit.databases import postgres_url, sqlite_url

# Commits one setting, writes another without committing, says so, and is killed.
WRITER = """
import asyncio, os, signal, sys
from hai_scheduler.store.store import open_store

async def main() -> None:
    store = await open_store(sys.argv[1])
    async with store.write() as tx:
        await tx.settings.put("committed", "yes")
    async with store.write() as tx:
        await tx.settings.put("not committed", "yes")
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""

# Ends without closing its store.
CARELESS = """
import asyncio, sys
from hai_scheduler.store.store import open_store

async def main() -> None:
    store = await open_store(sys.argv[1])
    async with store.read() as tx:
        await tx.users.all()

asyncio.run(main())
"""


async def run(script: str, url: str) -> int:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, url)
    async with asyncio.timeout(60):
        return await process.wait()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return sqlite_url(tmp_path / "hai.sqlite") if request.param == "sqlite" else postgres_url()


async def test_what_a_killed_process_had_committed_is_there_and_nothing_else_and_no_lock_is_left(url: str) -> None:
    assert await run(WRITER, url) == -signal.SIGKILL
    store = await open_store(url)
    async with asyncio.timeout(20), store.write() as tx:
        assert await tx.settings.get("committed") == "yes"
        assert await tx.settings.get("not committed") is None
        await tx.settings.put("committed", None)
    await store.close()


async def test_a_process_that_does_not_close_its_store_can_end(url: str) -> None:
    assert await run(CARELESS, url) == 0


class Odd:
    """A text in all but name: no JSON takes it."""

    def encode(self, *_: str) -> bytes:
        return b""


async def test_errors_do_not_show_what_was_to_be_written(url: str) -> None:
    store = await open_store(url)
    spec = a_spec(env={"TOKEN": "s3cret", "ODD": Odd()})
    with pytest.raises(Exception, match="JSON") as caught:
        async with store.write() as tx:
            await tx.tasks.add(a_task(TaskId(1)), spec)
    assert "s3cret" not in str(caught.value)
    await store.close()
