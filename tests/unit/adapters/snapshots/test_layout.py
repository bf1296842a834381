"""What other accounts may do with the folder of snapshots, whatever the umask is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from hai_scheduler.adapters.system.clock import SystemClock
from kit.code_folders import CODE, store


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
async def test_others_pass_to_a_tree_and_write_nothing(tmp_path: Path, mask: int) -> None:
    root = tmp_path / "users" / "snapshots"
    snapshots = SnapshotFolder(root, SystemClock())
    before = os.umask(mask)
    try:
        await store(snapshots, CODE, "ann")
    finally:
        os.umask(before)
    code = Path((await snapshots.folder("ann", CODE.digest)).path)
    way = (code, code.parent, code.parents[1], root / "ann", root, root.parent)
    assert [path.stat().st_mode & 0o777 for path in way] == [0o555, 0o755, 0o711, 0o711, 0o711, 0o755]
    everything = [path.lstat().st_mode for path in root.rglob("*") if not path.is_symlink()]
    assert not [oct(mode) for mode in everything if mode & (stat.S_IWGRP | stat.S_IWOTH)]
    secret = [*(root / "ann" / "manifests").iterdir(), *(root / "ann" / "counts").iterdir(), root / "ann" / "lock"]
    assert {path.stat().st_mode & 0o777 for path in secret} == {0o600}
