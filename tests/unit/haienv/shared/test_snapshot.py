"""Copies by hard links, and changes that are seen without reading files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from haienv.shared import snapshot, tree
from haienv.shared.errors import Damaged


def grown(top: Path) -> Path:
    (top / "lib" / "pkg" / "__pycache__").mkdir(parents=True)
    (top / "lib" / "pkg" / "a.py").write_text("1")
    (top / "lib" / "pkg" / "__pycache__" / "a.pyc").write_text("compiled")
    (top / "lib" / "odd\nname \xe9").write_text("odd")
    (top / "python").symlink_to("/usr/bin/python3")
    (top / "tool").write_text("#!/bin/sh\n")
    (top / "tool").chmod(0o755)
    return top


def test_an_index_has_the_digest_of_the_tree(tmp_path: Path) -> None:
    top = grown(tmp_path / "top")
    assert snapshot.contents_of(snapshot.filled(top, snapshot.scan(top), {})) == tree.contents(top)


def test_an_index_that_was_written_is_read_again(tmp_path: Path) -> None:
    top = grown(tmp_path / "top")
    index = snapshot.filled(top, snapshot.scan(top), {})
    snapshot.write_index(tmp_path / "index", index)
    assert snapshot.read_index(tmp_path / "index") == index
    (tmp_path / "index").write_bytes(b"x\0y\0")
    with pytest.raises(Damaged, match="is no index"):
        snapshot.read_index(tmp_path / "index")


@pytest.mark.parametrize(
    "change",
    [
        lambda top: (top / "lib" / "pkg" / "a.py").write_text("22"),
        lambda top: os.utime(top / "tool", ns=(1, 1)),
        lambda top: (top / "new").write_text(""),
        lambda top: (top / "tool").unlink(),
        lambda top: (top / "tool").chmod(0o644),
        lambda top: ((top / "python").unlink(), (top / "python").symlink_to("/bin/sh")),
    ],
    ids=["content", "time", "added", "removed", "right to execute", "target"],
)
def test_every_change_is_seen(tmp_path: Path, change) -> None:
    top = grown(tmp_path / "top")
    before = snapshot.filled(top, snapshot.scan(top), {})
    seen = snapshot.fingerprint(before)
    assert not snapshot.differs(snapshot.scan(top), before)
    assert snapshot.fingerprint(snapshot.scan(top)) == snapshot.look(top) == seen
    change(top)
    assert snapshot.differs(snapshot.scan(top), before)
    assert snapshot.fingerprint(snapshot.scan(top)) == snapshot.look(top) != seen
    again = snapshot.filled(top, snapshot.scan(top), before)
    assert snapshot.contents_of(again) == tree.contents(top)


def test_what_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = grown(tmp_path / "top")
    before = snapshot.filled(top, snapshot.scan(top), {})
    read = []
    monkeypatch.setattr(snapshot, "sha256_of", lambda path: read.append(Path(path).name) or "0")
    (top / "lib" / "pkg" / "a.py").write_text("22")
    snapshot.filled(top, snapshot.scan(top), before)
    assert read == ["a.py"]


def test_a_copy_shares_its_files_and_not_its_folders(tmp_path: Path) -> None:
    top = grown(tmp_path / "top")
    assert snapshot.link_tree(top, tmp_path / "copy") == 0
    assert tree.contents(tmp_path / "copy") == tree.contents(top)
    assert (tmp_path / "copy" / "tool").stat().st_ino == (top / "tool").stat().st_ino
    (tmp_path / "copy" / "lib" / "new").write_text("")
    assert not (top / "lib" / "new").exists()


def test_where_links_cannot_be_made_files_are_copied_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    top = grown(tmp_path / "top")
    monkeypatch.setattr(os, "link", refused)
    assert snapshot.link_tree(top, tmp_path / "copy") == 4
    assert tree.contents(tmp_path / "copy") == tree.contents(top)


def test_a_full_disk_is_no_reason_to_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(OSError, match="No space left"):
        snapshot.link_tree(grown(tmp_path / "top"), tmp_path / "copy")
