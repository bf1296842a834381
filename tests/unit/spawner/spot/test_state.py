"""The state of a spot container's task, and what the Hub makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from hai_spawner.spot.state import SpotRecord, SpotRegistration, exit_status, has_ended, serves, waiting_line


def a_task(state: str = "running", *, runs: tuple[tuple[str, bool], ...] = (("41.1", True),)) -> dict[str, Any]:
    return {
        "id": 41,
        "state": state,
        "held": False,
        "message": "Waits.",
        "runs": [{"id": run, "ended_at": None if live else "2026-11-21T12:00:00Z"} for run, live in runs],
    }


@pytest.mark.parametrize(
    ("task", "up"),
    [
        (a_task(), True),
        (a_task("suspending"), True),
        (a_task("stopping"), True),
        (a_task("suspended", runs=(("41.1", False),)), False),
        (a_task("queued", runs=()), False),
        (a_task(runs=(("41.1", False), ("41.2", True))), False),
        (a_task("stopped", runs=(("41.1", False),)), False),
    ],
    ids=["runs", "is told to leave", "is being stopped", "waits", "never ran", "a later run", "has ended"],
)
def test_a_server_is_up_while_its_own_run_holds_the_node(task: dict[str, Any], up: bool) -> None:
    assert serves(task, "41.1") is up


def test_a_task_that_is_unknown_counts_as_ended() -> None:
    assert has_ended(None)
    assert not has_ended(a_task("suspended"))
    assert [exit_status(a_task(state)) for state in ("stopped", "succeeded", "failed")] == [0, 0, 1]


@pytest.mark.parametrize(
    ("address", "url", "bind"),
    [
        ("127.0.0.1", "http://127.0.0.1:4000", "127.0.0.1"),
        ("10.1.2.3", "http://10.1.2.3:4000", "0.0.0.0"),
        ("fd00::7", "http://[fd00::7]:4000", "::"),
        ("n-1.runs.svc", "http://n-1.runs.svc:4000", "0.0.0.0"),
    ],
    ids=["this machine", "IPv4", "IPv6", "a name"],
)
def test_a_server_listens_where_the_hub_can_reach_it(address: str, url: str, bind: str) -> None:
    visit = SpotRegistration(run="41.1", address=address, port=4000)
    assert (visit.url, visit.bind_ip) == (url, bind)


def test_the_page_says_why_where_in_the_queue_and_when() -> None:
    verdict = {"position": 3, "earliest_start": "2026-11-21T12:34:56Z"}
    explained = {"task_id": 41, "sentence": "Needs 1 node but none is free.", "verdict": verdict}
    line = waiting_line(explained)
    assert line == "Task 41: Needs 1 node but none is free. Place 3 in the queue. Earliest start 12:34 UTC."
    assert waiting_line({**explained, "verdict": None}) == "Task 41: Needs 1 node but none is free."


def test_what_is_kept_survives_a_restart() -> None:
    record = SpotRecord(task=41, asked={"spot": {"gpus": 4}}, run="41.2", generation="g")
    assert SpotRecord.from_state(record.to_state()) == record
    assert record.without_run == SpotRecord(task=41, asked={"spot": {"gpus": 4}})
