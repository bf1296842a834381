"""The verbs in a Chinese terminal: sentences are Chinese, and JSON is what it always was."""

from __future__ import annotations

import pytest

from unit.client.conftest import Hai

pytestmark = pytest.mark.usefixtures("some_tasks")
SAID = "需要 2 个节点；空闲 1 个节点。"


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("words", [["list"], ["status", "digits"], ["explain", "digits"], ["forecast", "digits"]])
def test_a_verb_says_why_a_task_waits(hai: Hai, words: list[str]) -> None:
    assert SAID in hai(*words).out


@pytest.mark.usefixtures("chinese")
def test_explain_says_what_would_let_it_start(hai: Hai) -> None:
    assert "若优先级为“HIGH”：会立即启动。" in hai("explain", "digits").out


@pytest.mark.usefixtures("chinese")
def test_a_submission_says_why_it_waits(hai: Hai) -> None:
    assert SAID in hai("submit", "--name", "more", "--", "true").out


@pytest.mark.parametrize(
    "words", [["list"], ["status", "digits"], ["explain", "digits"], ["forecast", "digits"], ["decisions", "digits"]]
)
def test_json_is_the_same_in_all_languages(hai: Hai, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    english = hai(*words, "--json").out
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert hai(*words, "--json").out == english
