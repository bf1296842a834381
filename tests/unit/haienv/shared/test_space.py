"""What is said of a full disk: the file system, what was needed, what is free, and the remedy."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from haienv.shared import space
from haienv.shared.errors import BuildFailed, DiskFull, NoSpace


def full(number: int = errno.ENOSPC, name: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), name)


class Disks:
    """File systems with what is free on them, by the beginning of a path."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **free: int) -> None:
        self.free = {name: [size, 5] for name, size in free.items()}
        monkeypatch.setattr(space, "_facts", self.facts)
        monkeypatch.setattr(space, "_system", lambda place: f"the file system /{self.name(place)} (ext4)")

    def name(self, place: str) -> str:
        return place.split("/")[1]

    def facts(self, place: str) -> os.statvfs_result:
        size, inodes = self.free[self.name(place)]
        return os.statvfs_result((1, 1, 9, size, size, 9, inodes, inodes, 0, 255))


def said(error: Exception, *places: str, what: str = "install x", need: int | None = None) -> str:
    """What is said of an error while something is written to these folders."""
    with pytest.raises(DiskFull) as caught, space.watched(what, *places, need=need):
        raise error
    return str(caught.value)


def test_the_disk_that_the_error_names_is_named_with_what_was_free(monkeypatch: pytest.MonkeyPatch) -> None:
    disks = Disks(monkeypatch, envs=5_000_000, cache=2_000_000)

    def write() -> None:
        disks.free["envs"][0] = 100_000
        raise full(name="/envs/a/x")

    with pytest.raises(DiskFull) as caught, space.watched("install users/ann/vision", "/envs/a", "/cache/uv"):
        write()
    assert str(caught.value).startswith(
        "disk: the file system /envs (ext4) is full: install users/ann/vision needs more than the 5.0 MB that were free"
        " when it began; now 100 kB are free. Nothing has changed. `haienv gc`"
    )


def test_without_a_name_it_is_the_one_with_the_least_space(monkeypatch: pytest.MonkeyPatch) -> None:
    Disks(monkeypatch, envs=5_000_000, cache=2_000)
    found = said(full(), "/envs/a", "/cache/uv")
    assert "the file system /cache (ext4) is full: install x needs more than the 2.0 kB that were free" in found


def test_what_uv_says_names_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    Disks(monkeypatch, envs=1, cache=2_000)
    error = NoSpace("failed to write to `/cache/uv/.tmp/x`: No space left on device (os error 28)")
    assert "the file system /cache (ext4) is full" in said(error, "/envs/a", "/cache/uv")


@pytest.mark.parametrize("error", [full(errno.EDQUOT), NoSpace("failed: Disk quota exceeded (os error 122)")], ids=str)
def test_a_quota_is_told_from_a_full_disk(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    Disks(monkeypatch, envs=5_000_000)
    assert said(error, "/envs/a").startswith("disk: your quota of the file system /envs (ext4) is used up: ")


def test_inodes_can_be_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    disks = Disks(monkeypatch, envs=5_000_000)
    disks.free["envs"][1] = 0
    assert "can have no further files: install x needs more inodes" in said(full(), "/envs/a")


def test_what_is_known_to_be_needed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    Disks(monkeypatch, node=300_000_000)
    with pytest.raises(DiskFull) as caught:
        space.check("the copy of x@1", "/node/copies", 848_000_000)
    assert "the copy of x@1 needs 848 MB, and the file system /node (ext4) has 300 MB free" in str(caught.value)
    space.check("the copy of x@1", "/node/copies", 300_000_000)
    error = shutil.Error([("a", "b", "[Errno 28] No space left on device")])
    found = said(error, "/node/copies", what="the copy of x@1", need=848_000_000)
    assert "is full: the copy of x@1 needs 848 MB, and 300 MB are free" in found


@pytest.mark.parametrize("error", [full(errno.EACCES), BuildFailed("uv could not"), shutil.Error([("a", "b", "no")])])
def test_other_errors_are_left_as_they_are(error: Exception, tmp_path: Path) -> None:
    with pytest.raises(type(error)) as caught, space.watched("x", str(tmp_path)):
        raise error
    assert caught.value is error


def test_a_real_file_system_has_its_place_and_kind(tmp_path: Path) -> None:
    said = space.sentence(full(), str(tmp_path / "not" / "there"))
    assert said.startswith("disk: the file system /")
    assert "needs more than the " in said
    assert space.free_in(str(tmp_path / "not" / "there")) > 0
