"""Whether a run reads what the run before had saved."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path

import pytest

from hai_client.rank.evidence.reading import Reading
from unit.client.rank.rank_kit import a_spec


def reading_of(tmp_path: Path, name: str = "out/model.pt") -> Reading:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text("saved")
    (tmp_path / "runtime").mkdir()
    found = Reading(a_spec(tmp_path, checkpoint=str(path)), None)
    found.start()
    return found


def written_again(folder: Path) -> None:
    (folder / "model.pt").write_text("again")
    with (folder / "train.log").open("a+") as file:
        file.seek(0)
        file.read()
    draft = folder / "best.pt.tmp"
    draft.write_text("again")
    draft.rename(folder / "best.pt")
    sorted(folder.iterdir())
    (folder / "model.pt").stat()


def mapped(folder: Path) -> None:
    with (folder / "model.pt").open("rb") as file:
        KEPT.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


KEPT: list[mmap.mmap] = []


@pytest.mark.parametrize(
    ("act", "read"),
    [
        (written_again, False),
        (lambda folder: None, False),
        (lambda folder: (folder / "model.pt").read_text(), True),
        (mapped, True),
        (lambda folder: (folder.parent / "runtime" / "restored.json").write_text("{}"), True),
        (
            lambda folder: (folder.parent / "data.bin").write_text("x") and (folder.parent / "data.bin").read_text(),
            False,
        ),
    ],
    ids=["it saves again", "nothing", "it reads", "it maps", "it asks the in-job API", "it reads its data"],
)
def test_what_counts_as_reading(tmp_path: Path, act: Callable[[Path], object], read: bool) -> None:
    found = reading_of(tmp_path)
    act(tmp_path / "out")
    assert found.has_read() is read
    found.close()
    for one in KEPT:
        one.close()
    KEPT.clear()


def test_the_index_above_a_numbered_folder_counts_too(tmp_path: Path) -> None:
    found = reading_of(tmp_path, "out/step-20/model.pt")
    (tmp_path / "out" / "latest").write_text("20")
    assert not found.has_read()
    (tmp_path / "out" / "latest").read_text()
    assert found.has_read()
    found.close()


def test_a_checkpoint_of_any_name_is_heard_to_be_read(tmp_path: Path) -> None:
    found = reading_of(tmp_path, "out/results.csv")
    (tmp_path / "out" / "train.log").write_text("x")
    (tmp_path / "out" / "train.log").read_text()
    assert not found.has_read()
    (tmp_path / "out" / "results.csv").read_text()
    assert found.has_read()
    found.close()


def test_where_nothing_can_be_heard_nothing_is_said(tmp_path: Path) -> None:
    found = Reading(a_spec(tmp_path, checkpoint=str(tmp_path / "gone" / "model.pt")), None)
    found.start()
    assert found.has_read()
    found.close()
