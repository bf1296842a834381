"""What a job reports of itself is read strictly: it may write anything into its folder."""

from __future__ import annotations

import json
import os
import signal
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from hai_client.rank.records.reported import Reported
from hai_client.reporting import Reporter


class Folder:
    """The folder of a job, its supervisor's reader and what that has said."""

    def __init__(self, runtime: Path) -> None:
        self.path = runtime / "progress"
        self.said: list[str] = []
        self.reader = Reported(str(runtime), None, self.said.append)

    def write(self, content: object, name: str = "000.json") -> None:
        self.path.mkdir(exist_ok=True)
        draft = self.path / "draft"
        draft.write_text(content if isinstance(content, str) else json.dumps(content))
        draft.rename(self.path / name)

    def read(self) -> dict[str, float]:
        return self.reader.read(0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def a_report(**numbers: Any) -> dict[str, Any]:
    return {"at": 1.0, "step": 5, "total": 9, "numbers": numbers}


def test_a_report_is_read_once(folder: Folder, tmp_path: Path) -> None:
    assert folder.read() == {}
    assert folder.reader.progress is None
    Reporter(tmp_path / "progress").report(5, total=9, loss=0.5, **{"eval/acc": -1})
    assert folder.read() == {"job_loss": 0.5, "job_eval/acc": -1.0}
    assert folder.reader.progress is not None
    assert (folder.reader.progress["step"], folder.reader.progress["total"]) == (5, 9)
    assert folder.read() == {}
    folder.write(a_report(loss=0.5))
    assert folder.read() == {"job_loss": 0.5}
    assert folder.said == []


def reports_and_is_killed(folder: Path) -> None:
    """What a job does that is killed in the middle of a second."""
    job = Reporter(folder)
    job.report(1, total=900, loss=9.0, lr=0.1)
    for step in range(2, 800):
        job.report(step, loss=1000.0 / step)
    time.sleep(0.03)
    job.report(800, loss=0.5)
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_was_reported_before_a_kill_is_not_lost(folder: Folder) -> None:
    process = get_context("fork").Process(target=reports_and_is_killed, args=(folder.path,))
    process.start()
    process.join(20)
    assert process.exitcode == -signal.SIGKILL
    assert folder.reader.last() == {"job_loss": 0.5, "job_lr": 0.1}
    assert folder.reader.progress is not None
    assert (folder.reader.progress["step"], folder.reader.progress["total"]) == (800, 900)
    assert folder.said == []


def test_what_a_job_left_before_its_last_report_counts_no_more(folder: Folder, tmp_path: Path) -> None:
    job = Reporter(tmp_path / "progress")
    job.report(1, loss=1)
    job.report(2, loss=2)
    job.report(3, loss=3)
    job.flush()
    assert folder.reader.last() == {"job_loss": 3.0}
    assert folder.reader.progress is not None
    assert folder.reader.progress["step"] == 3


@pytest.mark.parametrize(
    "content", ["", "no json", "[1]", '{"at": "x", "step": 7}', '{"at": 9e9, "step": -1}', "x" * 70_000]
)
def test_anything_else_in_its_place_does_no_harm(folder: Folder, content: str) -> None:
    folder.write(a_report(loss=0.5))
    folder.write(content, "000.last")
    assert folder.reader.last() == {"job_loss": 0.5}
    assert folder.reader.progress is not None
    assert folder.reader.progress["step"] == 5


def test_of_several_processes_the_first_one_counts(folder: Folder) -> None:
    folder.write(a_report(loss=2), "001.json")
    folder.write(a_report(loss=1), "000.json")
    folder.write(a_report(loss=7), "000.json.draft")
    assert folder.read() == {"job_loss": 1.0}
    folder.write(a_report(loss=3), "001.json")
    assert folder.read() == {}


@pytest.mark.parametrize(
    "content",
    [
        "no json", "[1]", "[" * 100_000, "{}", '{"step": "5"}', '{"step": -1}', '{"step": true}', '{"step": 1e3}',
        '{"step": 1' + "0" * 70_000 + "}", '{"step": 1}' + " " * 70_000,
    ],
)  # fmt: skip
def test_what_is_no_report_is_dropped_with_one_word(folder: Folder, content: str) -> None:
    for _ in range(2):
        folder.write(content)
        assert folder.read() == {}
    assert len(folder.said) == 1
    assert folder.reader.progress is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e19, "1", None, [1], True])
def test_a_number_that_is_none_is_left_out(folder: Folder, value: Any) -> None:
    folder.write(a_report(loss=value, good=1))
    assert folder.read() == {"job_good": 1.0}
    assert len(folder.said) == 1


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 37, "a,b", "1"])
def test_a_name_that_is_none_is_left_out(folder: Folder, name: str) -> None:
    folder.write(a_report(**{name: 1.0}))
    assert folder.read() == {}


def test_a_run_has_fifty_names(folder: Folder) -> None:
    names: set[str] = set()
    for begin in range(0, 300, 30):
        folder.write(a_report(**{f"n{number}": 1.0 for number in range(begin, begin + 30)}))
        names |= set(folder.read())
    assert len(names) == 50
    assert len(folder.said) == 1


@pytest.mark.parametrize("total", [-1, "x", 1.5, 10**16])
def test_a_total_that_is_none_is_not_known(folder: Folder, total: object) -> None:
    folder.write({**a_report(), "total": total})
    folder.read()
    assert folder.reader.progress is not None
    assert folder.reader.progress["total"] is None


def test_a_pipe_or_a_folder_in_its_place_holds_nothing_up(folder: Folder) -> None:
    folder.path.mkdir()
    os.mkfifo(folder.path / "000.json")
    assert folder.read() == {}
    (folder.path / "000.json").unlink()
    (folder.path / "000.json").mkdir()
    assert folder.read() == {}
    (folder.path / "000.json").rmdir()
    (folder.path / "000.json").symlink_to("/dev/zero")
    assert folder.read() == {}
    assert len(folder.said) == 1
