"""Snapshots in one folder. See `layout` for what lies where, and why.

Several processes, and several replicas, use one folder: everything appears by a rename, and the lock of a user, which
the file system keeps (`flock`, on a network file system too), keeps removals apart from everything else.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from hai_client.linux.identity import Account, NoAccount
from hai_client.linux.rights import make_folder
from hai_client.snapshots import manifest as manifests
from hai_client.snapshots.manifest import Manifest
from hai_scheduler.adapters.snapshots import trees
from hai_scheduler.adapters.snapshots.bounds import check_space, checked_manifest, used_size
from hai_scheduler.adapters.snapshots.layout import PASS, Place, checked, place_of, user_of
from hai_scheduler.adapters.snapshots.receiving import Receiver
from hai_scheduler.adapters.snapshots.sweeping import FolderSweep
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.ports.snapshots import (
    CodeFolder,
    NoSuchSnapshot,
    SnapshotFault,
    SnapshotLimits,
    SnapshotSweep,
    StoredSnapshot,
)
from haienv.shared.unfollowed import held, set_mode, set_owner


class SnapshotFolder:
    """See `ports.snapshots.Snapshots`.

    Args:
        root: The folder of all snapshots.
        clock: The time: when a snapshot was last used.
        limits: The most that users may store.
        account_of: The Unix account of a user; None: tasks run as this process's account.
        claim: On Kubernetes, the persistent volume claim that the folder is; None: nodes see the folder itself.
        mount_path: Where tasks see their snapshot, with a claim.
    """

    def __init__(
        self,
        root: Path,
        clock: Clock,
        limits: SnapshotLimits | None = None,
        *,
        account_of: Callable[[str], Account] | None = None,
        claim: str | None = None,
        mount_path: str = "/hai-code",
    ) -> None:
        self._root = root
        self._clock = clock
        self._limits = limits or SnapshotLimits()
        self._account_of = account_of
        self._claim = claim
        self._mount_path = mount_path

    @property
    def limits(self) -> SnapshotLimits:
        """See `Snapshots.limits`."""
        return self._limits

    async def offer(self, user: str, digest: str, packed: bytes) -> StoredSnapshot:
        """See `Snapshots.offer`."""
        return await in_reader(lambda: self._offer(user, checked(digest), packed))

    async def state(self, user: str, digest: str) -> StoredSnapshot:
        """See `Snapshots.state`."""
        place = place_of(self._root, user)
        return await in_reader(lambda: _state(place, checked(digest)))

    async def receive(self, user: str, digest: str) -> Receiver:
        """See `Snapshots.receive`."""
        return await in_reader(lambda: self._receive(place_of(self._root, user), checked(digest)))

    async def complete(self, user: str, digest: str) -> StoredSnapshot:
        """See `Snapshots.complete`."""
        return await in_reader(lambda: self._complete(user, checked(digest)))

    @contextlib.asynccontextmanager
    async def using(self, user: str, digest: str) -> AsyncIterator[StoredSnapshot]:
        """See `Snapshots.using`."""
        place = place_of(self._root, user)
        if not place.folder.is_dir():
            raise _unknown(digest)
        handle = await in_reader(lambda: place.take(alone=False))
        try:
            yield await in_reader(lambda: self._used(user, checked(digest)))
        finally:
            os.close(handle)

    async def folder(self, user: str, digest: str) -> CodeFolder:
        """See `Snapshots.folder`."""
        return await in_reader(lambda: self._folder(user, checked(digest)))

    async def manifest(self, user: str, digest: str) -> bytes:
        """See `Snapshots.manifest`."""
        place = place_of(self._root, user)
        return await in_reader(lambda: _read(place, checked(digest)))

    async def contents(self, user: str, digest: str, start: int) -> AsyncIterator[tuple[str, bytes]]:
        """See `Snapshots.contents`."""
        place = place_of(self._root, user)
        known = await in_reader(lambda: _parsed(place, checked(digest)))
        wanted = [entry.what for entry in manifests.missing_first(known.entries, set(known.blobs))]
        for content in wanted[start:]:
            try:
                yield content, await in_reader(place.either(content).read_bytes)
            except FileNotFoundError:
                raise _unknown(digest) from None

    async def users(self) -> Sequence[str]:
        """See `Snapshots.users`."""

        def look() -> list[str]:
            try:
                return sorted(user_of(entry.name) for entry in os.scandir(self._root) if entry.is_dir())
            except FileNotFoundError:
                return []

        return await in_reader(look)

    @contextlib.asynccontextmanager
    async def sweeping(self, user: str) -> AsyncIterator[SnapshotSweep | None]:
        """See `Snapshots.sweeping`."""
        place = place_of(self._root, user)
        try:
            handle = await in_reader(lambda: place.take(alone=True, patience=0.0))
        except Temporary:
            yield None
            return
        sweep = FolderSweep(place, self._take_back)
        try:
            yield sweep
        finally:
            os.close(handle)
            await in_reader(sweep.remove_aside)

    # -- in a thread ------------------------------------------------------------------------------

    def _offer(self, user: str, digest: str, packed: bytes) -> StoredSnapshot:
        found = checked_manifest(self._limits, digest, packed)
        place = place_of(self._root, user)
        if not place.folder.is_dir():
            make_folder(self._root, PASS)
            self._root.chmod(PASS)
        place.make()
        with place.locked():
            known = place.counts(digest).exists()
            missing = _missing(place, found)
            check_space(self._limits, place, found, missing, known=known)
            if not known:
                _write(place, place.manifest(digest), packed)
                _write(place, place.counts(digest), f"{len(found.entries)} {found.size}\n".encode())
            _touch(place, digest, self._clock)
        return self._complete(user, digest)

    def _receive(self, place: Place, digest: str) -> Receiver:
        found = _parsed(place, digest)
        sizes = found.blobs
        room = self._limits.size_per_user - used_size(place)
        # A client that sends the same code at the same time may have sent some since this one was told what is missing.
        return Receiver(place, sizes, lacking=sum(sizes[content] for content in _missing(place, found)), room=room)

    def _complete(self, user: str, digest: str) -> StoredSnapshot:
        place = place_of(self._root, user)
        state = _state(place, digest)
        if state.missing:
            return state
        if not state.complete:
            with place.locked():
                found = _parsed(place, digest)
                # Another process may have removed a content meanwhile: then the client is asked for it again.
                if _missing(place, found):
                    return _state(place, digest)
                trees.make(place, digest, found.entries)
        self._hand_over(user, place.tree(digest))
        return StoredSnapshot(digest=digest, files=state.files, size=state.size, complete=True)

    def _used(self, user: str, digest: str) -> StoredSnapshot:
        place = place_of(self._root, user)
        state = _state(place, digest)
        if not state.complete:
            raise _unknown(digest)
        _touch(place, digest, self._clock)
        return state

    def _folder(self, user: str, digest: str) -> CodeFolder:
        place = place_of(self._root, user)
        tree = place.tree(digest)
        code = tree / trees.CODE
        try:
            if tree.is_symlink() or code.is_symlink() or not code.is_dir():
                raise _gone(digest)
            self._hand_over(user, tree)
            # The account that owns the folder around the tree could have put another in its place.
            if self._account_of is not None and code.lstat().st_uid != os.geteuid():
                raise SnapshotFault(f"the snapshot {digest[:12]} was tampered with: submit the task again")
        except OSError as error:
            raise SnapshotFault(f"the snapshot {digest[:12]} cannot be read: {error.strerror}") from None
        if self._claim is None:
            return CodeFolder(path=str(code))
        sub_path = str(code.relative_to(self._root))
        mount = Mount(kind=MountKind.PVC, source=self._claim, sub_path=sub_path, mount_path=self._mount_path)
        return CodeFolder(path=self._mount_path, mount=mount)

    def _hand_over(self, user: str, tree: Path) -> None:
        """Let only the user's account into a tree, where users have accounts. Raises SnapshotFault."""
        if self._account_of is None:
            return
        try:
            account = self._account_of(user)
        except NoAccount as error:
            raise SnapshotFault(f"user: {error}") from None
        with held(tree) as fd:
            state = os.fstat(fd)
            if (state.st_uid, state.st_mode & 0o777) != (account.uid, 0o500):
                if state.st_uid == os.geteuid():
                    set_mode(fd, 0o500)
                set_owner(fd, account.uid, account.gid)

    def _take_back(self, tree: Path) -> None:
        if self._account_of is not None:
            with held(tree) as fd:
                set_owner(fd, os.geteuid(), os.getegid())
                set_mode(fd, 0o700)


def _state(place: Place, digest: str) -> StoredSnapshot:
    try:
        files, size = (int(word) for word in place.counts(digest).read_text().split())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise _unknown(digest) from None
    if place.tree(digest).is_dir():
        return StoredSnapshot(digest=digest, files=files, size=size, complete=True)
    found = _parsed(place, digest)
    return StoredSnapshot(digest=digest, files=files, size=size, missing=_missing(place, found))


def _parsed(place: Place, digest: str) -> Manifest:
    try:
        # It was checked when it came; the limit may be lower now.
        return manifests.parse(manifests.decompress(_read(place, digest)), most=2**31)
    except manifests.BadManifest as error:
        raise SnapshotFault(f"the manifest of the snapshot {digest[:12]} is damaged: {error}") from None


def _touch(place: Place, digest: str, clock: Clock) -> None:
    now = clock.now().timestamp()
    with contextlib.suppress(OSError):
        os.utime(place.manifest(digest), (now, now))


def _read(place: Place, digest: str) -> bytes:
    try:
        return place.manifest(digest).read_bytes()
    except FileNotFoundError:
        raise _unknown(digest) from None


def _write(place: Place, target: Path, content: bytes) -> None:
    draft = place.draft()
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(target)


def _missing(place: Place, found: Manifest) -> list[str]:
    there: set[str] = set()
    contents = set(found.blobs)
    for folder in {content[:2] for content in contents}:
        with contextlib.suppress(FileNotFoundError):
            names = os.listdir(place.folder / "contents" / folder)
            there.update(name.removesuffix(".x") for name in names)
    return [entry.what for entry in manifests.missing_first(found.entries, contents - there)]


def _unknown(digest: str) -> NoSuchSnapshot:
    return NoSuchSnapshot(f"you have sent no snapshot {digest:.12}, or not all of it: submit with --snapshot")


def _gone(digest: str) -> NoSuchSnapshot:
    return NoSuchSnapshot(
        f"the snapshot {digest[:12]} of the task's code is gone: submit the task again, or ask an admin to restore it"
    )
