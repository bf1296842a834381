"""Snapshots for tests: manifests and streams as the client makes them, and dishonest ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from hai_client.snapshots import manifest
from hai_client.snapshots.manifest import Entry
from hai_client.snapshots.packing import Packer
from hai_scheduler.ports.snapshots import Snapshots


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Code:
    """A folder of code in memory: the contents of its files, by path; programs end in `.sh`."""

    def __init__(self, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> None:
        self.files = dict(files)
        self.entries = [
            Entry(path, "x" if path.endswith(".sh") else "f", len(content), sha(content))
            for path, content in files.items()
        ]
        self.entries += [Entry(path, "l", 0, target) for path, target in (links or {}).items()]
        self.body = manifest.encode(self.entries)
        self.digest = manifest.digest_of(self.body)
        self.packed = manifest.compress(self.body)

    def stream(self, wanted: Sequence[str]) -> bytes:
        packer = Packer()
        contents = {sha(content): content for content in self.files.values()}
        for digest in wanted:
            packer.add(digest, contents[digest])
        return packer.finish()


def forged(entries: Sequence[Sequence[object]], **more: object) -> tuple[str, bytes]:
    """The digest and the packed form of a manifest that no client makes."""
    body = json.dumps({"files": entries, "schema": 1, **more}, separators=(",", ":")).encode()
    return sha(body), manifest.compress(body)


#: A small folder of code.
CODE = Code({"train.py": b"print(1)\n", "lib/a.py": b"a = 1\n", "run.sh": b"#!/bin/sh\n"})


async def store(snapshots: Snapshots, code: Code, user: str) -> None:
    """Send a snapshot as a client does."""
    stored = await snapshots.offer(user, code.digest, code.packed)
    if not stored.complete:
        receiver = await snapshots.receive(user, code.digest)
        await receiver.take(code.stream(stored.missing))
        await receiver.finish()
        stored = await snapshots.complete(user, code.digest)
    assert stored.complete
