"""Builds that die at any moment, that meet each other, or that find no space: what is current stays what it was."""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from kit.disks import small_disk

from .conftest import PATIENCE, World, make_wheel

#: How often a build is killed, and by which moments.
MOMENTS = int(os.environ.get("HAIENV_TEST_MOMENTS", "50"))
SEED = int(os.environ.get("HAIENV_TEST_SEED", "14"))
SPEC = "env.toml"


def sound(world: World, name: str) -> dict[str, object]:
    """Check that an environment is whole, and return what it shows."""
    shown = world.json("show", name)
    assert "as it was built" in world.haienv("doctor", name)
    place = world.root / "users" / "ann" / name
    number = shown["generation"]
    assert (place / "generations" / str(number) / SPEC).is_file()
    assert f"{number}" == (place / "current").readlink().name
    return dict(shown)


def test_a_build_that_is_killed_at_any_moment_leaves_the_environment_as_it_was(world: World) -> None:
    packages = [f"pkg{number}" for number in range(20)]
    for name in packages:
        make_wheel(world.wheels, name, "1.0", files=10)
    world.create("vision", "alpha==1.0")
    began = time.monotonic()
    world.create("measured", *packages)
    whole = time.monotonic() - began
    moments = random.Random(SEED)
    died = 0
    shown = sound(world, "vision")
    for at in range(MOMENTS):
        before = shown
        began = time.monotonic()
        process = world.start("install", "vision", f"alpha=={1 + at % 2}.0", *packages)
        try:
            # A killed one leaves its uv to finish by itself, as it is where a node dies under a shared folder.
            process.wait(moments.uniform(0, whole * 1.1))
            # The machine may have been busier when the first one was measured.
            whole = min(whole, time.monotonic() - began)
        except subprocess.TimeoutExpired:
            process.kill()
            died += 1
        process.communicate()
        shown = sound(world, "vision")
        if shown["generation"] == before["generation"]:
            assert shown["digest"] == before["digest"]
    assert died >= MOMENTS // 2, "most were killed in the middle"
    asked = set(sound(world, "vision")["requirements"])  # type: ignore[call-overload]
    world.haienv("install", "vision", "beta")
    after = sound(world, "vision")
    assert set(after["requirements"]) == asked | {"beta"}, "what a killed one wanted is not installed later"  # type: ignore[call-overload]
    folder = world.root / "users" / "ann" / "vision"
    complete = sorted(one.name for one in (folder / "generations").iterdir() if (one / "manifest.json").exists())
    assert sorted(one.name for one in (folder / "generations").iterdir()) == complete, "what they left is gone"
    assert not (folder / "publishing").exists()


@pytest.mark.parametrize("verb", ["create", "import", "rename", "remove", "freeze", "draft"])
def test_other_verbs_that_are_killed_leave_all_or_nothing(world: World, verb: str) -> None:
    world.create("vision", "alpha==1.0", "beta")
    archive = world.place / "vision.tar"
    world.haienv("export", "vision", str(archive))
    words = {
        "create": ["create", "new", "alpha==1.0", "beta", "--no-kernel", "-p", sys.executable],
        "import": ["import", "new", str(archive)],
        "rename": ["rename", "vision", "new"],
        "remove": ["remove", "vision"],
        "freeze": ["freeze", "vision"],
        "draft": ["draft", "vision"],
    }[verb]
    moments = random.Random(SEED)
    killed, whole = 0, PATIENCE
    for at in range(7):
        if verb == "freeze":
            world.haienv("draft", "vision")
            [place] = (world.root / "users" / "ann" / "vision" / "draft").glob("prefix/lib/*/site-packages")
            # As pip does, and as everybody but root has to: generations share the old file.
            (place / "more.py").unlink(missing_ok=True)
            (place / "more.py").write_text(f"X = {moments.random()}\n")
        began = time.monotonic()
        process = world.start(*words)
        try:
            # The first one is not killed: it says how long it takes.
            process.wait(moments.uniform(0, whole) if at else whole)
        except subprocess.TimeoutExpired:
            process.kill()
            killed += 1
        process.communicate()
        whole = whole if at else time.monotonic() - began
        names = {one["name"].rpartition("/")[2] for one in world.json("list")["items"] if not one["trouble"]}
        for name in names:
            sound(world, name)
        assert names & {"vision", "new"} or verb == "remove"
        if verb == "draft":
            world.call("draft", "vision", "--discard")
        elif verb != "freeze":
            world.call("remove", "new")
            if "vision" not in names:
                # Killed before anything was gone: the next change finds all of it, and it is in the list again.
                world.call("remove", "vision")
                world.create("vision", "alpha==1.0", "beta")
    assert killed


def test_two_that_create_the_same_environment_do_not_disturb_each_other(world: World) -> None:
    words = ["create", "vision", "--no-kernel", "-p", sys.executable]
    processes = [world.start(*words, package) for package in ("omega", "alpha==1.0", "beta")]
    ended = [(process.communicate(timeout=PATIENCE)[1], process.returncode) for process in processes]
    assert [status for _, status in ended].count(0) == 1, ended
    assert "omega was not found" in ended[0][0] or "users/ann/vision exists" in ended[0][0]
    assert sum("users/ann/vision exists" in message for message, _ in ended[1:]) == 1
    sound(world, "vision")


def test_who_waits_for_a_removal_is_told_that_it_is_gone(world: World) -> None:
    world.create("vision", "alpha==1.0")
    place = world.root / "users" / "ann" / "vision"
    from haienv.shared.locking import building

    with building(place / "build.lock", "remove users/ann/vision", user="ann", wait_s=0, say=print):
        waiting = world.start("install", "vision", "beta")
        assert waiting.stderr is not None
        assert "does `remove users/ann/vision`" in waiting.stderr.readline()
        place.rename(place.with_name(".removed-vision"))
    _, message = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 1
    assert "users/ann/vision is gone" in message
    assert not place.exists()


def test_a_full_disk_leaves_what_there_was(world: World) -> None:
    with small_disk("2m") as small:
        env = {"HAIENV_ROOT": str(small / "root"), "UV_CACHE_DIR": str(small / "cache")}
        with_data(world.wheels, 3_000_000)
        base = ("--no-kernel", "-p", sys.executable)
        world.haienv("create", "vision", *base, "alpha==1.0", **env)
        before = world.haienv("show", "vision", "--json", **env)
        for words in (
            ("install", "vision", "big"),
            ("create", "other", *base, "big"),
            ("clone", "vision", "copy", "--no-wait"),
        ):
            if words[0] == "clone":
                (small / "filler").write_bytes(b"\0" * free_in(small))
            status, message = world.fails(*words, **env)
            assert status == 1
            assert f"disk: the file system {small} (tmpfs) is full: {words[0]} users/ann/" in message, message
            (small / "filler").unlink(missing_ok=True)
            assert world.haienv("show", "vision", "--json", **env) == before
            assert json.loads(world.haienv("list", "--json", **env))["items"][0]["name"] == "users/ann/vision"
            assert not (small / "root" / "users" / "ann" / "other").exists()
            assert not (small / "root" / "users" / "ann" / "copy").exists()
        assert "as it was built" in world.haienv("doctor", "vision", **env)
        world.haienv("install", "vision", "alpha==2.0", **env)


def with_data(folder: Path, size: int) -> None:
    """Make a wheel `big` that cannot be compressed."""
    made = make_wheel(folder, "big", "1.0")
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr("big/data.bin", random.Random(1).randbytes(size))


def free_in(folder: Path) -> int:
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize


def test_a_limit_of_file_sizes_is_named(world: World) -> None:
    world.create("vision", "alpha==1.0")
    with_data(world.wheels, 3_000_000)
    process = subprocess.run(
        [sys.executable, "-m", "haienv", "install", "vision", "big"], env=world.env, text=True, capture_output=True,
        check=False, timeout=PATIENCE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)),
    )  # fmt: skip
    assert process.returncode == 1
    assert "Traceback" not in process.stderr
    assert process.stderr.startswith("haienv: ")
    assert sound(world, "vision")["generation"] == 1


def test_an_index_that_does_not_answer_is_named(world: World) -> None:
    env = {"UV_OFFLINE": "false", "UV_FIND_LINKS": "", "UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": "5"}
    status, message = world.fails(
        "create", "x", "--no-kernel", "-p", sys.executable, "--index", "http://127.0.0.1:9/simple", "alpha", **env
    )
    assert status == 1
    assert "127.0.0.1:9" in message
    assert world.json("list")["items"] == []
