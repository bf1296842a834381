"""Environments of conda's flavour, from a channel that the test makes. Rattler and uv are real; nothing is fetched.

The channel's Python is the one of this machine: a link to its program and a pyvenv.cfg, as in a virtual environment.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path

import pytest

from .conftest import World, make_wheel

rattler = pytest.importorskip("rattler", reason="packages of conda need the extra conda")

RELEASE = f"{sys.version_info[0]}.{sys.version_info[1]}"
VERSION = ".".join(map(str, sys.version_info[:3]))
PACKAGES = f"lib/python{RELEASE}/site-packages"


def add_package(
    channel: Path, name: str, version: str, files: dict[str, bytes], *, depends: tuple[str, ...] = (),
    links: dict[str, str] | None = None,
) -> None:  # fmt: skip
    """Put a package into a channel."""
    links = links or {}
    paths = [
        {"_path": path, "path_type": "hardlink", "sha256": hashlib.sha256(data).hexdigest(), "size_in_bytes": len(data)}
        for path, data in files.items()
    ]
    paths += [
        {"_path": path, "path_type": "softlink", "sha256": hashlib.sha256(b"").hexdigest(), "size_in_bytes": 0}
        for path in links
    ]
    about = {
        "name": name, "version": version, "build": "0", "build_number": 0, "depends": list(depends),
        "subdir": "linux-64", "platform": "linux", "arch": "x86_64", "license": "BSD",
    }  # fmt: skip
    info = {
        "info/index.json": json.dumps(about).encode(),
        "info/paths.json": json.dumps({"paths_version": 1, "paths": paths}).encode(),
        "info/files": "\n".join([*files, *links]).encode(),
    }
    (channel / "linux-64").mkdir(parents=True, exist_ok=True)
    (channel / "noarch").mkdir(exist_ok=True)
    with tarfile.open(channel / "linux-64" / f"{name}-{version}-0.tar.bz2", "w:bz2") as archive:
        for path, data in {**info, **files}.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
        for path, target in links.items():
            member = tarfile.TarInfo(path)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)


def add_module(channel: Path, name: str, version: str, *, depends: tuple[str, ...] = ("python",)) -> None:
    """Put a package with a Python module into a channel."""
    files = {
        f"{PACKAGES}/{name}/__init__.py": f"VERSION = {version!r}\n".encode(),
        f"{PACKAGES}/{name}-{version}.dist-info/METADATA": (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
        ),
        f"{PACKAGES}/{name}-{version}.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
        f"{PACKAGES}/{name}-{version}.dist-info/RECORD": b"",
    }
    add_package(channel, name, version, files, depends=depends)


@pytest.fixture
def channel(world: World) -> Path:
    made = world.place / "channel"
    program = os.path.realpath(sys.executable)
    config = f"home = {Path(program).parent}\nimplementation = CPython\nversion_info = {VERSION}\n"
    add_package(
        made, "python", VERSION,
        {"pyvenv.cfg": config.encode(), f"{PACKAGES}/README.txt": b"packages\n"},
        links={"bin/python": program, "bin/python3": "python", f"bin/python{RELEASE}": "python"},
    )  # fmt: skip
    add_module(made, "solver", "1.0")
    add_module(made, "solver", "2.0")
    add_package(made, "tool", "3.1", {"share/tool.txt": b"a tool\n"}, depends=("solver >=2",))
    asyncio.run(rattler.index_fs(made, None) if hasattr(rattler, "index_fs") else index(made))
    return made


async def index(channel: Path) -> None:
    from rattler.index import index_fs

    await index_fs(channel, None)


def environment(world: World, channel: Path, *lines: str) -> str:
    file = world.place / "environment.yml"
    text = "".join(f"  - {line}\n" for line in lines)
    file.write_text(f"channels: [{channel.as_uri()}]\ndependencies:\n{text}")
    return str(file)


def test_packages_of_conda_and_of_pip_make_one_environment(world: World, channel: Path) -> None:
    make_wheel(world.wheels, "delta", "1.0", requires=("solver>=1",))
    make_wheel(world.wheels, "solver", "1.0")
    file = environment(world, channel, "solver=1.0", "pip:\n    - delta")
    out = world.haienv("create", "vision", "--no-kernel", "-r", file)
    assert "users/ann/vision@1" in out
    shown = world.json("show", "vision")
    # uv saw that conda has brought `solver`, and did not bring it once more.
    assert shown["packages"] == {"conda:python": VERSION, "conda:solver": "1.0", "delta": "1.0"}
    assert shown["python"] == VERSION
    assert world.version("vision", "delta") == "1.0"
    assert world.version("vision", "solver") == "1.0"
    lock = world.haienv("lock", "vision")
    assert f"# conda: solver 1.0 0 {channel.as_uri()}/linux-64/solver-1.0-0.tar.bz2 sha256:" in lock
    assert "as it was built" in world.haienv("doctor", "vision")


def test_exported_files_with_builds_and_channels_are_solved(world: World, channel: Path) -> None:
    add_package(channel, "_libgcc_mutex", "0.1", {"share/mutex.txt": b"x"})
    asyncio.run(rattler.index_fs(channel, None) if hasattr(rattler, "index_fs") else index(channel))
    world.root.mkdir()
    (world.root / "config.toml").write_text(f'[conda.channels]\nforge = "{channel.as_uri()}"\n')
    file = world.place / "exported.yml"
    file.write_text(
        f"name: train\nchannels: [forge, nodefaults]\ndependencies:\n- _libgcc_mutex=0.1=0\n- python={VERSION}=0\n"
        "- forge::solver=1.0=0\nprefix: /home/ann/envs/train\n"
    )
    world.haienv("create", "whole", "--no-kernel", "-r", str(file))
    found = {"conda:_libgcc_mutex": "0.1", "conda:python": VERSION, "conda:solver": "1.0"}
    assert world.json("show", "whole")["packages"] == found
    world.haienv("uninstall", "whole", "_libgcc_mutex")
    assert "conda:_libgcc_mutex" not in world.json("show", "whole")["packages"]
    file.write_text("dependencies:\n- python\n- forge/linux-64::tool[version='3.*', build=0]\n")
    world.haienv("create", "named", "--no-kernel", "-r", str(file))
    assert world.json("show", "named")["packages"]["conda:tool"] == "3.1"
    file.write_text("channels: [forge]\ndependencies:\n- solver=1.0=h123_7\n")
    _, message = world.fails("create", "other", "-r", str(file))
    assert "conda env export --no-builds" in message


def test_generations_are_compared_collected_and_not_made_without_need(world: World, channel: Path) -> None:
    world.haienv("create", "vision", "--no-kernel", "-r", environment(world, channel, "solver=1.0"))
    assert "stays" in world.haienv("rebuild", "vision")
    assert "~ conda:solver 1.0 -> 2.0" in world.haienv(
        "install",
        "vision",
        "-r",
        environment(world, channel, "tool"),
        "-r",
        environment(world, channel, "tool", "solver"),
    )
    assert world.haienv("diff", "vision@1").splitlines() == ["~ conda:solver 1.0 -> 2.0", "+ conda:tool 3.1"]
    world.haienv("uninstall", "vision", "tool")
    assert world.json("show", "vision")["packages"] == {"conda:python": VERSION, "conda:solver": "2.0"}
    assert "vision@1 is removed" in world.haienv("gc", "vision", "--keep", "1")
    world.haienv("clone", "vision", "copy")
    assert world.json("show", "copy")["packages"] == world.json("show", "vision")["packages"]
    file = next(Path(world.json("show", "vision")["prefix"]).glob("lib/*/site-packages/solver/__init__.py"))
    assert file.stat().st_mode & 0o222 == 0
    file.chmod(0o644)
    file.write_text("VERSION = 'evil'\n")
    _, message = world.fails("doctor", "vision")
    assert "differ from its manifest" in message


@pytest.mark.parametrize(
    ("lines", "words", "says"),
    [
        (["solver=9"], [], "solver"),
        (["nothing-like-this"], [], "nothing-like-this"),
        (["tool", "solver=1.0"], [], "tool"),
        (["solver"], ["-p", "/usr/bin/python3"], "conda brings its own Python"),
        (["solver"], ["-p", "3.98"], "3.98"),
    ],
)
def test_what_cannot_be_had_is_named_and_leaves_nothing(
    world: World, channel: Path, lines: list[str], words: list[str], says: str
) -> None:
    _, message = world.fails("create", "vision", "-r", environment(world, channel, *lines), *words)
    assert says in message
    assert world.json("list")["items"] == []


def test_a_channel_that_does_not_answer_is_no_fault_of_what_is_asked_for(world: World) -> None:
    file = world.place / "environment.yml"
    file.write_text("channels: ['http://127.0.0.1:9']\ndependencies: [solver]\n")
    _, message = world.fails("create", "vision", "-r", str(file))
    assert "the channel does not answer" in message
    assert "change what environment.yml asks for" not in message
    assert world.json("list")["items"] == []


def test_a_name_of_a_channel_means_what_the_administrator_says(world: World, channel: Path) -> None:
    file = world.place / "environment.yml"
    file.write_text("channels: [conda-forge]\ndependencies: [solver]\n")
    world.root.mkdir()
    (world.root / "config.toml").write_text(f'[conda.channels]\nconda-forge = "{channel.as_uri()}"\n')
    world.haienv("create", "vision", "--no-kernel", "-r", str(file), "-p", RELEASE)
    assert world.json("show", "vision")["packages"] == {"conda:python": VERSION, "conda:solver": "2.0"}
    (world.root / "config.toml").write_text('[conda]\nalias = "file:///no/such/place"\n')
    _, message = world.fails("create", "other", "--no-kernel", "-r", str(file))
    assert "/no/such/place/conda-forge" in message
    _, message = world.fails("install", "vision", "alpha", "-r", str(file), "--extra", "x")
    assert "extra: 'x' is of no file here" in message


def test_what_would_use_its_files_at_another_place_is_refused(world: World, channel: Path) -> None:
    world.haienv("create", "vision", "--no-kernel", "-r", environment(world, channel, "solver"))
    for words in (["draft", "vision"], ["rename", "vision", "other"], ["export", "vision", str(world.place / "a.tar")]):
        status, message = world.fails(*words)
        assert (status, f"{words[0]}: the environment has packages of conda" in message) == (2, True), message
    assert [one["name"] for one in world.json("list")["items"]] == ["users/ann/vision"]
    assert not (world.place / "a.tar").exists()
