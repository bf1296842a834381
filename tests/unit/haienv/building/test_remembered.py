"""Digests that are remembered: the same as those that are read, and read again after any change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from haienv.building import remembered
from haienv.shared import tree


@pytest.fixture
def top(tmp_path: Path) -> Path:
    made = tmp_path / "top"
    (made / "lib" / "__pycache__").mkdir(parents=True)
    (made / "lib" / "a.py").write_text("1")
    (made / "lib" / "tool").write_text("2")
    (made / "lib" / "tool").chmod(0o755)
    (made / "lib" / "__pycache__" / "a.pyc").write_text("3")
    (made / "link").symlink_to("lib/a.py")
    return made


def test_the_digest_is_that_of_the_tree(top: Path, tmp_path: Path) -> None:
    for _ in range(2):
        found, files = remembered.contents(top, tmp_path / "memory")
        assert found == tree.contents(top)
        assert [(one.path, one.kind) for one in files] == [("lib/a.py", "f"), ("lib/tool", "x"), ("link", "l")]


def test_nothing_is_read_twice_even_in_another_tree(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = remembered.contents(top, tmp_path / "memory")
    other = tmp_path / "other"
    shutil.copytree(top, other, symlinks=True, copy_function=os.link)
    read: list[str] = []
    monkeypatch.setattr(remembered, "sha256_of", lambda path: read.append(path))
    assert remembered.contents(other, tmp_path / "memory")[0] == first
    assert read == []


def test_a_file_that_was_written_is_read_again(top: Path, tmp_path: Path) -> None:
    remembered.contents(top, tmp_path / "memory")
    file = top / "lib" / "a.py"
    before = file.stat()
    file.write_text("9")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert remembered.contents(top, tmp_path / "memory")[0] == tree.contents(top)


def test_a_memory_that_cannot_be_used_costs_only_time(top: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / remembered.FILE).write_bytes(b"no database" * 100)
    assert remembered.contents(top, memory)[0] == tree.contents(top)
    assert remembered.contents(top, tmp_path / "link" / "x")[0] == tree.contents(top)
