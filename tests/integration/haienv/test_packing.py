"""A generation as one file, and copies of generations on one machine: by digest, whole or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import World

needs_squashfs = pytest.mark.skipif(
    shutil.which("mksquashfs") is None or shutil.which("unsquashfs") is None, reason="no squashfs-tools are installed"
)


@pytest.fixture
def made(world: World) -> dict[str, Any]:
    world.create("vision", "beta==1.0")
    found: dict[str, Any] = world.json("show", "vision")
    (world.place / "disk").mkdir()
    return found


def fetch(world: World, digest: str, *more: str) -> Path:
    said = world.json("fetch", "vision@1", "--digest", digest, "--to", str(world.place / "disk"), *more)
    return Path(said["prefix"])


def runs(prefix: Path) -> str:
    code = "import beta, alpha, sys; print(alpha.VERSION, sys.prefix)"
    return subprocess.run(
        [prefix / "bin/python", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def writable(top: Path) -> list[Path]:
    return [one for one in top.rglob("*") if not one.is_symlink() and one.stat().st_mode & 0o022]


@needs_squashfs
def test_a_pack_is_one_file_that_goes_with_its_generation(world: World, made: dict[str, Any]) -> None:
    first = world.json("pack", "vision")
    file = Path(first["file"])
    assert file.parent == Path(made["prefix"]).parent
    assert (file.stat().st_mode & 0o777, file.stat().st_size) == (0o444, first["size"])
    assert world.json("pack", "vision@1") == first, "it is made once"
    file.unlink()
    assert world.json("pack", "vision")["image"] == first["image"], "the same tree is the same image"
    world.haienv("doctor", "vision@1")
    world.haienv("install", "vision", "gamma==1.0")
    assert "vision@1 is removed" in world.haienv("gc", "vision", "--keep", "0")
    assert not file.parent.exists()


@needs_squashfs
def test_a_copy_comes_from_the_pack(world: World, made: dict[str, Any]) -> None:
    """The folder itself cannot be read any more: so it is the image that was unpacked."""
    world.haienv("pack", "vision")
    hidden = Path(made["prefix"])
    hidden.rename(hidden.with_name("elsewhere"))
    copy = fetch(world, made["digest"])
    assert runs(copy) == f"2.0 {copy}"
    assert writable(copy) == []


def test_a_copy_without_a_pack_is_the_same(world: World, made: dict[str, Any]) -> None:
    copy = fetch(world, made["digest"])
    assert copy == world.place / "disk" / made["digest"].replace(":", "-") / "prefix"
    assert runs(copy) == f"2.0 {copy}"
    assert writable(copy) == []
    before = copy.stat().st_ino
    assert fetch(world, made["digest"]) == copy
    assert copy.stat().st_ino == before, "it is made once"


@needs_squashfs
@pytest.mark.parametrize("what", ["the image", "the folder"])
def test_what_is_not_of_the_digest_is_nobodys_copy(world: World, made: dict[str, Any], what: str) -> None:
    target = next(Path(made["prefix"]).glob("lib/*/site-packages/alpha/__init__.py"))
    target.chmod(0o644)
    target.write_text("VERSION = 'evil'\n")
    if what == "the image":
        world.haienv("pack", "vision")
    status, said = world.fails("fetch", "vision@1", "--digest", made["digest"], "--to", str(world.place / "disk"))
    assert "its files have the digest" in said
    assert status != 0
    assert [one.name for one in (world.place / "disk").iterdir() if not one.name.startswith(".lock-")] == []


@needs_squashfs
def test_a_pack_that_was_cut_is_not_used(world: World, made: dict[str, Any]) -> None:
    file = Path(world.json("pack", "vision")["file"])
    file.chmod(0o644)
    data = file.read_bytes()
    file.write_bytes(b"\0" * len(data))
    assert runs(fetch(world, made["digest"])).startswith("2.0")


def test_another_digest_than_the_manifests_is_refused(world: World, made: dict[str, Any]) -> None:
    _, said = world.fails("fetch", "vision@1", "--digest", f"sha256:{'0' * 64}", "--to", str(world.place / "disk"))
    assert made["digest"] in said
    _, said = world.fails("fetch", "vision", "--digest", made["digest"], "--to", str(world.place / "disk"))
    assert "name the generation: users/ann/vision@1" in said


def test_many_who_ask_at_once_make_one_copy(world: World, made: dict[str, Any]) -> None:
    words = ("fetch", "vision@1", "--digest", made["digest"], "--to", str(world.place / "disk"))
    started = [world.start(*words) for _ in range(6)]
    assert [(one.wait(60), one.communicate()[1]) for one in started] == [(0, "")] * 6
    assert len(list((world.place / "disk").glob("sha256-*"))) == 1


def test_what_a_dead_one_has_left_is_replaced_and_old_copies_go(world: World, made: dict[str, Any]) -> None:
    disk = world.place / "disk"
    half = disk / f".staged-{made['digest'].replace(':', '-')}"
    (half / "prefix").mkdir(parents=True)
    old = disk / f"sha256-{'1' * 64}"
    (old / "prefix").mkdir(parents=True)
    (old / "complete").touch()
    os.utime(old / "complete", (0, time.time() - 40 * 86_400))
    copy = fetch(world, made["digest"], "--days", "30")
    assert runs(copy)
    assert not half.exists()
    assert not old.exists()
