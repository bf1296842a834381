"""Snapshots of code on a disk that gets full: said with what is needed and what is free, and nothing is half there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from kit.code_folders import Code
from kit.disks import small_disk
from kit.memory.clock import VirtualClock

SMALL = Code({"a.py": b"a = 1"})


@pytest.fixture
def disk() -> Iterator[Path]:
    """A file system of 1 MiB."""
    with small_disk("1m") as place:
        yield place


async def send(snapshots: SnapshotFolder, code: Code) -> None:
    stored = await snapshots.offer("ann", code.digest, code.packed)
    receiver = await snapshots.receive("ann", code.digest)
    try:
        await receiver.take(code.stream(stored.missing))
        await receiver.finish()
    finally:
        await receiver.abort()
    assert (await snapshots.complete("ann", code.digest)).complete


def files(disk: Path) -> list[str]:
    return sorted(str(path.relative_to(disk)) for path in disk.rglob("*") if path.is_file())


async def test_what_has_no_room_is_refused_before_it_is_sent(disk: Path) -> None:
    snapshots = SnapshotFolder(disk / "snapshots", VirtualClock())
    await send(snapshots, SMALL)
    before = files(disk)
    large = Code({"data.bin": os.urandom(3 * 2**20)})
    with pytest.raises(OSError, match=r"their disk is full: the files need 3\.0 MiB, and it has [01]\.[0-9] MiB free"):
        await snapshots.offer("ann", large.digest, large.packed)
    assert files(disk) == before
    assert (await snapshots.state("ann", SMALL.digest)).complete


async def test_a_disk_that_gets_full_in_the_middle_keeps_what_was_whole_and_goes_on_later(disk: Path) -> None:
    snapshots = SnapshotFolder(disk / "snapshots", VirtualClock())
    await send(snapshots, SMALL)
    code = Code({f"part{number}.bin": os.urandom(100_000) for number in range(6)})
    await snapshots.offer("ann", code.digest, code.packed)
    (disk / "filler").write_bytes(b"\0" * (700 * 1024))
    with pytest.raises(OSError, match=r"their disk is full: the files need 0\.[0-9] MiB, and it has 0\.0 MiB free"):
        await send_on(snapshots, code)
    assert not list((disk / "snapshots/ann/incoming").iterdir())
    after = await snapshots.state("ann", code.digest)
    assert not after.complete
    assert 0 < len(after.missing) < 6, "what was whole is kept"
    assert (await snapshots.state("ann", SMALL.digest)).complete
    (disk / "filler").unlink()
    await send(snapshots, code)


async def send_on(snapshots: SnapshotFolder, code: Code) -> None:
    """Send what is missing in small pieces, as a connection brings it."""
    missing = (await snapshots.state("ann", code.digest)).missing
    receiver = await snapshots.receive("ann", code.digest)
    stream = code.stream(missing)
    try:
        for at in range(0, len(stream), 16_384):
            await receiver.take(stream[at : at + 16_384])
        await receiver.finish()
    finally:
        await receiver.abort()
