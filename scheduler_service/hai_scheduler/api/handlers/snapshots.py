"""Endpoints on snapshots of code: what users send before they submit, and get back afterwards."""

from __future__ import annotations

from hai_scheduler.api.server.route import Arriving, Ask, RawBytes, Text
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.snapshots import SnapshotPackQuery, SnapshotRules, SnapshotRulesQuery, SnapshotState
from hai_scheduler.ports.snapshots import StoredSnapshot


async def rules(ask: Ask[SnapshotRulesQuery, Nothing]) -> SnapshotRules:
    """Return the rules for tasks of a node group."""
    found = ask.platform.workspace.code.rules(ask.query.group)
    return SnapshotRules.model_validate(
        {
            "mode": found.mode,
            "machine": found.machine,
            "max_files": found.limits.files,
            "max_bytes": found.limits.size,
            "max_file_bytes": found.limits.file_size,
        }
    )


async def show(ask: Ask[Nothing, Nothing]) -> SnapshotState:
    """Return how much of a snapshot of the caller's is stored."""
    return _state(await ask.platform.workspace.code.state(ask.caller, ask.path["digest"]))


async def offer(ask: Ask[Nothing, RawBytes]) -> SnapshotState:
    """Store a manifest and return what is missing."""
    return _state(await ask.platform.workspace.code.offer(ask.caller, ask.path["digest"], bytes(ask.body)))


async def begin(ask: Ask[Nothing, Nothing]) -> Arriving:
    """Begin to receive contents."""
    return await ask.platform.workspace.code.receive(ask.caller, ask.path["digest"])


async def send(ask: Ask[Nothing, Arriving]) -> SnapshotState:
    """Keep the contents of a stream that has arrived, and return what is still missing."""
    return _state(await ask.platform.workspace.code.received(ask.caller, ask.path["digest"], ask.body))


async def manifest(ask: Ask[Nothing, Nothing]) -> Text:
    """Return the manifest of a task's snapshot."""
    return Text(await ask.platform.workspace.code.manifest(ask.caller, ask.path["task"]), "application/json")


async def pack(ask: Ask[SnapshotPackQuery, Nothing]) -> Text:
    """Return contents of a task's snapshot."""
    body = await ask.platform.workspace.code.pack(ask.caller, ask.path["task"], ask.query.start)
    return Text(body, "application/octet-stream")


def _state(stored: StoredSnapshot) -> SnapshotState:
    return SnapshotState(
        digest=stored.digest,
        files=stored.files,
        size=stored.size,
        complete=stored.complete,
        missing=list(stored.missing),
    )
