"""Real Unix accounts: nobody can write, poison or delete what another one runs, and who is not let in cannot read it.

This needs root, to make the accounts and to start processes as them.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .accounts_kit import ANN, BOB, EVE, PYTHON, TEAM, Shared, needs_accounts, three_accounts

pytestmark = needs_accounts


@pytest.fixture(scope="module", autouse=True)
def accounts() -> Iterator[None]:
    with three_accounts():
        yield


@pytest.fixture
def shared() -> Iterator[Shared]:
    place = Path(tempfile.mkdtemp(prefix="haienv-accounts-"))
    place.chmod(0o755)
    made = Shared(place)
    made.haienv(None, "init", "--user", ANN, "--user", BOB, "--user", EVE, "--group", TEAM)
    yield made
    shutil.rmtree(place)


def test_what_one_shares_with_a_group_is_read_by_it_and_changed_by_nobody_else(shared: Shared) -> None:
    full = f"users/{ANN}/vision"
    shared.create(ANN, "vision", "alpha==1.0")
    for other in (BOB, EVE):
        assert f"no right to read {shared.root / full}" in shared.fails(other, "run", full, "--", "true")
    assert f"group {TEAM}" in shared.haienv(ANN, "share", "vision", "--group", TEAM)
    assert shared.version(BOB, full) == "1.0"
    assert "no right to read" in shared.fails(EVE, "run", full, "--", "true")
    assert shared.start(EVE, "cat", str(shared.root / full / "env.toml")).returncode != 0
    listed = {name: json.loads(shared.haienv(name, "list", "--json", "--offer"))["items"] for name in (BOB, EVE)}
    assert [one["name"] for one in listed[BOB]] == [full], "what is shared is listed, though nothing tells of it"
    assert listed[EVE] == []
    homes = [shared.place / f"home-{name}" for name in (ANN, BOB, EVE)]
    for other in (BOB, EVE):
        own = (
            str(shared.root / "users" / other), str(shared.root / "references" / "users" / other),
            str(shared.place / f"home-{other}"),
        )  # fmt: skip
        foreign = [path for path in shared.writable(other, shared.root, *homes) if not path.startswith(own)]
        team = [str(shared.root / "groups" / TEAM)] if other == BOB else []
        assert foreign == team, "its own folders, and the group's, where the sticky bit guards what others made"
    for words in (
        ["install", full, "alpha==2.0"], ["remove", full], ["rename", full, f"users/{ANN}/x"], ["gc", full],
        ["draft", full], ["share", full, "--all"], ["rollback", full], ["import", f"users/{ANN}/new", "/etc/passwd"],
        ["create", f"users/{ANN}/new", "-p", PYTHON], ["create", "base/new", "-p", PYTHON],
        ["config", "set", "proxy", "http://evil:1", "--root"],
    ):  # fmt: skip
        shared.fails(BOB, *words)
    assert shared.version(ANN, "vision") == "1.0"
    assert [one["name"] for one in json.loads(shared.haienv(ANN, "list", "--json", "-a"))["items"]] == [full]
    shared.haienv(ANN, "unshare", "vision", "--group", TEAM)
    assert "no right to read" in shared.fails(BOB, "run", full, "--", "true")


def test_a_cache_that_others_can_write_is_not_used(shared: Shared) -> None:
    cache = shared.place / f"home-{ANN}" / ".cache" / "uv"
    shared.create(ANN, "vision", "alpha==1.0")
    assert cache.stat().st_mode & 0o777 == 0o700, "made for its owner alone"
    cache.chmod(0o777)
    assert f"cache: others can write {cache}" in shared.fails(ANN, "install", "vision", "alpha==2.0")
    assert shared.version(ANN, "vision") == "1.0"


def test_one_user_or_everybody_can_be_let_in(shared: Shared) -> None:
    full = f"users/{ANN}/vision"
    shared.create(ANN, "vision", "alpha==1.0")
    shared.haienv(ANN, "share", "vision", "--user", EVE)
    assert shared.version(EVE, full) == "1.0"
    assert "no right to read" in shared.fails(BOB, "run", full, "--", "true")
    assert "everybody" in shared.haienv(ANN, "share", "vision", "--all")
    assert shared.version(BOB, full) == "1.0"
    shared.haienv(ANN, "install", "vision", "alpha==2.0")
    assert shared.version(BOB, full) == "2.0", "further generations are shared too"
    shared.haienv(ANN, "rename", "vision", "sight")
    assert shared.version(EVE, f"users/{ANN}/sight") == "2.0", "and so is what was renamed"
    shared.haienv(ANN, "unshare", "sight", "--all", "--user", EVE)
    assert "no right to read" in shared.fails(EVE, "run", f"users/{ANN}/sight", "--", "true")
    assert "no Unix account 'nobody-here'" in shared.fails(ANN, "share", "sight", "--user", "nobody-here")


def test_a_groups_environment_is_its_members_and_its_builder_alone_changes_it(shared: Shared) -> None:
    full = f"groups/{TEAM}/torch"
    shared.create(ANN, full, "alpha==1.0")
    assert shared.version(BOB, "torch") == "1.0", "a bare name finds it"
    assert "no right to read" in shared.fails(EVE, "run", full, "--", "true")
    for words in (["install", full, "alpha==2.0"], ["remove", full], ["rename", full, f"groups/{TEAM}/x"]):
        shared.fails(BOB, *words)
    shared.fails(EVE, "create", f"groups/{TEAM}/evil", "-p", PYTHON)
    assert shared.start(BOB, "mv", str(shared.root / full), str(shared.root / "groups" / TEAM / "x")).returncode != 0
    shared.create(BOB, f"groups/{TEAM}/other", "alpha==2.0")
    assert shared.version(ANN, f"groups/{TEAM}/other") == "2.0"


def test_nobody_takes_the_name_of_another_one(shared: Shared) -> None:
    assert shared.start(EVE, "mkdir", str(shared.root / "users" / "root")).returncode != 0
    # As it would be below a root that everybody can write.
    shared.create(EVE, "vision", "alpha==1.0")
    shared.haienv(EVE, "share", "vision", "--all")
    shutil.rmtree(shared.root / "users" / BOB)
    (shared.root / "users" / EVE).rename(shared.root / "users" / BOB)
    message = shared.fails(ANN, "run", f"users/{BOB}/vision", "--", "true")
    assert f"belongs to the account {EVE}, and not to {BOB}" in message
    (shared.root / "users" / BOB / "vision").chmod(0o777)
    message = shared.fails(EVE, "run", f"users/{BOB}/vision", "--", "true")
    assert "everybody can write" in message


def test_what_another_one_uses_stays(shared: Shared) -> None:
    full = f"users/{ANN}/vision"
    shared.create(ANN, "vision", "alpha==1.0")
    shared.haienv(ANN, "share", "vision", "--group", TEAM)
    shared.haienv(BOB, "keep", full)
    shared.haienv(ANN, "install", "vision", "alpha==2.0")
    assert f"`haienv keep` of {BOB} uses it" in shared.haienv(ANN, "gc", "vision", "--keep", "0")
    assert f"of {BOB} (@1)" in shared.fails(ANN, "remove", "vision")
    assert shared.version(BOB, f"{full}@1") == "1.0"
    shared.haienv(BOB, "unkeep", f"{full}@1")
    shared.haienv(ANN, "remove", "vision")
