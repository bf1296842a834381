"""`hai admin pause`: who would leave is said before it is done."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from unit.client.conftest import Hai


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(io, "StringIO", Terminal)


@pytest.fixture
def busy(platform: Any) -> Any:
    for name, user, state in (("llm", "bob", "running"), ("ocr", "eve", "starting"), ("next", "eve", "queued")):
        platform.add(name, user=user, state=state)
    return platform


def test_a_preview_names_the_tasks_that_would_leave_and_does_nothing(hai: Hai, busy: Any) -> None:
    result = hai("admin", "pause", "--preview")
    assert (result.code, busy.paused) == (0, False)
    first, _, *rows = result.out.splitlines()
    assert first == "2 tasks of 2 users would be told to save and leave:"
    assert sorted(row.split()[1:3] for row in rows[:2]) == [["llm", "bob"], ["ocr", "eve"]]
    assert rows[-1] == "Nothing was done: leave --preview out to do it."
    items = json.loads(hai("--json", "admin", "pause", "--preview").out)["items"]
    assert {one["name"] for one in items} == {"llm", "ocr"}
    assert not busy.paused


@pytest.mark.parametrize(
    ("answer", "paused"), [("y\n", True), ("YES\n", True), ("\n", False), ("no\n", False), ("", False)]
)
def test_at_a_terminal_it_asks(hai: Hai, busy: Any, at_terminal: None, answer: str, paused: bool) -> None:
    result = hai("admin", "pause", stdin=answer)
    assert "2 tasks of 2 users would be told" in result.out
    assert (result.code, busy.paused) == (0 if paused else 2, paused)
    assert ("not confirmed, and nothing was done; `--yes` does not ask" in result.err) != paused


def test_it_does_not_ask_where_that_is_not_wanted_or_nobody_would_leave(
    hai: Hai, platform: Any, at_terminal: None
) -> None:
    result = hai("admin", "pause")
    assert (result.code, platform.paused) == (0, True)
    assert result.out.startswith("No task runs, so none would be told to leave;")
    platform.add("llm", state="running")
    assert hai("admin", "pause", "--yes").out.startswith("paused: ")


def test_a_script_is_not_asked(hai: Hai, busy: Any) -> None:
    assert hai("admin", "pause").out.startswith("paused: ")
    assert hai("admin", "resume").out.startswith("not paused")
