"""The check of a user's room looks at each content once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hai_client.snapshots.manifest import Entry, Manifest
from hai_scheduler.adapters.snapshots.bounds import check_space
from hai_scheduler.adapters.snapshots.layout import Place
from hai_scheduler.ports.snapshots import SnapshotLimits
from kit.operations import assert_grows_evenly


def test_twice_the_missing_contents_are_twice_the_work(tmp_path: Path) -> None:
    place = Place(tmp_path / "ann")
    place.make()

    def checking(files: int) -> Callable[[], object]:
        entries = [Entry(f"{number}", "f", 1, f"{number:064}") for number in range(files)]
        missing = [entry.what for entry in entries]
        return lambda: check_space(SnapshotLimits(), place, Manifest("", entries), missing, known=False)

    assert_grows_evenly(checking)
