"""A disk that gets full in the middle: the message names it, nothing is half done, and others go on.

Real file systems and real accounts: this needs root.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pwd
import random
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.disks import fill, mounted

from .accounts_kit import ANN, BOB, EVE, PYTHON, TEAM, Shared, needs_accounts, three_accounts
from .conftest import make_wheel

pytestmark = needs_accounts

MB = 1_000_000
#: quotactl(2): set the limits of a user, in blocks of 1 KiB.
_SET_QUOTA, _BLOCK_LIMITS = 0x800008 << 8, 1


@pytest.fixture(scope="module", autouse=True)
def accounts() -> Iterator[None]:
    with three_accounts():
        yield


class Disk(Shared):
    """Environments of three accounts on a small disk; the wheels and the programs lie elsewhere."""

    def __init__(self, place: Path, small: Path) -> None:
        super().__init__(place)
        self.small = small
        self.root = small / "root"
        with_data(self.wheels, 6 * MB)
        self.haienv(None, "init", "--user", ANN, "--user", BOB, "--user", EVE, "--group", TEAM)
        for name in (ANN, BOB, EVE):
            # The cache is on the small disk, too.
            cache = small / f"cache-{name}"
            cache.mkdir(mode=0o700)
            os.chown(cache, pwd.getpwnam(name).pw_uid, pwd.getpwnam(name).pw_gid)
            self.haienv(name, "config", "set", "cache", str(cache))

    def state(self) -> dict[str, object]:
        """What everybody sees of all environments, and the names of all their files."""
        shown = {user: json.loads(self.haienv(user, "list", "-a", "--json"))["items"] for user in (ANN, BOB, EVE)}
        return {**shown, "files": sorted(str(path) for path in (self.root / "users").rglob("*"))}

    def unchanged(self, before: dict[str, object]) -> None:
        assert self.state() == before
        for user in (ANN, BOB):
            assert "as it was built" in self.haienv(user, "doctor", "vision")
            assert self.version(user, "vision") == "1.0"


def with_data(folder: Path, size: int) -> None:
    """Make a wheel `big` that cannot be compressed."""
    made = make_wheel(folder, "big", "1.0")
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr("big/data.bin", random.Random(1).randbytes(size))
    made.chmod(0o644)


@contextlib.contextmanager
def an_ext4(size: str, *options: str, mount: str = "loop") -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(prefix="haienv-disk-") as image:
        subprocess.run(["truncate", "--size", size, image.name], check=True)
        made = subprocess.run(["mkfs.ext4", "-q", *options, image.name], check=False, capture_output=True, text=True)
        if made.returncode != 0:
            pytest.skip(f"this machine cannot make it: {made.stderr.strip()[:200]}")
        with mounted("-o", mount, image.name) as place:
            place.chmod(0o755)
            yield place


@contextlib.contextmanager
def disk_on(small: Path) -> Iterator[Disk]:
    place = Path(tempfile.mkdtemp(prefix="haienv-accounts-"))
    place.chmod(0o755)
    try:
        made = Disk(place, small)
        for user in (ANN, BOB):
            made.create(user, "vision", "alpha==1.0")
        yield made
    finally:
        shutil.rmtree(place)


@pytest.fixture
def disk() -> Iterator[Disk]:
    with an_ext4("16M", "-m", "0") as small, disk_on(small) as made:
        yield made


def test_a_build_on_a_full_disk_names_it_and_changes_nothing_for_anybody(disk: Disk) -> None:
    before = disk.state()
    for words in (("install", "vision", "big"), ("create", "other", "--no-kernel", "-p", PYTHON, "big")):
        # uv needs the space twice: unpacked in its cache, where the links are to, beside what others have.
        filler = disk.small / "filler"
        filler.write_bytes(b"\0" * max(0, free_in(disk.small) - 3 * MB))
        said = disk.fails(ANN, *words)
        name = "vision" if words[0] == "install" else "other"
        assert (
            f"disk: the file system {disk.small} (ext4) is full: {words[0]} users/{ANN}/{name} needs more than" in said
        )
        assert "that were free when it began; now " in said
        assert "Nothing has changed." in said
        assert "`haienv gc` removes old generations" in said
        disk.unchanged(before)
        filler.unlink()
    disk.haienv(ANN, "install", "vision", "big")
    assert disk.version(ANN, "vision") == "1.0"


@pytest.mark.parametrize("left", [0, 40_000, 200_000, 800_000])
def test_freeze_and_rollback_on_a_full_disk_change_nothing(disk: Disk, left: int) -> None:
    disk.haienv(ANN, "install", "vision", "alpha==2.0")
    disk.haienv(ANN, "draft", "vision")
    place = disk.root / "users" / ANN / "vision"
    [package] = place.glob("draft/prefix/lib/python3*/site-packages/alpha")
    disk.start(ANN, PYTHON, "-c", f"open('{package}/more.py', 'w').write('X = 1')")
    before = disk.state()
    filler = disk.small / "filler"
    fill(filler)
    os.truncate(filler, max(0, filler.stat().st_size - left))
    for words in (("freeze", "vision"), ("rollback", "vision")):
        status, _, said = disk.call(ANN, *words)
        if status != 0:
            assert f"disk: the file system {disk.small} (ext4) is full: {words[0]} users/{ANN}/vision needs" in said
            assert disk.state() == before
            assert disk.version(ANN, "vision") == "2.0"
        else:
            # A rollback moves a name: on some disks that takes no block.
            assert (words[0], left) != ("freeze", 0)
            before = disk.state()
            break
    filler.unlink()
    assert disk.call(ANN, "freeze", "vision")[0] == 0
    assert "as it was built" in disk.haienv(ANN, "doctor", "vision")
    assert "as it was built" in disk.haienv(BOB, "doctor", "vision")


def test_a_copy_on_a_nodes_disk_says_what_it_needs_before_it_begins(disk: Disk) -> None:
    shown = json.loads(disk.haienv(ANN, "show", "vision", "--json"))
    with mounted("-t", "tmpfs", "-o", "size=16k,mode=777", "tmpfs") as node:
        name, digest = f"users/{ANN}/vision@1", shown["digest"]
        said = disk.fails(ANN, "fetch", name, "--digest", digest, "--to", str(node))
        assert f"disk: the copy of {name} needs " in said
        assert f"and the file system {node} (tmpfs) has " in said
        assert not list(node.glob("sha256-*"))
        assert not list(node.glob(".staged-*"))


def test_a_disk_without_inodes_is_named_as_such() -> None:
    with an_ext4("16M", "-m", "0", "-N", "1500") as small, disk_on(small) as disk:
        make_wheel(disk.wheels, "many", "1.0", files=2000).chmod(0o644)
        before = disk.state()
        said = disk.fails(ANN, "install", "vision", "many")
        assert f"disk: the file system {small} (ext4)" in said
        disk.unchanged(before)


def test_a_quota_is_said_to_be_ones_own_and_others_go_on() -> None:
    options = ("-m", "0", "-O", "quota", "-E", "quotatype=usrquota")
    with an_ext4("32M", *options, mount="loop,usrquota") as small, disk_on(small) as disk:
        limit(small, ANN, 4 * MB)
        before = disk.state()
        said = disk.fails(ANN, "install", "vision", "big")
        assert f"disk: your quota of the file system {small} (ext4) is used up" in said
        disk.unchanged(before)
        disk.haienv(BOB, "install", "vision", "big")


def limit(place: Path, user: str, size: int) -> None:
    """Set the quota of an account on a file system."""

    class Limits(ctypes.Structure):
        _fields_ = (
            *((name, ctypes.c_uint64) for name in ("hard", "soft", "space", "ihard", "isoft", "inodes", "btime", "it")),
            ("valid", ctypes.c_uint32),
        )

    [device] = [line.split()[0] for line in Path("/proc/mounts").read_text().splitlines() if f" {place} " in line]
    wanted = Limits(hard=size // 1024, soft=size // 1024, valid=_BLOCK_LIMITS)
    found = ctypes.CDLL(None, use_errno=True).quotactl(
        _SET_QUOTA, device.encode(), pwd.getpwnam(user).pw_uid, ctypes.byref(wanted)
    )
    assert found == 0, os.strerror(ctypes.get_errno())


def free_in(folder: Path) -> int:
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize
