"""Digests that are remembered: the same as those that are read, and read again after any change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from haienv.building import remembered
from haienv.building.remembered import Memory
from haienv.shared import tree
from haienv.shared.tree import Contents


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


def read(top: Path, memory: Path) -> tuple[Contents, list[str]]:
    """What a build finds: what the tree holds, and which files it had to read."""
    known = Memory(memory)
    files, _ = remembered.look(top, known.known(()))
    fresh = remembered.read(top, files, known)
    known.remember(fresh)
    return remembered.contents(files), [one.path for one in fresh]


def test_the_digest_is_that_of_the_tree(top: Path, tmp_path: Path) -> None:
    for unread in (["lib/a.py", "lib/tool"], []):
        assert read(top, tmp_path / "memory") == (tree.contents(top), unread)
    files, folders = remembered.look(top, {})
    assert [(one.path, one.kind) for one in files] == [("lib/a.py", "f"), ("lib/tool", "x"), ("link", "l")]
    assert folders == [str(top), str(top / "lib")]


def test_nothing_is_read_twice_even_in_another_tree(top: Path, tmp_path: Path) -> None:
    first, _ = read(top, tmp_path / "memory")
    other = tmp_path / "other"
    shutil.copytree(top, other, symlinks=True, copy_function=os.link)
    assert read(other, tmp_path / "memory") == (first, [])


def test_a_memory_of_very_many_files_is_asked_for_each(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = read(top, tmp_path / "memory")
    monkeypatch.setattr(remembered, "ALL_AT_ONCE", 1)
    assert read(top, tmp_path / "memory") == (first, [])


def test_a_file_that_was_written_is_read_again(top: Path, tmp_path: Path) -> None:
    read(top, tmp_path / "memory")
    file = top / "lib" / "a.py"
    before = file.stat()
    file.write_text("9")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert read(top, tmp_path / "memory") == (tree.contents(top), ["lib/a.py"])


def test_a_memory_that_cannot_be_used_costs_only_time(top: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / remembered.FILE).write_bytes(b"no database" * 100)
    assert read(top, memory)[0] == tree.contents(top)
    assert read(top, tmp_path / "link" / "x")[0] == tree.contents(top)


def test_files_and_compiled_files_are_sealed_on_the_way(top: Path) -> None:
    (top / "lib" / "tool").chmod(0o4775)
    remembered.look(top, {}, seal=True)
    modes = {path.name: path.stat().st_mode & 0o7777 for path in (top / "lib").rglob("*") if path.is_file()}
    assert modes == {"a.py": 0o444, "tool": 0o555, "a.pyc": 0o444}
