"""Environments where users are Unix accounts: file rights decide, as the look-up runs as the user's account.

Real accounts, real processes: this needs root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import haienv
from hai_client.linux.identity import account_named, closed_folder, lacking_rights
from hai_scheduler.adapters.environments.folder import HaienvFolder
from hai_scheduler.adapters.local.accounts import Accounts, users_folder
from hai_scheduler.ports.haienvs import HaienvFault, Use
from kit.builders import a_pin
from kit.haienv_folders import publish

#: Other accounts than those of the other suite, which may run at the same time.
ANN, BOB = "hai-test-e", "hai-test-f"

pytestmark = pytest.mark.skipif(
    bool(lacking_rights()) or os.geteuid() != 0 or shutil.which("useradd") is None, reason="this needs root and useradd"
)
#: As for `hai up --unix-users`, which refuses to start otherwise.
readable = pytest.mark.skipif(
    closed_folder(sys.executable) is not None or closed_folder(str(Path(haienv.__file__).parent)) is not None,
    reason="the folder of this Python, or of this checkout, is closed to other accounts",
)


@pytest.fixture(scope="module", autouse=True)
def accounts() -> Iterator[None]:
    """Create the accounts of two users; accounts that exist already stay."""
    made = [name for name in (ANN, BOB) if account_named(name) is None]
    for name in made:
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", name], check=True)
    yield
    for name in made:
        subprocess.run(["userdel", "--remove", name], check=True, capture_output=True)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every account may enter; pytest's own folders are closed."""
    folder = Path(tempfile.mkdtemp(prefix="hai-environments-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def environments(place: Path) -> HaienvFolder:
    """Environments of both users, each in a folder of the user's account."""
    root = place / "root"
    for user in (ANN, BOB):
        # As `haienv` makes them.
        before = os.umask(0o022)
        publish(root, a_pin(f"users/{user}/vision"))
        os.umask(before)
        account = account_named(user)
        assert account is not None
        own = root / "users" / user
        for path in (own, *own.rglob("*")):
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
    return HaienvFolder(root, Accounts.open("{username}", users_folder(place / "state")).of)


@readable
async def test_a_user_finds_their_own_with_its_facts(environments: HaienvFolder) -> None:
    pin = await environments.find(ANN, (), "vision")
    assert pin == a_pin(f"users/{ANN}/vision")
    await environments.check(ANN, pin)


@readable
async def test_another_users_is_found_only_where_its_files_can_be_read(environments: HaienvFolder) -> None:
    theirs = f"users/{BOB}/vision"
    assert (await environments.find(ANN, (), theirs)).name == theirs
    closed = Path(environments.root) / theirs
    closed.chmod(0o700)
    with pytest.raises(HaienvFault, match=r"no right to read .*; its owner can share it with you"):
        await environments.find(ANN, (), theirs)
    with pytest.raises(HaienvFault, match=f"{theirs}@3"):
        await environments.check(ANN, a_pin(theirs))
    # The service itself, which is root, could read it.
    assert (await environments.find(BOB, (), "vision")).name == theirs


@readable
async def test_a_manifest_that_is_a_link_to_a_closed_file_tells_nothing_of_it(
    environments: HaienvFolder, place: Path
) -> None:
    secret = place / "secret.json"
    secret.write_text('{"schema": 1, "digest": "the secret"}')
    secret.chmod(0o600)
    manifest = Path(environments.root) / f"users/{ANN}/vision/generations/3/manifest.json"
    manifest.unlink()
    manifest.symlink_to(secret)
    with pytest.raises(HaienvFault) as caught:
        await environments.find(ANN, (), "vision")
    assert "the secret" not in str(caught.value)
    with pytest.raises(HaienvFault) as caught:
        await environments.check(ANN, a_pin(f"users/{ANN}/vision"))
    assert "the secret" not in str(caught.value)


@readable
async def test_the_list_has_what_the_users_files_rights_allow(environments: HaienvFolder) -> None:
    async def names(user: str, **more: bool) -> list[str]:
        return [one.name for one in (await environments.listed(user, (), **more)).items]

    assert await names(ANN) == [f"users/{ANN}/vision", f"users/{BOB}/vision"]
    shown = await environments.shown(ANN, (), "vision")
    assert (shown.generation, shown.packages) == (3, {"numpy": "2.3.1"})
    (Path(environments.root) / f"users/{BOB}/vision").chmod(0o700)
    assert await names(ANN) == [f"users/{ANN}/vision"]
    every = (await environments.listed(ANN, (), everybodys=True)).items
    assert [(one.name, bool(one.trouble)) for one in every] == [
        (f"users/{ANN}/vision", False),
        (f"users/{BOB}/vision", True),
    ]


@readable
def test_the_command_lists_what_is_not_shared_by_its_name_alone(environments: HaienvFolder) -> None:
    (Path(environments.root) / f"users/{BOB}/vision").chmod(0o700)
    account = account_named(ANN)
    assert account is not None
    listed = subprocess.run(
        [sys.executable, "-I", "-m", "haienv", "list", "-a"], cwd="/", check=True, capture_output=True, text=True,
        env={"PATH": os.defpath, "HAIENV_ROOT": environments.root, "HAIENV_USER": ANN},
        user=account.uid, group=account.gid, extra_groups=account.groups,
    ).stdout  # fmt: skip
    rows = {line.split()[0]: line for line in listed.splitlines()}
    assert rows[f"users/{BOB}/vision"].endswith("it is not shared with you")
    assert "not shared" not in rows[f"users/{ANN}/vision"]


async def test_a_user_without_an_account_is_told(environments: HaienvFolder) -> None:
    with pytest.raises(HaienvFault, match="there is no Unix account"):
        await environments.find("hai-test-nobody", (), "vision")


async def test_no_user_can_write_references(environments: HaienvFolder) -> None:
    await environments.hold("a.task-1", Use(name=f"users/{ANN}/vision", generation=3, what=f"task 1 of {ANN}"))
    top = Path(environments.root) / "references"
    assert len(list(top.rglob("*.json"))) == 1
    for path in (top, *top.rglob("*")):
        assert (path.stat().st_uid, path.stat().st_mode & 0o022) == (os.geteuid(), 0)
