"""How far each database has come, in a file: what cannot be understood is never passed over."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from hai_scheduler.adapters.local import marks as module
from hai_scheduler.adapters.local.marks import Marks
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.lineage import Superseded

MARK = Mark(database="a1b2", epoch=2, steps=10, task=7, number=3)


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path / "runs")


def test_without_a_file_there_are_none(marks: Marks) -> None:
    assert marks.all() == []


def test_the_latest_of_every_database_is_kept(marks: Marks) -> None:
    other, later = replace(MARK, database="c3d4", epoch=1), replace(MARK, steps=11, task=9)
    for mark in (MARK, other, MARK, later):
        marks.put(mark)
    assert Marks(marks.path.parent).all() == [later, other]


def test_it_is_for_its_owner_alone_and_leaves_no_draft(marks: Marks) -> None:
    marks.put(MARK)
    assert marks.path.parent.stat().st_mode & 0o777 == 0o700
    assert {file.name: file.stat().st_mode & 0o777 for file in marks.path.parent.iterdir()} == {
        ".database.json": 0o600,
        ".database.lock": 0o600,
    }


@pytest.mark.parametrize("field", ["epoch", "steps", "task", "number"])
def test_one_that_goes_back_is_refused_and_changes_nothing(marks: Marks, field: str) -> None:
    marks.put(MARK)
    with pytest.raises(Superseded, match="a1b2"):
        marks.put(replace(MARK, **{field: getattr(MARK, field) - 1}))
    assert marks.all() == [MARK]


GOOD = {"epoch": 2, "steps": 10, "task": 7, "number": 3}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        json.dumps({"schema": 2, "databases": {"a1b2": GOOD}}),
        json.dumps({"schema": 1}),
        json.dumps({"schema": 1, "databases": []}),
        json.dumps({"schema": 1, "databases": {"a1b2": []}}),
        json.dumps({"schema": 1, "databases": {"a1b2": {**GOOD, "epoch": "x"}}}),
        json.dumps({"schema": 1, "databases": {"c3d4": GOOD, "a1b2": {"epoch": 2}}}),
    ],
)
def test_a_file_that_cannot_be_understood_is_no_reason_to_begin_again(marks: Marks, text: str) -> None:
    """Without the marks an id might be given twice."""
    marks.path.parent.mkdir()
    marks.path.write_text(text)
    for act in (marks.all, lambda: marks.put(MARK)):
        with pytest.raises(Temporary, match=r"\.database\.json cannot be understood .*put its backup in place"):
            act()
    assert marks.path.read_text() == text


def test_a_file_that_cannot_be_read_is_not_taken_for_one_that_is_missing(marks: Marks) -> None:
    marks.path.mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        marks.all()


def test_it_is_on_the_disk_when_it_is_written(marks: Marks, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, bool]] = []
    monkeypatch.setattr(module, "write_whole", lambda *_, **how: asked.append(how))
    marks.put(MARK)
    assert asked == [{"on_disk": True}]


def test_two_services_that_write_at_once_lose_none(marks: Marks, monkeypatch: pytest.MonkeyPatch) -> None:
    real, other = module.check_mark, replace(MARK, database="c3d4")
    second = threading.Thread(target=Marks(marks.path.parent).put, args=(other,))

    def between(known: Mark | None, mark: Mark) -> None:
        real(known, mark)
        if mark is MARK:
            # The other service comes after this one has read and before it writes; it waits for its turn.
            second.start()
            second.join(0.1)

    monkeypatch.setattr(module, "check_mark", between)
    marks.put(MARK)
    second.join()
    assert marks.all() == [MARK, other]
