"""What several of the client's verbs are tried on."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def some_tasks(platform: Any, fake: Any) -> None:
    """A task that waits, and one of another user that has failed."""
    platform.add("digits", runs=[fake.run_of(1), fake.run_of(2, reason="node_lost", left="ended")], run_count=2)
    platform.add("old", state="failed", verdict=None, message="its command failed with status 1", user="bob")
    platform.logs = {41: ["a", "b", "[hai] run 2 starts"], 42: ["boom"]}


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    """The language of these tests, whatever that of the machine is."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
