"""What a client takes of a folder, what it leaves out, and what it says."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from hai_client.errors import Invalid
from hai_client.quantity import amount
from hai_client.snapshots import manifest, remembered, taking
from hai_client.snapshots.manifest import Manifest
from hai_client.snapshots.packing import Unpacker
from hai_client.snapshots.pulling import pull
from hai_client.snapshots.taking import Most, Taken, take, told
from hai_client.wire.storage import SnapshotState
from unit.client.snapshots.walking_kit import git

MOST = Most(files=100, size=10_000_000, file_size=5_000_000)


class Service:
    """A service that has what was sent to it."""

    def __init__(self) -> None:
        self.manifests: dict[str, Manifest] = {}
        self.packed: dict[str, bytes] = {}
        self.contents: dict[str, bytes] = {}
        self.requests: list[str] = []

    def state(self, digest: str) -> SnapshotState:
        found = self.manifests[digest]
        lacking = [one.what for one in manifest.missing_first(found.entries, set(found.blobs) - set(self.contents))]
        return SnapshotState(
            digest=digest, files=len(found.entries), size=found.size, complete=not lacking, missing=tuple(lacking)
        )

    def snapshot_state(self, digest: str) -> SnapshotState | None:
        self.requests.append("state")
        return self.state(digest) if digest in self.manifests else None

    def offer_snapshot(self, digest: str, packed: bytes) -> SnapshotState:
        self.requests.append("offer")
        self.manifests[digest] = manifest.parse(manifest.decompress(packed), most=1000)
        self.packed[digest] = packed
        return self.state(digest)

    def send_contents(self, digest: str, stream: bytes) -> SnapshotState:
        self.requests.append("send")
        parts = b""
        unpacker = Unpacker(self.manifests[digest].blobs)
        for content, part, complete in unpacker.take(stream):
            parts += part
            if complete:
                self.contents[content], parts = parts, b""
        unpacker.finish()
        return self.state(digest)

    def task_manifest(self, task: str) -> bytes:
        return manifest.decompress(self.packed[task])

    def task_contents(self, task: str, start: int) -> bytes:
        from hai_client.snapshots.packing import Packer

        packer = Packer()
        entries = self.manifests[task].entries
        for one in manifest.missing_first(entries, set(self.manifests[task].blobs))[start : start + 2]:
            packer.add(one.what, self.contents[one.what])
        return packer.finish()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "pkg/deep").mkdir(parents=True)
    (folder / "train.py").write_text("print(1)")
    (folder / "pkg/__init__.py").write_text("")
    (folder / "pkg/deep/a.py").write_text("a = 1")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    return folder


def taken(service: Service, folder: Path, tmp_path: Path, most: Most = MOST) -> Taken:
    return take(service, str(folder), most, cache=tmp_path / "cache")


def paths(service: Service, digest: str) -> dict[str, str]:
    return {entry.path: entry.kind for entry in service.manifests[digest].entries}


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "SETTLED_NS", 0)


def test_a_folder_is_sent_once_and_unchanged_not_read_again(
    service: Service, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = taken(service, code, tmp_path)
    assert paths(service, first.digest) == {
        "pkg/__init__.py": "f", "pkg/deep/a.py": "f", "run.sh": "x", "train.py": "f",
    }  # fmt: skip
    assert (first.files, first.sent, service.requests) == (4, 4, ["state", "offer", "send"])
    service.requests.clear()

    def never(*_: object) -> None:
        raise AssertionError("a file was read again")

    with monkeypatch.context() as closed:
        closed.setattr(taking.os, "open", never)
        again = taken(service, code, tmp_path)
    assert (again.digest, again.sent, service.requests) == (first.digest, 0, ["state"])

    (code / "train.py").write_text("print(2)")
    changed = taken(service, code, tmp_path)
    assert (changed.sent, changed.digest != first.digest) == (1, True)


def test_each_piece_that_is_sent_is_told(
    service: Service, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pieces are small here, so that each file is one."""
    monkeypatch.setattr(taking, "PIECE_BYTES", 1)
    told_: list[str] = []
    take(service, str(code), MOST, cache=tmp_path / "cache", progress=told_.append)
    assert told_ == [
        "snapshot: reading 4 files",
        "snapshot: reading file 1 of 4",
        "snapshot: sent 0 of 4 files, 0 B of 23 B",
        "snapshot: sent 1 of 4 files, 0 B of 23 B",
        "snapshot: sent 2 of 4 files, 5 B of 23 B",
        "snapshot: sent 3 of 4 files, 15 B of 23 B",
    ]


@pytest.mark.parametrize("trick", ["same size and time", "replaced", "touched back"])
def test_an_edit_is_never_overlooked(service: Service, code: Path, tmp_path: Path, trick: str) -> None:
    first = taken(service, code, tmp_path)
    file = code / "train.py"
    before = file.stat()
    if trick == "replaced":
        (code / "new").write_text("print(2)")
        (code / "new").replace(file)
    else:
        file.write_text("print(2)")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert taken(service, code, tmp_path).digest != first.digest


def test_a_file_that_was_written_a_moment_ago_is_not_remembered(
    service: Service, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "SETTLED_NS", 3_600_000_000_000)
    taken(service, code, tmp_path)
    assert not list((tmp_path / "cache").rglob("*.json"))


def test_a_cache_that_is_damaged_is_done_without(service: Service, code: Path, tmp_path: Path) -> None:
    first = taken(service, code, tmp_path)
    [cache] = (tmp_path / "cache").rglob("*.json")
    for text in ("", "{", "[]", '{"schema": 1, "files": {"train.py": [1]}}', '{"schema": 1, "files": []}'):
        cache.write_text(text)
        assert taken(service, code, tmp_path).digest == first.digest


def test_what_is_no_code_is_left_out(service: Service, code: Path, tmp_path: Path) -> None:
    for folder in (".git", "__pycache__", ".ipynb_checkpoints", "pkg/__pycache__", ".mypy_cache"):
        (code / folder).mkdir()
        (code / folder / "x").write_text("x")
    for folder, mark in ((".venv", "pyvenv.cfg"), ("conda", "conda-meta/history")):
        (code / folder / mark).parent.mkdir(parents=True)
        (code / folder / mark).write_text("x")
        (code / folder / "python.py").write_text("x")
    (code / ".haiignore").write_text("*.ckpt\n/data/\n")
    (code / "data").mkdir()
    (code / "data/big.bin").write_bytes(b"x" * 2_500_000)
    (code / "model.ckpt").write_text("x")
    found = taken(service, code, tmp_path)
    assert set(paths(service, found.digest)) == {
        ".haiignore", "pkg/__init__.py", "pkg/deep/a.py", "run.sh", "train.py",
    }  # fmt: skip
    assert told(found) == f"5 files, 5 sent, {amount(found.sent_size)}; skipped: data/ (2.5 MB)"


def test_git_lists_no_pipes_and_they_are_named_nevertheless(service: Service, code: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", code], check=True)
    os.mkfifo(code / "pipe")
    assert "pipe is a pipe and is left out" in taken(service, code, tmp_path).notes


@pytest.mark.parametrize("above", [False, True])
def test_settings_and_logins_of_a_home_folder_are_left_out(
    service: Service, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, above: bool
) -> None:
    home = code / "pkg" if above else code
    for name in (".config/hai/config.json", ".netrc", "work/.env"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("secret")
    whole = taken(service, code, tmp_path)
    monkeypatch.setenv("HOME", str(home))
    found = taken(service, code, tmp_path)
    paths, before = ({entry.path for entry in service.manifests[one.digest].entries} for one in (found, whole))
    of = "pkg/" if above else ""
    assert {f"{of}.netrc", f"{of}.config/hai/config.json"} <= before - paths
    assert f"{of}work/.env" in paths
    assert [note for note in found.notes if "is your home folder" in note]


def test_odd_names_are_left_out_aloud_and_names_alike_refused(service: Service, code: Path, tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(code) + b"/\xff.py")).write_text("x")
    (code / "two\nlines").write_text("x")
    found = taken(service, code, tmp_path)
    assert len(found.notes) == 2
    (code / "TRAIN.py").write_text("x")
    with pytest.raises(Invalid, match="capitals do not count"):
        taken(service, code, tmp_path)


def test_what_is_too_large_is_named_with_the_remedy(service: Service, code: Path, tmp_path: Path) -> None:
    (code / "weights.pt").write_bytes(b"x" * 6_000_000)
    with pytest.raises(Invalid, match=r"weights\.pt has 6\.0 MB, and a file may have 5\.0 MB: .*\.haiignore"):
        taken(service, code, tmp_path)
    with pytest.raises(Invalid, match=r"more than 5\.5 MB.*so far .*weights\.pt \(6\.0 MB\).*\.haiignore"):
        taken(service, code, tmp_path, Most(100, 5_500_000, 5_500_000))
    (code / "many").mkdir()
    for number in range(120):
        (code / "many" / str(number)).write_text("")
    with pytest.raises(Invalid, match=r"more than 100 files.*many/ \(\d+ files\)"):
        taken(service, code, tmp_path)
    assert service.requests == []


@pytest.mark.parametrize("folder", ["empty", "missing"])
def test_a_folder_without_files_is_refused(service: Service, tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(Invalid, match="snapshot: "):
        taken(service, tmp_path / folder, tmp_path)


def test_the_commit_is_told_and_whether_something_has_changed(service: Service, code: Path, tmp_path: Path) -> None:
    assert taken(service, code, tmp_path)[-2:] == (None, False)
    git(code, "init", "-q")
    git(code, "add", ".")
    git(code, "commit", "-qm", "x")
    head = git(code, "rev-parse", "HEAD")
    assert taken(service, code, tmp_path)[-2:] == (head, False)
    (code / "new.py").write_text("")
    assert taken(service, code, tmp_path)[-2:] == (head, True)


def test_a_file_that_is_written_to_all_the_time_is_refused(
    service: Service, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = taking._stamp

    def restless(handle: int) -> tuple[int, int, int, int, int]:
        os.utime(code / "train.py", ns=(0, time.time_ns()))
        return real(handle)

    monkeypatch.setattr(taking, "_stamp", restless)
    with pytest.raises(Invalid, match=r"train\.py is written to"):
        taken(service, code, tmp_path)


def test_what_was_taken_can_be_had_back(service: Service, code: Path, tmp_path: Path) -> None:
    (code / "same.py").write_text("a = 1")
    (code / "link").symlink_to("same.py")
    found = taken(service, code, tmp_path)
    back = tmp_path / "back"
    pull(service, found.digest, back)
    again = Service()
    assert taken(again, back, tmp_path).digest == found.digest
