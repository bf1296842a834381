"""Files that uv writes into each environment: equal ones are one file on the disk, and stay what they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from haienv.building import equal, remembered
from haienv.building.remembered import File, Memory
from haienv.shared import tree

TEXTS = {"RECORD": "a.py,sha256=x,1\n", "tool": "#!/bin/sh\n", "empty": ""}


def made(top: Path) -> Path:
    top.mkdir()
    for name, text in TEXTS.items():
        (top / name).write_text(text)
    (top / "tool").chmod(0o755)
    (top / "link").symlink_to("tool")
    return top


def share(top: Path, store: Path) -> dict[str, File]:
    memory = Memory(store)
    files, _ = remembered.look(top, memory.known(()), seal=True)
    fresh = remembered.read(top, files, memory)
    shared = equal.share(top, fresh, store, memory.known(()))
    memory.remember(one for one in fresh if one.path not in shared)
    return shared


def test_equal_files_of_two_environments_are_one_on_the_disk(tmp_path: Path) -> None:
    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    before = tree.contents(one)
    assert share(one, tmp_path / "store") == {}
    shared = share(two, tmp_path / "store")
    assert sorted(shared) == ["RECORD", "tool"]
    for name in ("RECORD", "tool"):
        facts = (two / name).stat()
        assert facts.st_ino == (one / name).stat().st_ino
        assert shared[name].facts == (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)
    assert sorted(path.name for path in two.iterdir()) == ["RECORD", "empty", "link", "tool"]
    assert tree.contents(one) == tree.contents(two) == before


def test_a_file_that_can_be_executed_is_not_one_that_cannot(tmp_path: Path) -> None:
    share(made(tmp_path / "one"), tmp_path / "store")
    two = made(tmp_path / "two")
    (two / "tool").chmod(0o644)
    assert sorted(share(two, tmp_path / "store")) == ["RECORD"]
    assert (two / "tool").stat().st_mode & 0o777 == 0o444


def test_a_kept_file_that_somebody_has_written_into_is_given_to_nobody(tmp_path: Path) -> None:
    one = made(tmp_path / "one")
    share(one, tmp_path / "store")
    (one / "RECORD").chmod(0o644)
    (one / "RECORD").write_text("another text \n")
    two = made(tmp_path / "two")
    before = tree.contents(two)
    assert sorted(share(two, tmp_path / "store")) == ["tool"]
    assert tree.contents(two) == before
    three = made(tmp_path / "three")
    share(three, tmp_path / "store")
    assert sorted(share(made(tmp_path / "four"), tmp_path / "store")) == ["RECORD", "tool"], "there is a new one"


def test_where_links_cannot_be_made_files_stay_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    one = made(tmp_path / "one")
    before = tree.contents(one)
    assert share(one, tmp_path / "store") == {}
    assert tree.contents(one) == before
