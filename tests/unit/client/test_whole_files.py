"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hai_client import whole_files
from hai_client.whole_files import drafted, write_once, write_whole


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    return made


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_file_is_made_and_replaced_for_its_owner_alone(folder: Path, on_disk: bool) -> None:
    for text in ("früher", "later"):
        write_whole(folder / "state.json", text, on_disk=on_disk)
        assert (folder / "state.json").read_text(encoding="utf-8") == text
    assert [path.name for path in folder.iterdir()] == ["state.json"]
    assert (folder / "state.json").stat().st_mode & 0o777 == 0o600


def test_other_rights_are_less_the_umask(folder: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(folder / "report", "", mode=0o666)
    finally:
        os.umask(before)
    assert (folder / "report").stat().st_mode & 0o777 == 0o640


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(folder / "kept", "old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole_files.os, "fsync", full)
    for write in (write_whole, write_once):
        with pytest.raises(OSError, match="No space"):
            write(folder / "kept", "new", on_disk=True)
    assert [path.name for path in folder.iterdir()] == ["kept"]
    assert (folder / "kept").read_text() == "old"


def test_the_first_to_write_once_wins(folder: Path) -> None:
    assert write_once(folder / "secret", "first", on_disk=True)
    assert not write_once(folder / "secret", "second")
    assert (folder / "secret").read_text() == "first"
    assert [path.name for path in folder.iterdir()] == ["secret"]


def test_a_draft_keeps_the_suffix_and_goes_after_an_error(folder: Path) -> None:
    with drafted(folder / "plot.svg") as draft:
        assert draft.suffix == ".svg"
        draft.write_text("<svg/>")
        assert not (folder / "plot.svg").exists()
    assert (folder / "plot.svg").read_text() == "<svg/>"
    with pytest.raises(KeyError), drafted(folder / "plot.svg") as draft:  # noqa: PT012
        draft.write_text("half")
        raise KeyError
    assert [path.name for path in folder.iterdir()] == ["plot.svg"]
    assert (folder / "plot.svg").read_text() == "<svg/>"
