"""What the kernel tells of the places of checkpoints, with real folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hai_client.rank.evidence import tree_watch
from hai_client.rank.evidence.complete import QUIET_S, SHORT_S
from hai_client.rank.evidence.tree_watch import TreeWatch


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that a tree watch has, in its only entry."""
    now = [100.0]
    monkeypatch.setattr(tree_watch.time, "monotonic", lambda: now[0])
    return now


def heard(folder: Path, *, alone: bool = True) -> TreeWatch:
    found = TreeWatch(alone=alone)
    found.listen([str(folder)])
    return found


def save(found: TreeWatch, clock: list[float], *paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".tmp")
        draft.write_text("1")
        draft.replace(path)
    found.step()
    clock[0] += 10


def test_a_second_save_needs_a_short_silence_only(tmp_path: Path, clock: list[float]) -> None:
    found = heard(tmp_path)
    save(found, clock, tmp_path / "model.pt")
    assert found.quiet_needed(elsewhere=False, indexed=None) == QUIET_S
    save(found, clock, tmp_path / "model.pt")
    assert found.quiet_needed(elsewhere=False, indexed=None) == SHORT_S
    assert found.quiet_needed(elsewhere=True, indexed=None) == QUIET_S
    assert found.quiet_for(clock[0]) == 10
    found.close()
    assert found.quiet_needed(elsewhere=False, indexed=None) == QUIET_S


def test_folders_that_come_are_heard_as_well(tmp_path: Path, clock: list[float]) -> None:
    found = heard(tmp_path)
    for step in (1, 2):
        save(found, clock, *(tmp_path / f"step-{step}" / "deep" / name for name in ("model.pt", "state.json")))
    assert found.quiet_needed(elsewhere=False, indexed=None) == SHORT_S
    (tmp_path / "step-2" / "deep" / "more.pt").write_text("1")
    found.take()
    clock[0] += 10
    save(found, clock, tmp_path / "step-3" / "deep" / "model.pt")
    assert found.quiet_needed(elsewhere=False, indexed=None) == QUIET_S


@pytest.mark.parametrize("looks", ["before", "written", "renamed", "closed"])
def test_a_file_that_is_renamed_before_it_is_closed_counts_once_whenever_its_folder_is_looked_into(
    tmp_path: Path, clock: list[float], looks: str
) -> None:
    """As safetensors writes: at the first save all of it is heard, at the second one only what comes after the look."""
    found = heard(tmp_path)
    for step, moment in enumerate(("before", looks)):
        folder = tmp_path / f"step-{step}"
        folder.mkdir()
        draft, path = folder / ".tmpX1", folder / "model.safetensors"

        def now_is(reached: str, moment: str = moment) -> None:
            if reached == moment:
                found.step()

        now_is("before")
        with draft.open("w") as file:
            file.write("1")
            now_is("written")
            draft.rename(path)
            now_is("renamed")
        now_is("closed")
        found.step()
        clock[0] += 10
    assert found.quiet_needed(elsewhere=False, indexed=None) == SHORT_S


def test_a_file_that_is_renamed_when_it_is_closed_and_then_written_again_counts_twice(
    tmp_path: Path, clock: list[float]
) -> None:
    found = heard(tmp_path)
    for again in (True, False):
        draft, path = tmp_path / "draft", tmp_path / "model.pt"
        draft.write_text("1")
        draft.rename(path)
        if again:
            path.write_text("12")
        found.step()
        clock[0] += 10
    assert found.quiet_needed(elsewhere=False, indexed=None) == QUIET_S


def test_a_place_that_is_not_there_yet_is_heard_when_it_comes(tmp_path: Path, clock: list[float]) -> None:
    found = heard(tmp_path / "checkpoints")
    assert found.quiet_needed(elsewhere=False, indexed=None) == QUIET_S
    for _ in range(3):
        save(found, clock, tmp_path / "checkpoints" / "model.pt")
    assert found.quiet_needed(elsewhere=False, indexed=None) == SHORT_S


def test_a_draft_that_is_still_there_is_waited_for(tmp_path: Path, clock: list[float]) -> None:
    found = heard(tmp_path)
    for _ in range(2):
        save(found, clock, tmp_path / "model.pt")
    draft = tmp_path / "tmp-optimizer"
    draft.write_text("1")
    found.step()
    assert found.quiet_needed(elsewhere=False, indexed=None) == QUIET_S
    clock[0] += 10
    draft.unlink()
    save(found, clock, tmp_path / "model.pt")
    assert found.quiet_needed(elsewhere=False, indexed=None) == SHORT_S


def test_logs_break_no_silence(tmp_path: Path, clock: list[float]) -> None:
    found = heard(tmp_path)
    save(found, clock, tmp_path / "model.pt")
    (tmp_path / "train.log").write_text("1")
    (tmp_path / "wandb").mkdir()
    found.step()
    assert (found.count, found.quiet_for(clock[0])) == (4, 10)


def test_on_a_file_system_of_the_network_other_nodes_are_not_heard(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    home = os.path.realpath(tmp_path)
    line = f"36 35 98:0 / {home}/net rw - nfs4 server:/ rw\n37 35 98:0 / {home} rw - ext4 /dev/sda rw\n"
    mounts.write_text(line)
    monkeypatch.setattr(tree_watch, "MOUNTS", str(mounts))
    for folder, alone, needed in [("net", False, QUIET_S), ("net", True, SHORT_S), ("disk", False, SHORT_S)]:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        found = heard(place, alone=alone)
        for _ in range(2):
            save(found, clock, place / "model.pt")
        assert found.quiet_needed(elsewhere=False, indexed=None) == needed, folder


@pytest.mark.parametrize("what", ["too many folders", "no inotify", "a file is watched"])
def test_where_not_everything_is_heard_the_silence_is_long(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    place = tmp_path / "here"
    (place / "a" / "b").mkdir(parents=True)
    if what == "too many folders":
        monkeypatch.setattr(tree_watch, "MOST_FOLDERS", 2)
    elif what == "no inotify":

        def refuse() -> None:
            raise OSError("too many open files")

        monkeypatch.setattr(tree_watch, "Inotify", refuse)
    else:
        place = place / "model.pt"
        place.write_text("1")
    found = heard(place)
    for _ in range(2):
        save(found, clock, (place.parent if place.is_file() else place) / "model.pt")
    assert found.quiet_needed(elsewhere=False, indexed=None) == QUIET_S


def test_a_renamed_folder_is_heard_of_under_its_new_name(tmp_path: Path, clock: list[float]) -> None:
    found = heard(tmp_path)
    for step in (1, 2):
        draft = tmp_path / f".draft-{'xy'[step - 1]}"
        draft.mkdir()
        found.step()
        (draft / "model.pt").write_text("1")
        found.take()
        draft.rename(tmp_path / f"step-{step}")
        found.step()
        clock[0] += 10
    assert found.quiet_needed(elsewhere=False, indexed=None) == SHORT_S


@pytest.mark.parametrize("how", ["removed", "renamed"])
def test_a_place_that_is_taken_away_is_not_heard_any_more(tmp_path: Path, clock: list[float], how: str) -> None:
    place = tmp_path / "checkpoints"
    place.mkdir()
    found = heard(place)
    for _ in range(2):
        save(found, clock, place / "model.pt")
    assert found.quiet_needed(elsewhere=False, indexed=None) == SHORT_S
    if how == "removed":
        (place / "model.pt").unlink()
        place.rmdir()
    else:
        place.rename(tmp_path / "other")
    place.mkdir()
    for _ in range(3):
        save(found, clock, place / "model.pt")
    assert found.quiet_needed(elsewhere=False, indexed=None) == QUIET_S
