"""Snapshots of code: users send them, tasks start in them, and they go some days after the last task that has them."""

from __future__ import annotations

import logging
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from hai_client.snapshots.packing import PIECE_BYTES, Packer
from hai_scheduler.core.model.code import CodeSnapshot
from hai_scheduler.core.model.task import TaskSpec
from hai_scheduler.core.workspace.templates import Unresolvable
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.snapshots import (
    ContentReceiver,
    NoSuchSnapshot,
    SnapshotFault,
    SnapshotLimits,
    Snapshots,
    SnapshotTooLarge,
    StoredSnapshot,
)
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Conflict, HaiError, Invalid, NotFound, TooCostly, Unavailable
from hai_scheduler.service.shared.lookup import find
from hai_scheduler.service.shared.world import UseCase

if TYPE_CHECKING:
    # The loop keeps snapshots and reads no submissions: it needs no pydantic.
    from hai_scheduler.service.workspace.snapshot_ref import SnapshotRef

log = logging.getLogger(__name__)

#: Seconds between two looks at what can be removed.
EVERY_S: Final = 600.0
OFF, REQUIRED = "off", "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotTerms:
    """What clients need to know before they take a snapshot."""

    #: `off`, `offered` or `required`.
    mode: str
    #: A text that is the same for a client that sees the files that tasks see; None: there is no such client.
    machine: str | None
    limits: SnapshotLimits


class CodeSnapshots(UseCase):
    """The use cases of snapshots."""

    def rules(self, group: str) -> SnapshotTerms:
        """The rules for tasks of a node group."""
        if self.world.snapshots is None:
            return SnapshotTerms(mode=OFF, machine=self.world.machine, limits=SnapshotLimits())
        mode = self.policies.current.of(group).snapshots
        return SnapshotTerms(mode=mode, machine=self.world.machine, limits=self.world.snapshots.limits)

    # -- what users send --------------------------------------------------------------------------

    async def offer(self, caller: Caller, digest: str, packed: bytes) -> StoredSnapshot:
        """Store a manifest; the answer says which contents are missing. Raises Invalid, TooCostly, Unavailable."""
        with _Told():
            return await self._there().offer(caller.name, digest, packed)

    async def state(self, caller: Caller, digest: str) -> StoredSnapshot:
        """How much of a snapshot of the caller's is stored. Raises NotFound and Unavailable."""
        with _Told():
            return await self._there().state(caller.name, digest)

    async def receive(self, caller: Caller, digest: str) -> ContentReceiver:
        """Begin to receive contents of a snapshot of the caller's. Raises NotFound and Unavailable."""
        with _Told():
            return _Receiver(await self._there().receive(caller.name, digest))

    async def received(self, caller: Caller, digest: str, receiver: ContentReceiver) -> StoredSnapshot:
        """End a stream of contents; the answer says what is still missing. Raises Invalid, NotFound, Unavailable."""
        with _Told():
            await receiver.finish()
            return await self._there().complete(caller.name, digest)

    # -- submissions ------------------------------------------------------------------------------

    @asynccontextmanager
    async def while_submitting(
        self, caller: Caller, group: str, wanted: SnapshotRef | None
    ) -> AsyncIterator[CodeSnapshot | None]:
        """Keep a snapshot while a task with it is being stored; the value is what the task stores.

        Raises Invalid and Conflict.
        """
        mode = self.rules(group).mode
        if wanted is None:
            if mode == REQUIRED:
                raise Invalid(
                    "snapshot",
                    None,
                    f"tasks of the group {group!r} start in a snapshot of their code (policy `snapshots`): submit with "
                    "--snapshot",
                )
            yield None
            return
        if self.world.snapshots is None or mode == OFF:
            raise Invalid(
                "snapshot", wanted.digest, f"the group {group!r} takes no snapshots of code: submit with --no-snapshot"
            )
        try:
            async with self.world.snapshots.using(caller.name, wanted.digest) as stored:
                yield CodeSnapshot(
                    digest=wanted.digest,
                    files=stored.files,
                    size=stored.size,
                    commit=wanted.commit,
                    dirty=wanted.dirty,
                )
        except NoSuchSnapshot as error:
            raise Conflict(f"snapshot: {error}") from None
        except OSError as error:
            raise _unavailable(error) from None

    # -- starts -----------------------------------------------------------------------------------

    async def order_with(self, order: LaunchOrder, user: str, spec: TaskSpec) -> LaunchOrder:
        """Return the order for a run that starts in the snapshot of its task, if it has one.

        Raises Unresolvable: the snapshot is gone; no node is to blame.
        """
        snapshot = spec.snapshot
        if snapshot is None:
            return order
        if self.world.snapshots is None:
            raise Unresolvable(
                "this platform has no folder of snapshots any more (HaiScheduler.snapshots_root); ask an admin, or "
                "submit the task again"
            )
        try:
            folder = await self.world.snapshots.folder(user, snapshot.digest)
        except SnapshotFault as error:
            raise Unresolvable(str(error)) from None
        mounts = order.mounts if folder.mount is None else (*order.mounts, folder.mount)
        # Relative paths that are written to cannot be meant in the tree, where nothing can be written.
        watch = tuple(str(PurePosixPath(spec.cwd, path)) for path in order.watch)
        return replace(order, cwd=folder.path, mounts=mounts, watch=watch)

    async def place(self, caller: Caller, wanted: SnapshotRef) -> str | None:
        """Where ranks of this machine will start; None where that cannot be looked at from here."""
        if self.world.snapshots is None:
            return None
        try:
            folder = await self.world.snapshots.folder(caller.name, wanted.digest)
        except SnapshotFault:
            return None
        return None if folder.mount is not None else folder.path

    # -- reading ----------------------------------------------------------------------------------

    async def manifest(self, caller: Caller, ref: str) -> bytes:
        """The manifest of a task's snapshot as JSON. Raises NotFound and Unavailable."""
        user, snapshot = await self._of(caller, ref)
        with _Told():
            return zlib.decompress(await self._there().manifest(user, snapshot.digest))

    async def pack(self, caller: Caller, ref: str, start: int) -> bytes:
        """Contents of a task's snapshot as a stream, from the one with number `start` on, as many as are one piece.

        Raises NotFound and Unavailable.
        """
        user, snapshot = await self._of(caller, ref)
        packer = Packer()
        with _Told():
            async for digest, content in self._there().contents(user, snapshot.digest, start):
                packer.add(digest, content)
                if packer.size >= PIECE_BYTES:
                    break
        return packer.finish()

    async def _of(self, caller: Caller, ref: str) -> tuple[str, CodeSnapshot]:
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            spec = await tx.tasks.get_spec(task.id)
        if spec.snapshot is None:
            raise NotFound(f"Task {task.id} has no snapshot of its code: it was submitted without --snapshot.")
        return task.user, spec.snapshot

    # -- housekeeping -----------------------------------------------------------------------------

    async def sweep(self) -> int:
        """Remove what is no longer needed; returns how many snapshots. Raises OSError."""
        if self.world.snapshots is None:
            return 0
        keep = self._keep()
        removed = 0
        for user in await self.world.snapshots.users():
            async with self.world.snapshots.sweeping(user) as sweep:
                if sweep is None:
                    continue
                # Read under the lock: a submission holds it from its look at the snapshot until its task is stored.
                async with self.store.read() as tx:
                    used: Mapping[str, frozenset[str]] = await tx.tasks.snapshots()
                removed += await sweep.remove(used.get(user, frozenset()), self.clock.now(), keep)
        return removed

    def _keep(self) -> timedelta:
        # A snapshot belongs to no node group: the longest time of all groups counts.
        policies = self.policies.current
        return max(each.keep_snapshots for each in (policies.default, *policies.groups.values()))

    async def run(self, leads: Callable[[], bool]) -> None:
        """Sweep until cancelled, whenever this replica leads."""
        while self.world.snapshots is not None:
            if leads():
                try:
                    if removed := await self.sweep():
                        log.info("removed %d snapshots of code that no task has had for long", removed)
                except Exception:  # sweeping again later is all that can be done
                    log.exception("snapshots of code could not be swept; this is repeated")
            await self.clock.sleep(EVERY_S)

    def _there(self) -> Snapshots:
        if self.world.snapshots is None:
            raise Unavailable(
                "This platform stores no snapshots of code (HaiScheduler.snapshots_root): use --no-snapshot."
            )
        return self.world.snapshots


class _Receiver:
    """A receiver whose errors are those of use cases."""

    def __init__(self, receiver: ContentReceiver) -> None:
        self._receiver = receiver

    async def take(self, piece: bytes) -> None:
        with _Told():
            await self._receiver.take(piece)

    async def finish(self) -> None:
        await self._receiver.finish()

    async def abort(self) -> None:
        await self._receiver.abort()


class _Told:
    """Turns the port's errors into errors that users see."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        match error:
            case NoSuchSnapshot():
                raise NotFound(str(error)) from None
            case SnapshotTooLarge():
                raise TooCostly(str(error)) from None
            case SnapshotFault():
                field, _, message = str(error).partition(": ")
                raise Invalid(field, None, message) from None
            case OSError():
                raise _unavailable(error) from None


def _unavailable(error: OSError) -> HaiError:
    log.error("the folder of snapshots cannot be used: %s", error)
    why = error.strerror or "no reason"
    why = why[0].lower() + why[1:]
    return Unavailable(f"Snapshots of code cannot be stored now ({why}): tell an admin.")
