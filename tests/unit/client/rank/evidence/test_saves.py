"""What counts as a checkpoint, by names and by what is open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hai_client.linux.openfiles import files_for_writing
from hai_client.rank.evidence.indexes import INDEX
from hai_client.rank.evidence.judging import is_below, is_record, looks_like_checkpoint
from hai_client.rank.evidence.saves import STALL_S, Saves


@pytest.mark.parametrize(
    "name",
    [
        "model.pt", "MODEL.PTH", "epoch=3-step=50.ckpt", "model.safetensors", "pytorch_model.bin", "state.npz", "w.h5",
        "best.pkl", "model.pt.tmp", "model.pt.tmp.1234", ".model.pt.part", "model.ckpt.1234", "model.safetensors.tmp-7",
        "weights.data-00000-of-00001", "__0_0.distcp", "state.json.tmp", "model.pt~", "last.ckpt_tmp",
    ],
)  # fmt: skip
def test_names_of_checkpoints(name: str) -> None:
    assert looks_like_checkpoint(name)
    assert not is_record(name)


@pytest.mark.parametrize("name", ["train.py", "notes.txt", "core", "data.arrow", "model", "config.json", "pt"])
def test_other_names(name: str) -> None:
    assert not looks_like_checkpoint(name)


@pytest.mark.parametrize(
    "name", ["train.log", "events.out.tfevents.17.host.1.0", "metrics.csv", "a.lock", "r.wandb", INDEX]
)
def test_records_are_no_checkpoints_wherever_they_lie(name: str) -> None:
    assert is_record(name)


def test_what_is_below_a_folder() -> None:
    assert is_below("/a/b", ["/a"])
    assert is_below("/a", ["/a"])
    assert is_below("/a/b", ["/a/"])
    assert not is_below("/ab", ["/a"])


@pytest.fixture
def saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Saves:
    """Of this process, but for the files that other tests of the same worker have left open."""

    def ours(pids: list[int]) -> dict[str, int]:
        return {path: position for path, position in files_for_writing(pids).items() if is_below(path, [str(tmp_path)])}

    monkeypatch.setattr("hai_client.rank.evidence.saves.files_for_writing", ours)
    saves = Saves((str(tmp_path / "own"),))
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "own").mkdir()
    saves.roots = (str(tmp_path / "checkpoints"),)
    return saves


def test_a_file_that_is_open_and_stands_still_is_no_save_that_goes_on(saves: Saves, tmp_path: Path) -> None:
    me = [os.getpid()]
    with (tmp_path / "checkpoints" / "state").open("w") as file:
        saves.look(me, 100.0)
        assert saves.going_on(100.0)
        assert not saves.going_on(100.0 + STALL_S)
        saves.look(me, 100.0 + STALL_S)
        assert saves.writing(me, 100.0 + STALL_S) == []
        file.write("x")
        file.flush()
        assert saves.writing(me, 100.0 + STALL_S) == [str(tmp_path / "checkpoints" / "state")]
        saves.look(me, 100.0 + STALL_S)
        assert saves.going_on(100.0 + STALL_S)
    saves.look(me, 101.0 + STALL_S)
    assert not saves.going_on(101.0 + STALL_S)
    assert saves.closed == [str(tmp_path / "checkpoints" / "state")]


def test_a_file_elsewhere_is_a_save_by_its_name_or_if_it_was_opened_after_the_notice(
    saves: Saves, tmp_path: Path
) -> None:
    me = [os.getpid()]
    with (tmp_path / "history").open("w"):
        saves.look(me, 100.0)
        saves.noticed(100.0)
        assert not saves.going_on(100.0)
        with (tmp_path / "new").open("w"):
            saves.look(me, 101.0)
            assert saves.going_on(101.0)
            assert saves.writing(me, 101.0) == [str(tmp_path / "new")]
        with (tmp_path / "own" / "model.pt").open("w"), (tmp_path / "train.log").open("w"):
            saves.look(me, 102.0)
            assert not saves.going_on(102.0)
        with (tmp_path / "model.pt").open("w"):
            saves.look(me, 103.0)
            assert saves.going_on(103.0)
            saves.tear(me)
    assert str(tmp_path / "model.pt") in saves.torn


def test_a_file_that_is_open_for_reading_is_none(saves: Saves, tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / "model.pt").write_text("1")
    with (tmp_path / "checkpoints" / "model.pt").open():
        saves.look([os.getpid()], 100.0)
        assert not saves.going_on(100.0)


def test_a_database_that_is_open_at_the_end_is_not_torn(saves: Saves, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    with (folder / "study.db").open("wb"), (folder / "study.db-wal").open("wb"), (folder / "model.pt").open("wb"):
        saves.look([os.getpid()], 1.0)
        saves.tear([os.getpid()])
        assert saves.open == saves.torn == {str(folder / "model.pt")}


def test_a_file_that_was_named_is_a_save_though_its_name_is_that_of_a_record(saves: Saves, tmp_path: Path) -> None:
    named = tmp_path / "results.csv"
    saves.roots = (str(named),)
    with named.open("wb"), (tmp_path / "train.log").open("wb"):
        saves.tear([os.getpid()])
        assert saves.torn == {str(named)}
