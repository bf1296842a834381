"""A process that sends, uses and removes snapshots until it is killed: `python sender.py ROOT SEED`."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from hai_scheduler.ports.snapshots import NoSuchSnapshot
from kit.code_folders import Code


class Days:
    """A clock on which each look is an hour later, so that removals have something to do."""

    def __init__(self) -> None:
        self._now = datetime.now(UTC)

    def now(self) -> datetime:
        self._now += timedelta(hours=1)
        return self._now


async def main(root: Path, chosen: random.Random) -> None:
    clock = Days()
    snapshots = SnapshotFolder(root, clock)  # type: ignore[arg-type]
    print("ready", flush=True)
    while True:
        files = {f"{chosen.choice('abc')}/{number}.py": bytes([chosen.randrange(9)]) * 5000 for number in range(60)}
        files["run.sh"] = b"#!/bin/sh\n" * chosen.randrange(1, 4)
        code = Code(files, {"link": "run.sh"})
        # The clock of the other process may be days ahead, so that what is being sent looks old to it: what it removes
        # meanwhile, drafts too, is sent again.
        with contextlib.suppress(NoSuchSnapshot, FileNotFoundError):
            stored = await snapshots.offer("ann", code.digest, code.packed)
            while not stored.complete:
                receiver = await snapshots.receive("ann", code.digest)
                stream = code.stream(stored.missing)
                for at in range(0, len(stream), 100):
                    await receiver.take(stream[at : at + 100])
                await receiver.finish()
                stored = await snapshots.complete("ann", code.digest)
        async with snapshots.sweeping("ann") as sweep:
            if sweep is not None:
                await sweep.remove({code.digest}, clock.now(), timedelta(hours=2))


asyncio.run(main(Path(sys.argv[1]), random.Random(int(sys.argv[2]))))
