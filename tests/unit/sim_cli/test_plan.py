"""`hai sim plan`: what a recorded snapshot is decided to do, and why its tasks wait."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hai_client.errors import Invalid
from hai_scheduler.sim.engine import Engine
from hai_scheduler.sim.snapshots import Recorded, to_json
from hai_scheduler.sim_cli import command
from unit.sim.jobs_kit import T0, a_job, a_setting
from unit.sim_cli.answers import answer


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """One task runs and two of others wait."""
    engine = Engine(a_setting(), T0, jobs=[a_job(1, 5000), a_job(2, 10), a_job(3, 10, held=True)])
    engine.step()
    path = tmp_path / "snapshot.json"
    path.write_text(to_json(Recorded(snapshot=engine.snapshot())))
    return str(path)


def test_plan_says_why_every_task_waits(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["plan", snapshot]) == 0
    out = capsys.readouterr().out
    assert "Nothing is to be done." in out
    assert "Task 2 of user-2 waits: Needs 1 node but none is free" in out
    assert "Task 3 of user-3 waits: Held by its owner" in out
    assert "Time alone may change this at" in out


def test_plan_tries_other_numbers(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(Path(snapshot).read_text())
    made["snapshot"]["now"] = "2026-01-05T08:01:00Z"
    Path(snapshot).write_text(json.dumps(made))
    assert command(["plan", snapshot, "--set", "min_run=30s", "--set", "slice=30s", "--json"]) == 0
    decisions = answer(capsys)["decisions"]
    assert [(one["kind"], one["task_id"]) for one in decisions] == [("suspend", 1), ("keep", 2)]
    assert command(["plan", snapshot, "--set", "min_run=30s", "--set", "slice=30s"]) == 0
    assert "Task 1 is told to leave, for task 2: its turn was over" in capsys.readouterr().out


def test_plan_refuses_what_is_no_snapshot(trace: str) -> None:
    with pytest.raises(Invalid, match="it is not JSON"):
        command(["plan", trace])
