"""Processes that are killed at any moment leave no half snapshot, and nothing that stays too long."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hai_client.snapshots import manifest
from hai_client.snapshots.manifest import LINK, PROGRAM
from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from hai_scheduler.adapters.system.clock import SystemClock
from kit.code_folders import Code, sha

KILLS = 50
TESTS = Path(__file__).parents[2]


def check(root: Path) -> int:
    """Check all that is there; return the number of complete snapshots."""
    place, complete = root / "ann", 0
    for content in (place / "contents").glob("*/*"):
        assert sha(content.read_bytes()) == content.name.removesuffix(".x"), content
        assert not content.stat().st_mode & 0o222
    for tree in (place / "trees").iterdir():
        # A tree whose manifest is gone is being removed: its manifest goes last.
        packed = (place / "manifests" / tree.name).read_bytes()
        found = manifest.parse(manifest.decompress(packed), most=1000)
        assert found.digest == tree.name
        code = tree / "code"
        for entry in found.entries:
            path = code / entry.path
            if entry.kind == LINK:
                assert str(path.readlink()) == entry.what
            else:
                assert sha(path.read_bytes()) == entry.what
                assert bool(path.stat().st_mode & 0o100) == (entry.kind == PROGRAM)
        assert len([path for path in code.rglob("*") if not path.is_dir()]) == len(found.entries)
        complete += 1
    return complete


def kill_two(root: Path, number: int, chosen: random.Random) -> None:
    """Let two processes work on the same snapshots, and kill them."""
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    words = [sys.executable, str(Path(__file__).with_name("sender.py")), str(root)]
    both = [
        subprocess.Popen([*words, str(2 * number + each)], env=env, stdout=subprocess.PIPE, text=True)
        for each in (0, 1)
    ]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in both:
        time.sleep(chosen.random() * 0.15)  # the moment of the kill is what is drawn
        process.kill()
        process.communicate()
        assert process.returncode == -9, "it ended by itself"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of snapshots in which processes were killed; after each kill it was whole."""
    root, chosen, seen = tmp_path / "snapshots", random.Random(14), 0
    for number in range(KILLS // 2):
        kill_two(root, number, chosen)
        seen += check(root)
    assert seen, "nothing was ever complete"
    return root


async def test_what_is_left_by_kills_is_whole_and_goes_in_time(root: Path) -> None:
    # Sent again, a snapshot is complete, whatever was left of it.
    snapshots = SnapshotFolder(root, SystemClock())
    code = Code({f"{letter}/{number}.py": bytes([number % 9]) * 5000 for letter in "abc" for number in range(20)})
    stored = await snapshots.offer("ann", code.digest, code.packed)
    if not stored.complete:
        receiver = await snapshots.receive("ann", code.digest)
        await receiver.take(code.stream(stored.missing))
        await receiver.finish()
        assert (await snapshots.complete("ann", code.digest)).complete
    check(root)
    # Trees go first, and with them the links to their contents.
    for days in (30, 60):
        async with snapshots.sweeping("ann") as sweep:
            assert sweep is not None
            await sweep.remove((), datetime.now(UTC) + timedelta(days=days), timedelta(days=7))
    assert left_in(root / "ann") == ["lock"]


def left_in(folder: Path) -> list[str]:
    """All that is not one of the folders that are always there."""
    parts = {"manifests", "counts", "contents", "trees", "incoming"}
    found = (path.relative_to(folder) for path in folder.rglob("*"))
    return [str(path) for path in found if str(path) not in parts and path.parent != Path("contents")]
