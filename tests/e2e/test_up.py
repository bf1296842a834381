"""`hai up` from the outside: start, Ctrl-C with a task running, start again."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.conftest import HELD, Platform, processes_with
from kit.waiting import wait_for

pytestmark = pytest.mark.e2e


def test_ctrl_c_tells_tasks_and_the_next_start_resumes_them(tmp_path: Path) -> None:
    platform = Platform(tmp_path, nodes=2)
    try:
        platform.start()
        gate = tmp_path / "gate"
        command = ["python", str(HELD), str(gate), "3", "--", "--epochs", "20"]
        task = platform.json("submit", "--nodes", "2", "--name", "digits", "--", *command)["id"]
        wait_for("three epochs", lambda: platform.hai("logs", "digits").stdout.count("\nepoch ") == 3)

        second = platform.hai("up", "--port", str(platform.port), "--state-dir", str(tmp_path / "other"), check=False)
        assert (second.returncode, second.stderr.count("\n")) == (2, 1)
        assert str(platform.port) in second.stderr

        printed = platform.interrupt()
        assert "digits" in printed
        assert processes_with(str(tmp_path)) == {}, "Ctrl-C leaves nothing running"

        gate.touch()
        platform.start()
        shown = wait_for("it to end", lambda: (s := platform.json("status", "digits"))["state"] == "succeeded" and s)
        assert shown["id"] == task
        assert [run["left"] for run in shown["runs"]] == ["saved", None]
    finally:
        platform.end()
