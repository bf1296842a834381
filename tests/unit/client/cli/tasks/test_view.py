"""`hai status`, `hai explain` and `hai describe`: one task on a screen."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from hai_client.cli.shared.output import local_times
from hai_client.cli.tasks import view
from hai_client.wire.schema import Task, TaskRequest
from kit import asked
from unit.client.conftest import Hai

pytestmark = pytest.mark.usefixtures("some_tasks")


def test_status_is_one_screen_with_the_reason_and_the_runs(hai: Hai) -> None:
    out = hai("status", "digits").out
    assert ["RUN", "STARTED", "LASTED", "ENDED", "SAVED", "LOST", "NODES"] in map(str.split, out.splitlines())
    assert "digits, task 41 of alice: queued" in out
    assert "it needs 2 nodes and 1 is free" in out
    for words in ("llm (task 7) of bob at HIGH: 3 nodes", "turn over", "node lost"):
        assert words in out
    assert len(out.splitlines()) < 24


def test_status_says_of_each_run_whether_it_had_saved_as_far_as_is_known(hai: Hai, platform: Any, fake: Any) -> None:
    seen = {"at": "2026-11-21T04:10:00Z", "step": None, "path": "/w/out", "source": "seen"}
    runs = [fake.run_of(n, left=left) for n, left in enumerate(["saved", "unknown", "ended", None], 1)]
    platform.add("careless", runs=runs, checkpoint=seen, hint="It was interrupted twice: save.")
    out = hai("status", "careless").out
    assert "It was interrupted twice: save." in out
    assert re.search(r"checkpoint +seen .* in /w/out", out)
    assert re.findall(r"turn over +(\S+)", out) == ["yes", "unknown", "no", "-"]


@pytest.mark.parametrize(
    ("state", "said"), [("running", "none yet"), ("succeeded", "none was seen"), ("stopped", "none was seen")]
)
def test_an_ended_task_is_told_where_a_checkpoint_would_be_and_not_to_wait_for_one(
    hai: Hai, platform: Any, state: str, said: str
) -> None:
    platform.add("unsaved", state=state, checkpoint=None, checkpoint_dir="/w/out")
    assert re.search(rf"checkpoint +{said} .*in /w/out", hai("status", "unsaved").out)


def test_explain_answers_in_a_sentence(hai: Hai) -> None:
    assert hai("explain", "digits").out.splitlines()[0] == "task 41 is queued: it needs 2 nodes and 1 is free"


@pytest.mark.parametrize(
    ("state", "sentence", "said"),
    [
        ("running", "Running on node-1 since 08:12:00 UTC.", "is running on node-1 since 08:12:00 UTC."),
        ("succeeded", "Succeeded: every rank exited with status 0.", "has succeeded: every rank exited with status 0."),
        ("stopped", "Stopped: it was stopped by hand.", "is stopped: it was stopped by hand."),
        ("queued", "Needs 2 nodes but 1 is free.", "is queued: Needs 2 nodes but 1 is free."),
    ],
)
def test_a_state_is_said_once(hai: Hai, platform: Any, state: str, sentence: str, said: str) -> None:
    platform.tasks[41].update(state=state, message=sentence, verdict=None)
    assert view.standing(state, sentence) == said
    assert hai("priority", "digits", "HIGH").out == f"digits (task 41) {local_times(said)}\n"


def test_describe_is_yaml_that_reads_back(hai: Hai, platform: Any) -> None:
    yaml = pytest.importorskip("yaml")
    platform.tasks[41]["env"] = {"A": "1", "B": "true", "C": 'x: "y"\n', "D": "é"}
    found = yaml.safe_load(hai("describe", "digits").out)
    assert found["env"] == platform.tasks[41]["env"]
    assert (found["command"], found["cwd"], found["nodes"]) == (["python", "train.py"], "/shared/a b", 2)


def test_a_task_that_shares_nodes_shows_its_gpus(hai: Hai, platform: Any, fake: Any) -> None:
    run = fake.run_of(1)
    run["ranks"] = [{**run["ranks"][0], "gpus": [0, 3]}]
    holder = {"task_id": 7, "name": "llm", "user": "bob", "priority": "HIGH", "nodes": 1, "gpus": 1}
    task = platform.add("small", nodes=1, gpus=2, runs=[run])
    task["verdict"]["holders"] = [holder]
    (row,) = (line for line in hai("list").out.splitlines() if "small" in line)
    assert " 1 x 2 GPUs " in row
    out = hai("status", "small").out
    assert "1 node x 2 GPUs of training" in out
    assert "node-1[0,3]" in out
    assert "llm (task 7) of bob at HIGH: 1 node x 1 GPU" in out


def test_a_task_with_retries_shows_how_many_are_used_and_when_the_next_begins(hai: Hai, platform: Any) -> None:
    platform.add("flaky", retries=3, retries_used=2, retry_exit_codes=[1, 137], retry_at="2126-11-21T04:00:00Z")
    out = hai("status", "flaky").out
    assert "2 of 3 used for status 1, 137, the next at 2126-" in out
    assert "retries: 3" in hai("describe", "flaky").out
    assert "retries" not in hai("status", "digits").out
    assert "retr" not in hai("describe", "digits").out


def test_a_failed_run_shows_the_status_that_ended_it_and_not_those_of_the_ranks_ended_for_it(
    hai: Hai, platform: Any, fake: Any
) -> None:
    rank = {"node": "node-1", "gpus": [], "state": "exited", "notified_at": None, "done": False, "message": None}
    ranks = [{**rank, "rank": 0, "exit_code": 137}, {**rank, "rank": 1, "exit_code": 3}]
    platform.add("torn", state="failed", runs=[fake.run_of(1, reason="failed", ranks=ranks, failed_ranks=[1])])
    assert "failed (status 3)" in hai("status", "torn").out


def test_no_start_and_no_deadline_is_in_the_past(hai: Hai, platform: Any) -> None:
    """The scheduler looks every second or so, and a rank that ignores every signal is ended some seconds late."""
    platform.tasks[41]["verdict"]["earliest_start"] = "2026-01-01T00:00:00Z"
    assert "  can start   any moment\n" in hai("status", "digits").out
    platform.tasks[41]["verdict"]["earliest_start"] = "2126-01-01T00:00:00Z"
    assert re.search(r"  can start   2[0-9-]+ [0-9:]+ at the earliest \(in ", hai("status", "digits").out)
    leaves = {"state": "stopping", "node_names": ["node-1"], "verdict": None, "message": "Stopping."}
    platform.tasks[41].update(leaves, deadline="2026-01-01T00:00:00Z")
    assert hai("list").out.splitlines()[1].endswith("node-1; its time is over")
    platform.tasks[41].update(deadline="2126-01-01T00:00:00Z")
    assert re.search(r"node-1; leaves by [0-9:]+$", hai("list").out.splitlines()[1])


#: Another value of each field of a submission that a task has and `hai status` shows.
_SHOWN: dict[str, Any] = {
    "name": "other", "command": ["other"], "cwd": "/other", "nodes": 5, "gpus": 3, "priority": "LOW", "group": "other",
    "signal": "USR2", "time_limit_s": 999.0, "checkpoint_dir": "/other", "watch": ["other"], "tags": ["other"],
    "environment": "other", "secrets": ["OTHER"], "ranks_per_node": 7,
    "snapshot": {"digest": "e" * 64, "files": 1, "size": 2, "commit": None, "dirty": False},
    **asked.in_json(),
}  # fmt: skip
#: Those that `hai describe` alone shows.
_DESCRIBED = {"env", "profile", "grace_s", "retry_backoff_s", "retry_exit_codes"}


def test_every_field_of_a_submission_is_shown_or_left_to_describe() -> None:
    both = {one.name for one in fields(TaskRequest)} & {one.name for one in fields(Task)}
    assert both - _DESCRIBED == _SHOWN.keys(), "show these, or leave them to `hai describe`"


@pytest.mark.parametrize("name", _SHOWN)
def test_another_value_of_a_field_is_another_text(hai: Hai, platform: Any, name: str) -> None:
    task = platform.add("fresh")
    before = hai("status", str(task["id"])).out
    task[name] = _SHOWN[name]
    assert hai("status", str(task["id"])).out != before
