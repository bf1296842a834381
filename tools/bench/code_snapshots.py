"""How long `hai submit --snapshot` takes for a folder of 10,000 files: the client and the store, without HTTP."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench.figures import Report, say
from hai_client.snapshots.taking import Most, take
from hai_client.wire.storage import SnapshotState
from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.ports.snapshots import NoSuchSnapshot, StoredSnapshot

FILES, FOLDERS = 10_000, 100
ROUNDS = 5
MOST = Most(20_000, 2**30, 2**26)


class Store:
    """The service, as far as taking a snapshot needs one."""

    def __init__(self, root: Path) -> None:
        self._snapshots = SnapshotFolder(root, SystemClock())
        self._loop = asyncio.new_event_loop()

    def snapshot_state(self, digest: str) -> SnapshotState | None:
        """See `SnapshotCalls.snapshot_state`."""
        try:
            return _state(self._loop.run_until_complete(self._snapshots.state("ann", digest)))
        except NoSuchSnapshot:
            return None

    def offer_snapshot(self, digest: str, packed: bytes) -> SnapshotState:
        """See `SnapshotCalls.offer_snapshot`."""
        return _state(self._loop.run_until_complete(self._snapshots.offer("ann", digest, packed)))

    def send_contents(self, digest: str, stream: bytes) -> SnapshotState:
        """See `SnapshotCalls.send_contents`."""
        return _state(self._loop.run_until_complete(self._send(digest, stream)))

    async def _send(self, digest: str, stream: bytes) -> StoredSnapshot:
        receiver = await self._snapshots.receive("ann", digest)
        for at in range(0, len(stream), 65_536):
            await receiver.take(stream[at : at + 65_536])
        await receiver.finish()
        return await self._snapshots.complete("ann", digest)


def measure(report: Report) -> None:
    """The first snapshot, one of the unchanged folder, and one after one file has changed."""
    topic = f"snapshot of {FILES:,} files"
    say(topic)
    with tempfile.TemporaryDirectory() as place:
        code, cache, store = Path(place) / "code", Path(place) / "cache", Store(Path(place) / "snapshots")
        _make(code)
        first = _timed(store, code, cache)
        report.add(topic, "the first one", first, "s")
        report.add(topic, "nothing has changed", _median(store, code, cache), "s", at_most=1.0)
        changed = []
        for number in range(ROUNDS):
            (code / "d0/f0.py").write_text(f"x = {number}\n")
            changed.append(_timed(store, code, cache))
        report.add(topic, "one file has changed", statistics.median(changed), "s", at_most=2.0)


def _make(code: Path) -> None:
    for number in range(FILES):
        file = code / f"d{number % FOLDERS}" / f"f{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {number}\n" * 200)
    (code / ".gitignore").write_text("*.pyc\n__pycache__/\n/data/\n*.ckpt\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(code)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    # What was written a moment ago is not remembered.
    time.sleep(1.5)


def _median(store: Store, code: Path, cache: Path) -> float:
    return statistics.median(_timed(store, code, cache) for _ in range(ROUNDS))


def _timed(store: Store, code: Path, cache: Path) -> float:
    began = time.perf_counter()
    take(store, str(code), MOST, cache=cache)
    return time.perf_counter() - began


def _state(stored: StoredSnapshot) -> SnapshotState:
    return SnapshotState(
        digest=stored.digest,
        files=stored.files,
        size=stored.size,
        complete=stored.complete,
        missing=tuple(stored.missing),
    )
