"""What a snapshot may be, and how much a user may store."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence

from hai_client.snapshots import manifest as manifests
from hai_client.snapshots.manifest import Manifest
from hai_scheduler.adapters.snapshots.layout import Place
from hai_scheduler.ports.snapshots import SnapshotFault, SnapshotLimits, SnapshotTooLarge


def checked_manifest(limits: SnapshotLimits, digest: str, packed: bytes) -> Manifest:
    """Return the manifest that a client has sent. Raises SnapshotFault, SnapshotTooLarge."""
    try:
        body = manifests.decompress(packed)
        if manifests.digest_of(body) != digest:
            raise SnapshotFault("digest: the manifest has another SHA-256: send the one that was named")
        found = manifests.parse(body, most=limits.files)
    except manifests.BadManifest as error:
        raise SnapshotFault(f"manifest: {error}") from None
    largest = max(found.entries, key=lambda entry: entry.size, default=None)
    if largest is not None and largest.size > limits.file_size:
        raise SnapshotTooLarge(
            f"manifest: {largest.path!r:.200} has {_mib(largest.size)}, and a file may have "
            f"{_mib(limits.file_size)}: leave it out with .haiignore"
        )
    if found.size > limits.size:
        raise SnapshotTooLarge(
            f"manifest: the files have {_mib(found.size)}, and a snapshot may have {_mib(limits.size)}: "
            "leave out with .haiignore what is no code"
        )
    return found


def check_space(limits: SnapshotLimits, place: Place, found: Manifest, missing: Sequence[str], *, known: bool) -> None:
    """Check that a user has room for a snapshot.

    Args:
        limits: The limits.
        place: What the user has stored.
        found: The manifest of the snapshot.
        missing: The contents that will be sent.
        known: Whether the manifest is stored already.

    Raises:
        SnapshotTooLarge: There is not enough.
        OSError: The disk has no room.
    """
    if known and not missing:
        return
    sizes = found.blobs
    more = sum(sizes[content] for content in missing)
    check_disk(place, more)
    used = used_size(place) if missing else 0
    if missing and used + more > limits.size_per_user:
        raise SnapshotTooLarge(
            f"your snapshots take {_mib(used)}, this one needs {_mib(more)} more, and a user may have "
            f"{_mib(limits.size_per_user)}: leave files out with .haiignore; space comes back some days "
            "after tasks end, and an admin can raise HaiScheduler.snapshot_mib_per_user"
        )
    files = 0 if known else _used_files(place)
    if files + len(found.entries) > limits.files_per_user:
        raise SnapshotTooLarge(
            f"your snapshots have {files} files, this one has {len(found.entries)}, and a user may have "
            f"{limits.files_per_user}: space comes back some days after tasks end, and an admin can raise "
            "HaiScheduler.snapshot_files_per_user"
        )


def check_disk(place: Place, need: int) -> None:
    """Raise OSError if the disk has no room for contents, before one of them is written.

    Args:
        place: What the user has stored.
        need: The bytes that will come.
    """
    if free_on_disk(place) < need:
        raise full_disk(place, need)


def full_disk(place: Place, need: int) -> OSError:
    """Return the error for contents for which the disk has no room, with what they need and what is free."""
    said = f"their disk is full: the files need {_mib(need)}, and it has {_mib(free_on_disk(place))} free"
    return OSError(errno.ENOSPC, said, str(place.folder))


def free_on_disk(place: Place) -> int:
    """Return how much can still be written beside a user's snapshots, bytes."""
    facts = os.statvfs(place.folder)
    return facts.f_bavail * facts.f_frsize


def used_size(place: Place) -> int:
    """Return the bytes of all contents of a user, complete or not."""
    total = 0
    for part in ("contents", "incoming"):
        for _, _, files, handle in os.fwalk(place.folder / part):
            for name in files:
                with contextlib.suppress(OSError):
                    total += os.stat(name, dir_fd=handle, follow_symlinks=False).st_size
    return total


def _used_files(place: Place) -> int:
    total = 0
    for counts in (place.folder / "counts").iterdir():
        with contextlib.suppress(OSError, ValueError):
            total += int(counts.read_text().split()[0])
    return total


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
