"""`job.report` and `job.progress`: cheap, bounded, and never the end of a job."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hai_client.reporting import MOST_WORDS, Reporter


class Now:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


class Tensor:
    """Counts how often its number is read."""

    def __init__(self, value: float) -> None:
        self.value = value
        self.reads = 0

    def __float__(self) -> float:
        self.reads += 1
        return self.value


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def reporter(tmp_path: Path, now: Now) -> Reporter:
    return Reporter(tmp_path / "progress", 3, clock=now)


def written(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "progress" / "003.json").read_text())
    return found


def test_the_first_report_is_written_at_once(reporter: Reporter, tmp_path: Path) -> None:
    before = time.time()
    reporter.report(7, total=10, loss=0.5)
    record = written(tmp_path)
    assert before <= record.pop("at") <= time.time()
    assert record == {"step": 7, "total": 10, "numbers": {"loss": 0.5}}


def test_one_report_a_second_is_written_with_the_last_of_each_number(
    reporter: Reporter, tmp_path: Path, now: Now
) -> None:
    reporter.report(1, loss=1.0)
    reporter.report(2, loss=2.0, lr=0.1)
    reporter.report(3, loss=3.0)
    assert written(tmp_path)["step"] == 1
    now.at += 1
    reporter.report(4)
    assert written(tmp_path) | {"at": 0} == {"at": 0, "step": 4, "total": None, "numbers": {"loss": 3.0, "lr": 0.1}}


def test_a_loss_is_read_without_its_graph(reporter: Reporter, tmp_path: Path) -> None:
    class Loss:
        """A tensor that needs gradients: PyTorch warns in the log of the task when its number is read."""

        def __float__(self) -> float:
            raise AssertionError("a warning in the log of the task")

        def detach(self) -> float:
            return 0.25

    reporter.report(1, loss=Loss())
    assert written(tmp_path)["numbers"] == {"loss": 0.25}


def test_the_last_report_is_not_lost(reporter: Reporter, tmp_path: Path) -> None:
    reporter.report(1, loss=1.0)
    reporter.report(2, loss=2.0)
    reporter.flush()
    assert (written(tmp_path)["step"], written(tmp_path)["numbers"]) == (2, {"loss": 2.0})
    reporter.flush()
    assert written(tmp_path)["step"] == 2


def test_the_total_stays_as_it_was_said(reporter: Reporter, tmp_path: Path, now: Now) -> None:
    reporter.report(1, total=50)
    now.at += 2
    reporter.report(2)
    assert written(tmp_path)["total"] == 50


def test_a_number_that_must_be_fetched_is_read_once_a_second_and_not_kept(reporter: Reporter, now: Now) -> None:
    loss = Tensor(0.25)
    for step in range(100):
        reporter.report(step, loss=loss)
    assert loss.reads == 1
    now.at += 1
    reporter.report(100, loss=loss)
    assert loss.reads == 2


@pytest.mark.parametrize(
    ("numbers", "word"),
    [
        ({"loss": float("nan")}, "loss is nan at step 1"),
        ({"loss": float("-inf")}, "loss is -inf"),
        ({"loss": 1e300}, "numbers up to 1e+18"),
        ({"loss": "much"}, "'much', which is no number"),
        ({"loss": None}, "None, which is no number"),
        ({"loss, please": 1.0}, "is no name for a number"),
        ({"x" * 37: 1.0}, "is no name for a number"),
    ],
)
def test_what_cannot_be_drawn_is_named_once_and_the_rest_is_kept(
    reporter: Reporter, tmp_path: Path, now: Now, capsys: pytest.CaptureFixture[str], numbers: dict[str, Any], word: str
) -> None:
    for _ in range(3):
        now.at += 1
        reporter.report(1, **numbers, good=1)
    assert written(tmp_path)["numbers"] == {"good": 1}
    said = capsys.readouterr().err
    assert word in said
    assert said.count("hai: ") == 1


@pytest.mark.parametrize("step", [-1, 1.5, True, "3", None, 10**16])
def test_a_step_that_is_no_count_reports_nothing(
    reporter: Reporter, tmp_path: Path, capsys: pytest.CaptureFixture[str], step: Any
) -> None:
    reporter.report(step, loss=1.0)
    assert not (tmp_path / "progress").exists()
    assert "report: step is" in capsys.readouterr().err


def test_a_flood_of_names_is_bounded_with_few_words(
    reporter: Reporter, tmp_path: Path, now: Now, capsys: pytest.CaptureFixture[str]
) -> None:
    for begin in range(0, 1000, 100):
        now.at += 1
        reporter.report(begin, **{f"n{number}": 1.0 for number in range(begin, begin + 100)})
        reporter.report(begin, n0=1.0)
    reporter.flush()
    assert len(written(tmp_path)["numbers"]) <= 50
    assert capsys.readouterr().err.count("hai: ") == 1
    for number in range(100):
        reporter.report(1, **{f"no name {number}": 1.0})
    now.at += 1
    reporter.report(1, **{f"no name {number}": 1.0 for number in range(100)})
    assert capsys.readouterr().err.count("hai: ") == MOST_WORDS - 1


def test_a_folder_that_cannot_be_written_does_not_end_the_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], now: Now
) -> None:
    (tmp_path / "progress").write_text("in the way")
    reporter = Reporter(tmp_path / "progress", clock=now)
    for step in range(3):
        now.at += 1
        reporter.report(step)
    assert capsys.readouterr().err == "hai: report: the platform could not be told: Not a directory\n"


def test_outside_of_tasks_nothing_happens(capsys: pytest.CaptureFixture[str]) -> None:
    outside = Reporter(None)
    outside.report(-5, loss="x")
    assert list(outside.progress([1, 2])) == [1, 2]
    assert capsys.readouterr().err == ""


def test_each_report_is_a_sign_of_life() -> None:
    signs: list[int] = []
    reporter = Reporter(None, alive=lambda: signs.append(1))
    reporter.report(1)
    assert signs == [1]


@pytest.mark.parametrize(
    ("items", "start", "total"), [([5, 6, 7], 0, 3), ([5, 6], 40, 42), (iter([5]), 0, None), ([], 9, 9)]
)
def test_progress_yields_the_items_and_counts_those_that_are_done(
    reporter: Reporter, tmp_path: Path, now: Now, items: Any, start: int, total: int | None
) -> None:
    seen = []
    for item in reporter.progress(items, start=start):
        assert written(tmp_path)["step"] == start + len(seen)
        seen.append(item)
        now.at += 1
    assert (written(tmp_path)["step"], written(tmp_path)["total"]) == (start + len(seen), total)


def test_a_total_of_ones_own_goes_before_the_length(reporter: Reporter, tmp_path: Path) -> None:
    assert list(reporter.progress([1, 2], total=1000)) == [1, 2]
    assert written(tmp_path)["total"] == 1000


def test_a_report_costs_microseconds(tmp_path: Path) -> None:
    reporter = Reporter(tmp_path / "progress")
    reporter.report(0)
    begin = time.process_time()
    for step in range(20_000):
        reporter.report(step, total=20_000, loss=0.5, lr=0.1)
    # About 2 us each; a machine that is busy or slow has ten times as long.
    assert time.process_time() - begin < 20_000 * 30e-6
