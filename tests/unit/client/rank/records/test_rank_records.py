"""What is recorded of a rank, and what the service is told of it now."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from hai_client.rank.evidence.sweep import Found
from hai_client.rank.records import rank_records as records
from hai_client.rank.records.rank_records import Abandoned, RankRecords, is_removed
from hai_client.rank.records.reports import Outbox
from hai_client.rank.records.status import Status
from hai_client.rank.shared.times import rfc3339
from kit.waiting import wait_for
from unit.client.rank.rank_kit import a_spec

NOTICE = {"kind": "received", "at": "2026-01-01T00:00:00Z", "revision": 1}


class Rank:
    """The records of a rank, with a log and a service that note what they get."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "rank"
        (self.folder / "runtime" / "reports").mkdir(parents=True)
        self.said: list[str] = []
        self.lost, self.why = 0, ""
        self.closed = False
        self.posted: list[dict[str, Any]] = []
        self.status = Status(str(self.folder))
        self.status.begin()
        log: Any = self
        self.records = RankRecords(a_spec(self.folder), self.status, log, log, None)

    def say(self, text: str) -> None:
        self.said.append(text)

    def close(self) -> None:
        self.closed = True

    def report(self, body: dict[str, Any]) -> int:
        self.posted.append(body)
        return 204

    def leave(self, name: str, report: object) -> None:
        (self.folder / "runtime" / "reports" / name).write_text(json.dumps(report))

    @property
    def written(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "status.json").read_text())
        return found

    def kinds(self, count: int) -> list[str]:
        """The kinds of the reports that were posted, when there is that number of them."""
        wait_for(f"{count} reports", lambda: len(self.posted) >= count)
        return [report["kind"] for report in self.posted]


@pytest.fixture
def rank(tmp_path: Path) -> Rank:
    return Rank(tmp_path)


def test_the_start_is_written(rank: Rank) -> None:
    rank.records.note_start(4711)
    assert (rank.written["pid"], rank.written["state"]) == (4711, "running")


def test_the_first_notice_counts_and_each_is_reported(rank: Rank) -> None:
    rank.records.note_notice(NOTICE, caught=None, own=False)
    rank.records.note_notice({**NOTICE, "at": "2026-01-01T00:01:00Z", "revision": 2}, caught=True, own=False)
    assert (rank.written["notified_at"], rank.written["caught"]) == (NOTICE["at"], None)
    assert rank.kinds(2) == ["received", "received"]
    assert [report["revision"] for report in rank.posted] == [1, 2]


def test_what_compiled_files_need_is_told(rank: Rank) -> None:
    rank.records.tell_machine()
    rank.kinds(1)
    [told] = rank.posted
    assert told["kind"] == "machine"
    assert told["machine"] == os.uname().machine
    assert re.fullmatch(r"2\.\d+", told["glibc"])


def test_a_notice_of_the_supervisor_itself_is_recorded_and_not_reported(rank: Rank) -> None:
    rank.records.note_notice(NOTICE, caught=True, own=True)
    assert rank.written["notified_at"] == NOTICE["at"]
    rank.records.end(0)
    assert rank.posted == []


def test_reports_are_written_before_they_are_posted_and_in_their_order(rank: Rank) -> None:
    rank.leave("1.json", {"kind": "saved", "at": "2026-01-01T00:00:00Z", "step": 7, "path": "/c/a.pt"})
    rank.leave("2.json", {"kind": "state", "at": "2026-01-01T00:00:01Z", "text": "epoch 2"})
    rank.records.take_reports()
    assert (rank.written["checkpoint"]["step"], rank.written["job_state"]) == (7, "epoch 2")
    assert rank.kinds(2) == ["saved", "state"]


def test_nothing_is_posted_that_the_status_does_not_hold_already(rank: Rank, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[object] = []
    monkeypatch.setattr(Outbox, "post", lambda _, report: held.append((report["kind"], rank.written["checkpoint"])))
    rank.leave("1.json", {"kind": "saved", "at": "2026-01-01T00:00:00Z", "step": 7})
    rank.leave("2.json", {"kind": "done", "at": "2026-01-01T00:00:01Z"})
    rank.records.take_reports()
    told = rank.written["checkpoint"]
    rank.records.take_evidence(Found("/c/a.pt", 1_800_000_000_000_000_000, 9, 1, 1_900_000_000_000_000_000))
    seen = rank.written["checkpoint"]
    assert held == [("saved", told), ("done", told), ("saved", seen)]
    assert (told["step"], seen["path"]) == (7, "/c/a.pt")


def test_a_report_that_makes_no_sense_is_said_in_the_log(rank: Rank) -> None:
    rank.leave("1.json", {"kind": "dance", "at": "x"})
    rank.leave("2.json", {"kind": "saved", "at": "2026-01-01T00:00:00Z", "step": 7})
    rank.records.take_reports()
    [line] = rank.said
    assert "report 1.json was dropped" in line
    assert rank.kinds(1) == ["saved"]


def test_done_is_reported_when_the_last_worker_of_the_node_has_said_it(rank: Rank) -> None:
    for number in (0, 1):
        done = {"kind": "done", "at": "2026-01-01T00:00:00Z", "local_rank": number, "local_size": 2}
        rank.leave(f"{number}.json", done)
        rank.records.take_reports()
        assert rank.written["done"] is (number == 1)
    rank.records.end(0)
    assert [report["kind"] for report in rank.posted] == ["done"]


def test_without_reports_nothing_is_written(rank: Rank) -> None:
    (rank.folder / "status.json").unlink()
    rank.records.take_reports()
    assert not (rank.folder / "status.json").exists()


def seen(path: str, at: int) -> Found:
    return Found(path, at, 100, 1, at)


def test_a_checkpoint_that_was_seen_is_reported_if_it_is_newer(rank: Rank) -> None:
    now = time.time_ns() // 10**9 * 10**9
    rank.records.take_evidence(None)
    rank.records.take_evidence(seen("/c/b.pt", now))
    for older in (now, now - 10**9):
        rank.records.take_evidence(seen("/c/a.pt", older))
    rank.records.take_evidence(seen("/c/c.pt", now + 10**9))
    assert rank.written["checkpoint"]["path"] == "/c/c.pt"
    assert rank.kinds(2) == ["saved", "saved"]
    assert [(report["path"], report["source"]) for report in rank.posted] == [("/c/b.pt", "seen"), ("/c/c.pt", "seen")]


def test_the_file_of_a_checkpoint_that_the_job_has_told_is_no_new_one(rank: Rank) -> None:
    now = time.time_ns()
    rank.leave("1.json", {"kind": "saved", "at": rfc3339(now), "step": 7, "path": "/c/a.pt"})
    rank.records.take_reports()
    rank.records.take_evidence(seen("/c/a.pt", now + 10**6))
    assert rank.written["checkpoint"]["source"] == "told"


def test_the_end_is_written_with_the_lines_that_the_log_has_lost(rank: Rank) -> None:
    rank.lost, rank.why = 3, "no space left on device"
    rank.records.end(7)
    found = rank.written
    assert (found["state"], found["exit_code"], found["start_error"]) == ("exited", 7, None)
    assert (found["log_lost_lines"], found["log_lost_why"]) == (3, "no space left on device")
    assert rank.closed


def test_the_end_is_written_again_until_it_is_there(rank: Rank, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [False, False, True]
    tried: list[int | None] = []

    def end(exit_code: int | None, start_error: str | None = None) -> bool:
        tried.append(exit_code)
        return answers.pop(0)

    monkeypatch.setattr(rank.status, "end", end)
    monkeypatch.setattr(records.time, "sleep", lambda seconds: None)
    rank.records.end(None, "it could not be started")
    assert tried == [None] * 3


def test_the_end_is_not_waited_for_where_there_is_nothing_to_write_it_to(rank: Rank) -> None:
    shutil.rmtree(rank.folder)
    rank.records.end(0)
    assert rank.closed


def test_a_rank_whose_folder_is_gone_is_abandoned(rank: Rank) -> None:
    shutil.rmtree(rank.folder)
    with pytest.raises(Abandoned, match="rank was removed"):
        rank.records.write()


def test_a_disk_that_takes_nothing_now_abandons_nobody(rank: Rank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank.status, "write", lambda: False)
    rank.records.write()


@pytest.mark.parametrize(
    ("error", "removed"),
    [(FileNotFoundError(), True), (NotADirectoryError(), True), (PermissionError(), False), (OSError(5, "I/O"), False)],
    ids=["missing", "a file on the way", "no right to look", "the disk"],
)
def test_only_a_folder_that_is_gone_is_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: OSError, *, removed: bool
) -> None:
    assert not is_removed(str(tmp_path))

    def stat(path: str) -> os.stat_result:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(records.os, "stat", stat)
        found = is_removed(str(tmp_path))
    assert found is removed
