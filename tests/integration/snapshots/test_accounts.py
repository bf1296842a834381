"""With an account for each user, a tree is for its user alone, and not even the user can change it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hai_client.linux.identity import Account
from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from hai_scheduler.ports.snapshots import SnapshotFault
from kit.code_folders import Code, sha
from kit.memory.clock import VirtualClock

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other accounts")
CODE = Code({"train.py": b"print('hello')", "lib/a.py": b"a = 1", "run.sh": b"#!/bin/sh\necho hi\n"})
UIDS = {"ann": 54_001, "bob": 54_002}


def account(user: str) -> Account:
    return Account(name=user, uid=UIDS[user], gid=UIDS[user], groups=[UIDS[user]], home="/", shell="/bin/sh")


def as_user(user: str, command: str) -> subprocess.CompletedProcess[str]:
    who = account(user)
    return subprocess.run(
        ["/bin/sh", "-c", command], user=who.uid, group=who.gid, extra_groups=[], capture_output=True, text=True,
        cwd="/", check=False,
    )  # fmt: skip


@pytest.fixture
def opened(tmp_path: Path) -> Path:
    """A folder that all accounts may pass; pytest's own are closed to others."""
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(0o711)
    return tmp_path


async def test_a_tree_is_read_by_its_user_alone_and_changed_by_nobody(opened: Path) -> None:
    tmp_path = opened
    snapshots = SnapshotFolder(tmp_path / "snapshots", VirtualClock(), account_of=account)
    await snapshots.offer("ann", CODE.digest, CODE.packed)
    receiver = await snapshots.receive("ann", CODE.digest)
    await receiver.take(CODE.stream([sha(content) for content in CODE.files.values()]))
    await receiver.finish()
    assert (await snapshots.complete("ann", CODE.digest)).complete
    tree = (await snapshots.folder("ann", CODE.digest)).path

    assert as_user("ann", f"cat {tree}/train.py && {tree}/run.sh").stdout == "print('hello')hi\n"
    for attempt in ("cat", "ls -l"):
        assert "Permission denied" in as_user("bob", f"{attempt} {tree}/train.py").stderr
    content = tmp_path / "snapshots/ann/contents" / sha(b"a = 1")[:2] / sha(b"a = 1")
    assert as_user("bob", f"ls {content.parent.parent}").returncode != 0
    for attempt in (
        f"echo x > {tree}/train.py",
        f"touch {tree}/new",
        f"rm {tree}/train.py",
        f"mv {tree}/lib {tree}/bil",
        f"chmod u+w {tree}/train.py",
        f"ln -f /etc/passwd {tree}/train.py",
    ):
        assert as_user("ann", attempt).returncode != 0, attempt
    assert as_user("ann", f"cat {tree}/train.py").stdout == "print('hello')"

    # The folder around the tree is the user's: another tree in its place is noticed at the next start.
    around = Path(tree).parent
    swapped = as_user(
        "ann", f"chmod u+w {around} && mv {tree} {around}/old && mkdir {tree} && echo x > {tree}/train.py"
    )
    assert swapped.returncode == 0, swapped.stderr
    with pytest.raises(SnapshotFault, match="tampered"):
        await snapshots.folder("ann", CODE.digest)
