"""Archives of environments: what is odd in one is refused, and nothing is written outside of the prefix."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from haienv.building.archives import _Head, _head, _write_members
from haienv.shared.errors import Wrong
from haienv.store.layout import Generation
from haienv.store.manifest import Manifest

MANIFEST = Manifest(
    name="users/ann/vision", generation=1, digest="sha256:0", files=3, size=1000, lock="sha256:1", python="3.11.7",
    interpreter="/usr/bin/python3", machine="x86_64", glibc="2.36", cuda=None, extends=None, extends_digest=None,
    requirements=(), built_by="ann", built_at="2026-01-01T00:00:00Z", kernel=False,
)  # fmt: skip


def member(name: str, data: bytes = b"x", **facts: object) -> tuple[tarfile.TarInfo, bytes]:
    made = tarfile.TarInfo(name)
    made.size = len(data) if facts.get("type", tarfile.REGTYPE) == tarfile.REGTYPE else 0
    for key, value in facts.items():
        setattr(made, key, value)
    return made, data


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, type=kind, linkname=target)


TEXTS = [member("requirements.lock", b""), member("env.toml", b"")]


def unpack(place: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Generation:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for one, data in [*TEXTS, *members]:
            archive.addfile(one, io.BytesIO(data))
    packed.seek(0)
    generation = Generation(place / "1", 1)
    generation.prefix.mkdir(parents=True)
    with tarfile.open(fileobj=packed) as archive:
        _write_members(archive, iter(archive), generation, _Head("sha256:0", MANIFEST))
    return generation


def test_files_and_links_inside_are_written(tmp_path: Path) -> None:
    made = unpack(
        tmp_path,
        [member("prefix/lib/a.py", b"1", mode=0o777), link("prefix/lib/b.py", "a.py"), link("prefix/c", "lib/a.py")],
    )
    assert (made.prefix / "lib" / "b.py").read_text() == "1"
    assert (made.prefix / "c").read_text() == "1"
    assert (made.prefix / "lib" / "a.py").stat().st_mode & 0o022 == 0, "no rights to write for others"


@pytest.mark.parametrize(
    "odd",
    [
        [member("/etc/passwd")],
        [member("prefix/../../out")],
        [member("prefix//a")],
        [member("prefix/./a")],
        [member("manifest.json")],
        [member("prefix/pyvenv.cfg")],
        [link("prefix/bin/python3.11", "/tmp/evil")],
        [link("prefix/a", "/etc/passwd")],
        [link("prefix/a", "../../out")],
        [link("prefix/lib/a", "../../out")],
        [link("prefix/a", "b/../../out")],
        [link("prefix/a", "")],
        [link("prefix/a", "requirements.lock", tarfile.LNKTYPE)],
        [member("prefix/a", type=tarfile.CHRTYPE)],
        [member("prefix/a", type=tarfile.BLKTYPE)],
        [member("prefix/a", type=tarfile.FIFOTYPE)],
        [member("prefix/a", type=tarfile.DIRTYPE)],
        [member("prefix/a"), member("prefix/a")],
        [link("prefix/a", "lib"), member("prefix/lib/x"), member("prefix/a/y")],
        [member("prefix/a", b"x" * 1001)],
        [member(f"prefix/{number}") for number in range(4)],
    ],
    ids=lambda odd: odd[-1][0].name,
)
def test_what_is_odd_is_refused_and_nothing_is_written_outside(
    tmp_path: Path, odd: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    place = tmp_path / "generations"
    with pytest.raises(Wrong, match=r"^file: "):
        unpack(place, odd)
    assert [one.name for one in tmp_path.iterdir()] == ["generations"]
    assert {one.name for one in place.rglob("*") if not one.is_dir()} <= {
        "requirements.lock",
        "env.toml",
        "a",
        "x",
        "0",
        "1",
        "2",
    }


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1}', '{"schema": 1, "contents": "x", "manifest": 3}'])
def test_a_head_that_is_none_is_refused(text: str) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        one, data = member("haienv.json", text.encode())
        archive.addfile(one, io.BytesIO(data))
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive, pytest.raises(Wrong, match=r"no archive"):
        _head(archive, iter(archive))
