"""The example of docs/users.md for programs does what the page says."""

from __future__ import annotations

import re
from typing import Any

import pytest

from docs.kit import text_of
from unit.client import fake_platform as fakes


def test_the_example_for_python_submits_lists_reads_and_stops(
    platform: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HAI_URL", platform.url)
    monkeypatch.setenv("HAI_TOKEN", fakes.TOKEN)
    example = re.search(r"```python\n(.*?)```", text_of("docs/users.md").partition("### From Python")[2], re.DOTALL)
    assert example is not None
    exec(compile(example[1], "docs/users.md", "exec"), {})
    submitted = [call.body["command"] for call in platform.said("POST", "/tasks")]
    assert submitted == [["python", "train.py", "--lr", "0.1"], ["python", "train.py", "--lr", "0.01"]]
    assert "lr-0.1 queued" in capsys.readouterr().out
    assert [task["state"] for task in platform.tasks.values() if task["name"] == "lr-0.01"] == ["stopped"]
