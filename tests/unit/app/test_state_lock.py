"""The lock of a state folder: one service at a time, and proof that the one before is dead."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from hai_scheduler.app.state_lock import FILE, StateLock, take, take_for_api

HOLD = (
    "import asyncio, signal, sys\n"
    "from pathlib import Path\n"
    "from hai_scheduler.app.state_lock import StateLock\n"
    "kept = StateLock.try_take(Path(sys.argv[1]), 'the first')\n"
    "print(kept is not None, flush=True)\n"
    "signal.pause()\n"
)


def held_elsewhere(folder: Path) -> subprocess.Popen[str]:
    """Another process that has the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


async def test_the_next_one_waits_and_learns_who_died(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with held_elsewhere(tmp_path) as first:
        waiting = asyncio.create_task(take(tmp_path, "the second", alone=True, stop=asyncio.Event()))
        while not caplog.records:  # noqa: ASYNC110  # a log has no event
            await asyncio.sleep(0)
        assert "another scheduler service uses" in caplog.text
        assert not waiting.done()
        first.kill()
    lock = await waiting
    assert lock is not None
    assert lock.predecessor == "the first"
    lock.free()
    third = StateLock.try_take(tmp_path, "the third")
    assert third is not None
    assert third.predecessor == "the second"
    third.free()


async def test_replicas_of_one_folder_do_not_wait(tmp_path: Path) -> None:
    kept = StateLock.try_take(tmp_path, "the first")
    assert kept is not None
    assert await take(tmp_path, "the second", alone=False, stop=asyncio.Event()) is None
    assert (tmp_path / FILE).read_text() == "the first\n", "who has not the lock writes nothing"
    kept.free()


async def test_a_service_that_is_told_to_end_does_not_wait_any_longer(tmp_path: Path) -> None:
    kept = StateLock.try_take(tmp_path, "the first")
    assert kept is not None
    stop = asyncio.Event()
    waiting = asyncio.create_task(take(tmp_path, "the second", alone=True, stop=stop))
    stop.set()
    assert await waiting is None
    kept.free()


@pytest.mark.parametrize("left", ["", "cut of", "\n"])
def test_no_process_is_taken_for_dead_by_half_a_name(tmp_path: Path, left: str) -> None:
    (tmp_path / FILE).write_text(left)
    lock = StateLock.try_take(tmp_path, "the next")
    assert lock is not None
    assert not lock.predecessor
    lock.free()


async def test_a_file_system_without_locks_costs_only_the_wait_for_the_lease(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).mkdir()
    assert await take(tmp_path, "any", alone=True, stop=asyncio.Event()) is None
    assert "cannot be locked" in caplog.text


async def test_the_loop_and_the_api_of_a_folder_do_not_wait_for_each_other(tmp_path: Path) -> None:
    stop = asyncio.Event()
    loop = await take(tmp_path, "the loop", alone=True, stop=stop)
    api = await take_for_api(tmp_path, alone=True, stop=stop)
    assert loop is not None
    assert api is not None
    assert (tmp_path / FILE).read_text() == "the loop\n", "the API does not write its name"
    loop.free()
    api.free()


async def test_a_second_api_waits_unless_they_are_replicas(tmp_path: Path) -> None:
    stop = asyncio.Event()
    first = await take_for_api(tmp_path, alone=False, stop=stop)
    second = await take_for_api(tmp_path, alone=False, stop=stop)
    assert first is not None
    assert second is not None
    assert StateLock.try_take_for_api(tmp_path, alone=True) is None
    first.free()
    second.free()
    alone = StateLock.try_take_for_api(tmp_path, alone=True)
    assert alone is not None
    alone.free()
