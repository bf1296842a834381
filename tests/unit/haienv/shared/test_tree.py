"""The digest of a tree: equal trees are equal, and every change shows; sealed trees stay as they are."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from haienv.shared.tree import COMPILED, contents, seal


def grown(top: Path) -> Path:
    (top / "lib" / "pkg").mkdir(parents=True)
    (top / "lib" / "pkg" / "a.py").write_text("1")
    (top / "lib" / "data").write_bytes(b"\0" * 3000)
    (top / "python").symlink_to("/usr/bin/python3")
    program = top / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return top


def test_equal_trees_have_equal_digests_wherever_they_are(tmp_path: Path) -> None:
    one, other = contents(grown(tmp_path / "one")), contents(grown(tmp_path / "two" / "three"))
    assert one == other
    assert (one.files, one.size) == (4, 1 + 3000 + 10)


@pytest.mark.parametrize(
    "change",
    [
        lambda top: (top / "lib" / "pkg" / "a.py").write_text("2"),
        lambda top: (top / "new").write_text(""),
        lambda top: (top / "lib" / "data").unlink(),
        lambda top: (top / "tool").chmod(0o644),
        lambda top: (top / "tool").rename(top / "tools"),
        lambda top: ((top / "python").unlink(), (top / "python").symlink_to("/usr/bin/python4")),
    ],
    ids=["content", "added", "removed", "right to execute", "renamed", "target of a link"],
)
def test_every_change_shows(tmp_path: Path, change: Callable[[Path], object]) -> None:
    top = grown(tmp_path / "top")
    before = contents(top).digest
    change(top)
    assert contents(top).digest != before


def test_compiled_python_does_not_count(tmp_path: Path) -> None:
    top = grown(tmp_path / "top")
    before = contents(top)
    (top / "lib" / "pkg" / COMPILED).mkdir()
    (top / "lib" / "pkg" / COMPILED / "a.pyc").write_bytes(b"x")
    assert contents(top) == before


def test_a_sealed_tree_can_be_written_by_nobody_but_for_compiled_python(tmp_path: Path) -> None:
    top = grown(tmp_path / "top")
    before = contents(top)
    seal(top)
    assert contents(top) == before
    writable = [
        Path(folder) / name
        for folder, folders, files in os.walk(tmp_path / "top")
        for name in [*folders, *files]
        if not (Path(folder) / name).is_symlink() and (Path(folder) / name).stat().st_mode & 0o222
    ]
    assert writable == [top / "lib" / "pkg" / COMPILED]
    assert stat.S_IMODE(writable[0].stat().st_mode) & 0o022 == 0, "only its owner may write"
