"""`hai decisions`, `hai forecast` and `--dry-run`."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hai_client import Client, QuotaExceeded, TaskRequest
from hai_client.cli.shared.output import local_times
from hai_client.cli.tasks import forecast

AT = "2026-11-21T04:00:00Z"


def a_decision(seq: int, kind: str = "task.verdict", sentence: str = "Waits.", **data: Any) -> dict[str, Any]:
    return {"seq": seq, "at": AT, "kind": kind, "actor": "scheduler", "sentence": sentence, "data": data}


DECISIONS = [
    {**a_decision(3, sentence="Needs 2 nodes but 1 is free."), "data": {"kind": "CAPACITY"}},
    a_decision(5, "task.state", "Run 1 starts on node-1.", to="starting"),
    a_decision(8, "run.notice", "Run 1 is told to leave by 04:02:00 UTC: its turn was over."),
    a_decision(9, "task.priority", "Given the priority LOW by bob."),
]


def test_decisions_are_a_table_of_when_what_and_why(hai, platform) -> None:
    platform.add("digits")
    platform.decisions = DECISIONS
    lines = hai("decisions", "digits").out.splitlines()
    assert lines[0].split() == ["TIME", "WHAT", "WHY"]
    assert [line[21:].split("  ")[0] for line in lines[1:]] == ["CAPACITY", "starting", "told to leave", "priority"]
    assert lines[2].endswith("Run 1 starts on node-1.")
    assert len(hai("decisions", "digits", "-n", "1").out.splitlines()) == 2


def test_a_long_story_is_read_page_by_page(hai, platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "_PAGE", 2)
    platform.add("digits")
    platform.decisions = DECISIONS
    found = json.loads(hai("decisions", "digits", "--json").out)["items"]
    assert [one["seq"] for one in found] == [3, 5, 8, 9]
    assert len(platform.said("GET", "/decisions")) == 3


def test_a_task_on_which_nothing_was_decided_says_so(hai, platform) -> None:
    platform.add("digits")
    assert hai("decisions", "digits").out == "nothing was decided on it yet\n"


def test_a_forecast_says_when_who_makes_room_what_it_costs_and_what_is_assumed(hai, platform) -> None:
    platform.add("digits")
    text = hai("forecast", "digits", "--horizon", "30d").out
    sentence = "task 41: it would start at 04:20:00 UTC, in 20 min, on node-1, after task 7 of bob"
    # The forecast is of its own day, which need not be this one in the zone of the machine.
    start = local_times(sentence, now=datetime.fromisoformat(AT))
    assert text.startswith(start)
    for part in (
        "(in 20 min)",
        "task 7 of bob at NORMAL, 2 nodes: 10 min of node time since it last saved, 1 min 30 s to leave and come back",
        "11 min 30 s of node time at most",
        "it needs 2 nodes and 1 is free",
        "How long the tasks run: 2 unknown.",
    ):
        assert part in text
    assert platform.said("POST", "/forecast")[0].body == {"task": "digits", "horizon_s": 30 * 86_400}


def test_a_dry_run_submits_nothing(hai, platform) -> None:
    result = hai("submit", "--dry-run", "-n", "2", "--name", "new", "--", "python", "train.py")
    assert (result.code, result.out.partition(":")[0]) == (0, "new")
    assert platform.tasks == {}
    body = platform.said("POST", "/forecast")[0].body
    assert (body["submit"]["name"], body["submit"]["nodes"]) == ("new", 2)
    assert platform.said("POST", "/tasks") == []


def test_a_dry_run_is_refused_as_the_submission_would_be(hai) -> None:
    result = hai("submit", "--dry-run", "-n", "65", "--", "python", "train.py")
    assert (result.code, "cap of 64" in result.err) == (2, True)


def test_there_is_nothing_to_follow_of_a_dry_run(hai, platform) -> None:
    result = hai("submit", "--dry-run", "-f", "--", "python", "train.py")
    assert (result.code, "follow" in result.err, platform.calls) == (2, True, [])


def test_every_way_of_submitting_has_a_dry_run(hai, platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    (tmp_path / "exp.yml").write_text(f"version: 2\nspec: {{workspace: {tmp_path} }}\n")
    assert hai("python", "train.py", "--", "--dry-run").code == 0
    assert hai("run", "exp.yml", "--dry-run").code == 0
    assert len(platform.said("POST", "/forecast")) == 2
    assert platform.tasks == {}


def test_an_explanation_says_what_would_let_the_task_start(hai, platform) -> None:
    platform.add("digits")
    assert "what if     At HIGH it would start now." in hai("explain", "digits").out


def test_the_sdk_forecasts_a_task_or_a_request(client: Client, platform) -> None:
    platform.add("digits")
    assert client.forecast("digits").task_id == 41
    request = TaskRequest(name="new", command=("train",), cwd="/w")
    found = client.forecast(request, horizon_s=60)
    assert (found.task_id, found.suspends[0].unsaved_s, found.outcome) == (None, 600.0, "later")
    with pytest.raises(QuotaExceeded):
        client.forecast(TaskRequest(name="new", command=("train",), cwd="/w", nodes=65))
    platform.decisions = DECISIONS
    assert [one.seq for one in client.decisions(41, after=5)] == [8, 9]
