"""Removes what no task needs any more: snapshots by age, then contents that no tree has a link to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from hai_client.snapshots.manifest import DIGEST
from hai_scheduler.adapters.snapshots import trees
from hai_scheduler.adapters.snapshots.layout import Place
from hai_scheduler.ports.reading import in_reader

#: How long what belongs to no complete snapshot stays: it may be part of one that is being sent.
UNFINISHED: Final = timedelta(days=1)
#: How old the mark of the last use becomes before it is renewed: a snapshot is not marked each time.
_RENEW: Final = timedelta(minutes=10)


class FolderSweep:
    """See `ports.snapshots.SnapshotSweep`. Who has it holds the user's lock alone.

    Args:
        place: The user's snapshots.
        take_back: Makes a tree's folder the service's own again, so that it can be removed.
    """

    def __init__(self, place: Place, take_back: Callable[[Path], None]) -> None:
        self._place = place
        self._take_back = take_back
        self._aside: list[Path] = []

    async def remove(self, used: Collection[str], now: datetime, keep: timedelta) -> int:
        """See `SnapshotSweep.remove`."""
        return await in_reader(lambda: self._remove(used, now.timestamp(), keep))

    def _remove(self, used: Collection[str], now: float, keep: timedelta) -> int:
        removed = 0
        for digest in self._digests():
            if digest in used:
                self._mark(digest, now)
            elif self._age(digest, now) > self._kept(digest, keep).total_seconds():
                self._forget(digest)
                removed += 1
        self._remove_contents(now)
        self._remove_drafts(now)
        return removed

    def _digests(self) -> set[str]:
        return {
            name
            for part in ("manifests", "counts", "trees")
            for name in _names(self._place.folder / part)
            if DIGEST.fullmatch(name)
        }

    def _kept(self, digest: str, keep: timedelta) -> timedelta:
        # A shorter time would remove a snapshot between the last of its contents and the submission.
        return max(keep, timedelta(hours=1)) if self._place.tree(digest).is_dir() else UNFINISHED

    def _mark(self, digest: str, now: float) -> None:
        if self._age(digest, now) > _RENEW.total_seconds():
            with contextlib.suppress(OSError):
                os.utime(self._place.manifest(digest), (now, now))

    def _age(self, digest: str, now: float) -> float:
        try:
            return now - self._place.manifest(digest).stat().st_mtime
        except FileNotFoundError:
            # A removal was interrupted: the manifest goes last but one.
            return float("inf")

    def _forget(self, digest: str) -> None:
        """Let a snapshot disappear at once; its files go afterwards."""
        tree = self._place.tree(digest)
        if tree.is_dir():
            self._take_back(tree)
            aside = self._place.draft()
            tree.rename(aside)
            self._aside.append(aside)
        self._place.counts(digest).unlink(missing_ok=True)
        self._place.manifest(digest).unlink(missing_ok=True)

    def remove_aside(self) -> None:
        """Remove the files of trees that have disappeared; it needs no lock. Raises nothing."""
        aside, self._aside = self._aside, []
        for tree in aside:
            trees.remove(tree)

    def _remove_contents(self, now: float) -> None:
        for folder in _names(self._place.folder / "contents"):
            with os.scandir(self._place.folder / "contents" / folder) as listing:
                for entry in listing:
                    state = entry.stat(follow_symlinks=False)
                    # Each tree has a link: a content with one name only is in no tree.
                    if state.st_nlink == 1 and now - state.st_mtime > UNFINISHED.total_seconds():
                        os.unlink(entry.path)

    def _remove_drafts(self, now: float) -> None:
        for name in _names(self._place.incoming):
            draft = self._place.incoming / name
            with contextlib.suppress(OSError):
                if draft not in self._aside and now - draft.lstat().st_mtime > UNFINISHED.total_seconds():
                    if draft.is_dir():
                        self._take_back(draft)
                        trees.remove(draft)
                    else:
                        draft.unlink(missing_ok=True)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
