"""What the job leaves as a report: whatever it is, the supervisor goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hai_client.rank.records.reports import Inbox, Outbox
from hai_client.rank.records.status import Status

AT = "2026-01-01T00:00:00Z"
DEEP = 900
BAD: dict[str, bytes] = {
    "too deep to be read": b"[" * 5000,
    "too deep to be written": b'{"kind":"saved","at":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "a kind that is a list": b'{"kind":[],"at":1}',
    "a rank that is a word": b'{"kind":"done","at":"x","local_rank":"x"}',
    "a rank that is a list": b'{"kind":"done","at":"x","local_rank":[1]}',
    "no rank": b'{"kind":"done","at":"x","local_rank":null}',
    "a size without end": b'{"kind":"done","at":"x","local_rank":0,"local_size":1e999}',
    "a text that is an object": b'{"kind":"state","at":"x","text":{"a":1}}',
    "no text": b"\xff\xfe",
    "nothing": b"",
}


def applied(folder: Path) -> list[dict[str, Any]]:
    """What the supervisor does with reports."""
    status = Status(str(folder))
    reports = Inbox(str(folder / "reports")).take()
    for report in reports:
        if report["kind"] != "bad":
            status.take(report)
        assert report.get("text", "").encode() is not None
    assert status.write()
    return reports


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_a_report_that_makes_no_sense_is_dropped_and_the_next_is_heard(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "1.json").write_bytes(content)
    (tmp_path / "reports" / "2.json").write_text(json.dumps({"kind": "saved", "at": AT, "step": 7}))
    bad, good = applied(tmp_path)
    assert bad["kind"] == "bad"
    assert "report 1.json was dropped" in bad["text"]
    assert good["step"] == 7
    assert list((tmp_path / "reports").iterdir()) == []


def test_a_name_that_is_no_text_can_be_told(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / os.fsdecode(b"\xff.json")).write_text("x")
    (bad,) = applied(tmp_path)
    assert bad["text"].encode().startswith(b"report \\udcff.json was dropped")


def test_a_pipe_among_the_reports_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    os.mkfifo(tmp_path / "reports" / "1.json")
    (bad,) = applied(tmp_path)
    assert bad["kind"] == "bad"


def test_what_cannot_be_removed_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "reports" / "1.json").mkdir(parents=True)
    inbox = Inbox(str(tmp_path / "reports"))
    assert [report["kind"] for report in inbox.take()] == ["bad"]
    assert inbox.take() == []


def test_workers_that_say_done_are_counted(tmp_path: Path) -> None:
    status = Status(str(tmp_path))
    status.take({"kind": "done", "at": AT, "local_rank": 0, "local_size": 2})
    assert not status.data["done"]
    status.take({"kind": "done", "at": AT, "local_rank": 1, "local_size": 2})
    assert status.data["done"]


def test_a_path_with_bytes_that_are_no_utf8_is_still_reported() -> None:
    """The service takes no lone surrogate: with the raw path it would never hear of the checkpoint."""
    sent: list[dict[str, Any]] = []

    class Api:
        def report(self, report: dict[str, Any]) -> int:
            sent.append(report)
            return 200

    outbox = Outbox(Api())  # type: ignore[arg-type]
    outbox.post({"kind": "saved", "at": AT, "step": 3, "path": "/ckpt/caf\udce9"})
    assert outbox.flush(10.0)
    assert sent == [{"kind": "saved", "at": AT, "step": 3, "path": "/ckpt/caf\\udce9"}]
    json.dumps(sent, ensure_ascii=False).encode()
