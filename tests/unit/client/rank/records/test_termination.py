"""The record that outlives a pod."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hai_client.rank.records.termination import PodStatus, message_of

LONG = "é" * 4096


def status(tmp_path: Path) -> tuple[PodStatus, Path]:
    (tmp_path / "run").mkdir()
    return PodStatus(str(tmp_path / "run"), str(tmp_path / "message")), tmp_path / "message"


def test_the_message_says_all_along_what_is_known(tmp_path: Path) -> None:
    one, message = status(tmp_path)
    one.begin()
    assert json.loads(message.read_text()) == {
        "schema": 1,
        "state": "running",
        "exit_code": None,
        "signal": None,
        "out_of_memory": False,
        "ended_at": None,
        "start_error": None,
        "notified_at": None,
        "signalled": False,
        "caught": None,
        "done": False,
        "done_all": False,
        "log_lost_lines": 0,
        "log_lost_why": None,
        "checkpoint": None,
        "spoilt": False,
        "watched": None,
        "unread": None,
        "job_state": None,
        "summary": None,
    }
    one.take({"kind": "done", "at": "2026-01-01T00:00:00Z", "step": 7, "path": "/ckpt/7"})
    one.write()
    told = json.loads(message.read_text())
    assert (told["done"], told["checkpoint"]["step"], told["state"]) == (True, 7, "running")
    assert one.end(3)
    told = json.loads(message.read_text())
    assert (told["state"], told["exit_code"], told["ended_at"] is None) == ("exited", 3, False)


def test_a_message_that_does_not_change_is_not_written_again(tmp_path: Path) -> None:
    one, message = status(tmp_path)
    one.begin()
    message.unlink()
    one.data["usage"] = {"cpu_s": 9.0, "rss_bytes": 1, "rss_peak_bytes": 1}
    assert one.write()
    assert not message.exists()


def test_a_summary_that_grows_is_written_once_a_minute_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("hai_client.rank.records.termination.time.monotonic", lambda: now[0])
    one, message = status(tmp_path)
    one.begin()
    told = []
    for seconds in range(1, 14):
        now[0] += 10
        one.data["summary"] = {"seconds": seconds}
        one.write()
        told.append(json.loads(message.read_text())["summary"])
    assert told == [*[None] * 5, *[{"seconds": 6}] * 6, *[{"seconds": 12}] * 2]
    one.end(0)
    assert json.loads(message.read_text())["summary"] == {"seconds": 13}


def test_what_is_too_long_is_left_out_and_never_cut() -> None:
    facts = {"schema": 1, "state": "exited", "exit_code": 0, "job_state": LONG, "checkpoint": {"step": 1, "path": "/c"}}
    told = json.loads(message_of(facts))
    assert (told["job_state"], told["checkpoint"], told["exit_code"]) == (None, {"step": 1, "path": "/c"}, 0)
    told = json.loads(message_of({**facts, "job_state": "x", "checkpoint": {"step": 1, "path": LONG}}))
    assert (told["job_state"], told["checkpoint"]) == (None, {"step": 1, "path": None})
    facts["summary"] = {"seconds": 1}
    assert json.loads(message_of(facts))["summary"] == {"seconds": 1}
    worst = {
        **facts,
        "summary": {"cpu": "s" * 1000},
        "start_error": "\0" * 9999,
        "checkpoint": {"at": "2026", "step": -(2**53), "path": LONG},
    }
    assert len(message_of({**worst, "start_error": "e" * 9999})) <= 4000


def test_the_end_is_recorded_if_one_of_the_two_places_takes_it(tmp_path: Path) -> None:
    nowhere = PodStatus(str(tmp_path), str(tmp_path / "no" / "message"))
    assert nowhere.end(0)
    homeless = PodStatus(str(tmp_path / "no"), str(tmp_path / "message"))
    assert homeless.end(None, "no room")
    assert json.loads((tmp_path / "message").read_text())["start_error"] == "no room"
    assert not PodStatus(str(tmp_path / "no"), str(tmp_path / "no" / "message")).end(0)
