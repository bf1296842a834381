"""Root follows no link that a user's account puts in its way (`hai up --unix-users`): this needs root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hai_client.linux.identity import Account, account_named, acting_as, lacking_rights
from hai_scheduler.adapters.local.accounts import Accounts
from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from hai_scheduler.adapters.system.clock import SystemClock
from kit.code_folders import CODE, store

ALICE = "hai-test-links"

pytestmark = pytest.mark.skipif(
    bool(lacking_rights()) or os.geteuid() != 0 or shutil.which("useradd") is None, reason="this needs root and useradd"
)


@pytest.fixture
def alice() -> Iterator[Account]:
    if account_named(ALICE) is None:
        subprocess.run(["useradd", "--shell", "/bin/sh", ALICE], check=True)
    found = account_named(ALICE)
    assert found is not None
    yield found
    subprocess.run(["userdel", ALICE], check=True, capture_output=True)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every account may enter; pytest's own folders are closed."""
    folder = Path(tempfile.mkdtemp(prefix="hai-links-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


async def test_a_link_that_an_account_puts_into_its_snapshot_while_that_is_removed_changes_nothing_else(
    place: Path, alice: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The account holds its folder open: that is the service's again, but what the account has made in it is not."""
    others = place / "others"
    others.mkdir()
    others.chmod(0o755)
    (others / "file").write_text("root's")
    (others / "file").chmod(0o644)
    accounts = Accounts("{username}", place / "users")
    snapshots = SnapshotFolder(place / "users" / "snapshots", SystemClock(), account_of=accounts.of)
    await store(snapshots, CODE, ALICE)
    tree = Path((await snapshots.folder(ALICE, CODE.digest)).path).parent
    with acting_as(alice):
        tree.chmod(0o700)
        (tree / "mine" / "victim" / "deep").mkdir(parents=True)
        mine = os.open(tree / "mine", os.O_RDONLY)
    real = {name: getattr(os, name) for name in ("open", "chmod", "scandir", "stat")}
    swapped: list[str] = []

    def swap(name: str, *args: Any, **options: Any) -> Any:
        # Between the look at the folder and what is done with it, which names it in one way or the other.
        if not swapped and "victim" in str(args[0]):
            swapped.append(name)
            with acting_as(alice):
                os.rename("victim", "aside", src_dir_fd=mine, dst_dir_fd=mine)
                os.symlink(others, "victim", dir_fd=mine)
        return real[name](*args, **options)

    for name in real:
        monkeypatch.setattr(os, name, lambda *args, name=name, **options: swap(name, *args, **options))
    async with snapshots.sweeping(ALICE) as sweep:
        assert sweep is not None
        await sweep.remove((), SystemClock().now() + timedelta(days=30), timedelta(days=1))
    monkeypatch.undo()
    os.close(mine)
    assert swapped
    assert [(path.stat().st_mode & 0o7777, path.stat().st_uid) for path in (others, others / "file")] == [
        (0o755, 0),
        (0o644, 0),
    ]
