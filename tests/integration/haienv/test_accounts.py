"""Real Unix accounts: nobody can write, poison or delete what another one runs, and who is not let in cannot read it.

This needs root, to make the accounts and to start processes as them.
"""

from __future__ import annotations

import grp
import json
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from uv import find_uv_bin

from .conftest import PATIENCE, ROOT, make_wheel

ANN, BOB, EVE, TEAM = "haienv-test-a", "haienv-test-b", "haienv-test-c", "haienv-test-g"
#: A Python that every account may start; that of the tests may lie in root's home.
PYTHON = "/usr/bin/python3.11"
#: Everything below a folder that the account which runs this can write, but for its own home.
WRITABLE = """
import os, sys
found = []
for top in sys.argv[1:]:
    for folder, folders, files in os.walk(top):
        found += [p for p in [folder, *(os.path.join(folder, f) for f in files)]
                  if not os.path.islink(p) and os.access(p, os.W_OK)]
print("\\n".join(found))
"""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("useradd") is None or not Path(PYTHON).exists(),
    reason=f"this needs root, useradd and {PYTHON}",
)


@pytest.fixture(scope="module", autouse=True)
def accounts() -> Iterator[None]:
    """Make three accounts, of which the first two are in a group."""
    subprocess.run(["groupadd", "--force", TEAM], check=True)
    made = []
    for name in (ANN, BOB, EVE):
        try:
            pwd.getpwnam(name)
        except KeyError:
            team = [] if name == EVE else ["--groups", TEAM]
            subprocess.run(["useradd", "--no-create-home", "--shell", "/bin/sh", *team, name], check=True)
            made.append(name)
    yield
    for name in made:
        subprocess.run(["userdel", name], check=True, capture_output=True)
    subprocess.run(["groupdel", TEAM], check=False, capture_output=True)


class Shared:
    """A root of environments on a disk that three accounts share."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.root = place / "root"
        self.wheels = place / "wheels"
        for version in ("1.0", "2.0"):
            make_wheel(self.wheels, "alpha", version)
        shutil.copytree(
            ROOT / "haienv" / "haienv", place / "code" / "haienv", ignore=shutil.ignore_patterns("__pycache__")
        )
        shutil.copy(find_uv_bin(), place / "uv")
        for name in (ANN, BOB, EVE):
            home = place / f"home-{name}"
            home.mkdir()
            os.chown(home, pwd.getpwnam(name).pw_uid, pwd.getpwnam(name).pw_gid)
        for one in place.rglob("*"):
            one.chmod(0o755)

    def start(self, user: str | None, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program as an account; None: as root. Its umask is as wide as some have it."""
        env = {
            "PATH": "/usr/bin:/bin", "HAIENV_ROOT": str(self.root), "PYTHONPATH": str(self.place / "code"),
            "HOME": str(self.place / f"home-{user}"), "UV_OFFLINE": "1", "UV_FIND_LINKS": str(self.wheels),
            "UV_PYTHON_DOWNLOADS": "never", "HAIENV_UV": str(self.place / "uv"),
        }  # fmt: skip
        who: dict[str, object] = {}
        if user is not None:
            account = pwd.getpwnam(user)
            team = [grp.getgrnam(TEAM).gr_gid] if user != EVE else []
            who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": team}
        return subprocess.run(
            words, env=env, cwd="/", umask=0o002, capture_output=True, text=True, timeout=PATIENCE, check=False,
            **who,  # type: ignore[call-overload]
        )  # fmt: skip

    def call(self, user: str | None, *words: str) -> tuple[int, str, str]:
        """Run `haienv` as an account: status, output, messages."""
        done = self.start(user, PYTHON, "-B", "-m", "haienv", *words)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    def haienv(self, user: str | None, *words: str) -> str:
        status, out, err = self.call(user, *words)
        assert status == 0, err
        return out

    def fails(self, user: str, *words: str) -> str:
        status, _, err = self.call(user, *words)
        assert status != 0
        return err

    def create(self, user: str, name: str, *words: str) -> None:
        self.haienv(user, "create", name, "--no-kernel", "-p", PYTHON, *words)

    def version(self, user: str, name: str) -> str:
        return self.haienv(user, "run", name, "--", "python", "-c", "import alpha; print(alpha.VERSION)").strip()

    def writable(self, user: str, *tops: Path) -> list[str]:
        return self.start(user, PYTHON, "-c", WRITABLE, *map(str, tops)).stdout.split()


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
