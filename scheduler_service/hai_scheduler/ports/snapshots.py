"""The port to the snapshots of code: what users send, and the folders in which tasks start."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from hai_scheduler.core.workspace.mounts import Mount


class SnapshotFault(Exception):
    """A snapshot cannot be stored or used; the message says why, and the remedy."""


class SnapshotTooLarge(SnapshotFault):
    """What was sent is more than the limits allow."""


class NoSuchSnapshot(SnapshotFault):
    """The user has sent no snapshot with this digest, or it was removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLimits:
    """The most that users may store."""

    #: Files of one snapshot, and of all snapshots of a user together.
    files: int = 20_000
    files_per_user: int = 1_000_000
    #: Bytes of a single file, of one snapshot, and of all different contents of a user.
    file_size: int = 64 * 1024 * 1024
    size: int = 512 * 1024 * 1024
    size_per_user: int = 10 * 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSnapshot:
    """How much of a snapshot is stored."""

    digest: str
    files: int
    size: int
    #: The SHA-256 of each content that is missing, in the order of the manifest; empty where it is complete.
    missing: Sequence[str] = ()
    #: Whether its folder is there, so that tasks can start in it.
    complete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFolder:
    """Where a rank finds a snapshot."""

    path: str
    #: What must be mounted for that; None: nodes see the folder anyway.
    mount: Mount | None = None


class ContentReceiver(Protocol):
    """Takes a stream of contents while it arrives."""

    async def take(self, piece: bytes) -> None:
        """Take the next bytes of the stream; complete contents are kept. Raises SnapshotFault."""
        ...

    async def finish(self) -> None:
        """Keep all contents of a stream that has ended; raises SnapshotFault if it has ended too early."""
        ...

    async def abort(self) -> None:
        """Give up a stream that has broken off: contents that were complete are kept. A second call does nothing."""
        ...


class Snapshots(Protocol):
    """The snapshots of all users. A user's contents are that user's alone: no other can name them, or learn of them."""

    @property
    def limits(self) -> SnapshotLimits:
        """The most that users may store."""
        ...

    async def offer(self, user: str, digest: str, packed: bytes) -> StoredSnapshot:
        """Store a manifest, as the client has compressed it, and return what is missing.

        Makes the folder where nothing is missing.

        Raises:
            SnapshotTooLarge: It has more than the limits allow.
            SnapshotFault: It is no manifest, or not the one of the digest.
        """
        ...

    async def state(self, user: str, digest: str) -> StoredSnapshot:
        """How much of a snapshot is stored. Raises NoSuchSnapshot."""
        ...

    async def receive(self, user: str, digest: str) -> ContentReceiver:
        """Begin to receive contents that a snapshot lacks. Raises NoSuchSnapshot."""
        ...

    async def complete(self, user: str, digest: str) -> StoredSnapshot:
        """Make the folder of a snapshot if nothing is missing. Raises NoSuchSnapshot."""
        ...

    def using(self, user: str, digest: str) -> AbstractAsyncContextManager[StoredSnapshot]:
        """Keep a complete snapshot from being removed meanwhile. Raises NoSuchSnapshot, also for one with gaps."""
        ...

    async def folder(self, user: str, digest: str) -> CodeFolder:
        """Where ranks find a complete snapshot. Raises NoSuchSnapshot, and SnapshotFault if it was tampered with."""
        ...

    async def manifest(self, user: str, digest: str) -> bytes:
        """The manifest of a snapshot, compressed as the client has sent it. Raises NoSuchSnapshot."""
        ...

    def contents(self, user: str, digest: str, start: int) -> AsyncIterator[tuple[str, bytes]]:
        """The different contents of a snapshot in the order of its manifest, from the one with number `start` on.

        Raises NoSuchSnapshot.
        """
        ...

    async def users(self) -> Sequence[str]:
        """The users with anything stored."""
        ...

    def sweeping(self, user: str) -> AbstractAsyncContextManager[SnapshotSweep | None]:
        """Keep everybody else from a user's snapshots for a moment; None: somebody uses them just now."""
        ...


class SnapshotSweep(Protocol):
    """The removal of what is no longer needed of one user."""

    async def remove(self, used: Collection[str], now: datetime, keep: timedelta) -> int:
        """Remove snapshots that were not used for so long, and contents of no snapshot; return how many snapshots.

        Args:
            used: The digests of snapshots that unfinished tasks have.
            now: The time.
            keep: How long a snapshot stays that no unfinished task has.
        """
        ...
