"""The verbs in a Chinese terminal: they ask the service for Chinese sentences, and JSON is what it always was."""

from __future__ import annotations

from typing import Any

import pytest

from hai_client.cli.shared.output import columns_of
from unit.client.conftest import Hai

pytestmark = pytest.mark.usefixtures("some_tasks")
SAID = "需要 2 个节点；空闲 1 个节点。占用者：bob 的任务 7（高 HIGH，3 个节点）。"


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch, platform: Any, some_tasks: None) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    for task in platform.tasks.values():
        task["message"] = SAID
        if task["verdict"] is not None:
            task["verdict"]["sentence"] = SAID


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("words", [["list"], ["status", "digits"], ["explain", "digits"], ["forecast", "digits"]])
def test_a_verb_shows_what_the_service_says_in_the_language_of_the_terminal(
    hai: Hai, platform: Any, words: list[str]
) -> None:
    assert SAID in hai(*words).out
    assert {call.headers.get("accept-language") for call in platform.calls} == {"zh-CN"}
    platform.calls.clear()
    hai(*words, "--json")
    assert {call.headers.get("accept-language") for call in platform.calls} == {None}, "JSON is for programs"


@pytest.mark.usefixtures("chinese")
def test_titles_states_and_lengths_of_a_list_are_chinese(hai: Hai) -> None:
    head, row = hai("list").out.splitlines()
    assert head.split() == ["ID", "名称", "状态", "优先级", "节点", "提交至今", "已运行", "当前情况"]
    assert row.split()[:4] == ["41", "digits", "排队", "NORMAL"]
    assert "小时" in row or "天" in row
    # Wide characters do not shift what stands below the titles.
    assert columns_of(head[: head.index("状态")]) == columns_of(row[: row.index("排队")])


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (["status", "digits"], ["等待原因", "排队位置", "占用者", "请求", "提交时间", "检查点", "命令", "目录"]),
        (["explain", "digits"], ["排队位置", "占用者", "怎样能启动"]),
        (["forecast", "digits"], ["启动时间", "将让出", "代价", "目前等待", "排队位置", "假设"]),
    ],
)
def test_labels_are_chinese_and_their_texts_begin_in_one_column(hai: Hai, words: list[str], labels: list[str]) -> None:
    lines = [line for line in hai(*words).out.splitlines() if line.startswith("  ") and line[2] != " "]
    assert [line.split()[0] for line in lines[: len(labels)]] == labels
    begins = {columns_of(line) - columns_of(line.split(maxsplit=1)[1]) for line in lines[: len(labels)]}
    assert begins == {14}


@pytest.mark.usefixtures("chinese")
def test_a_held_task_and_a_failed_run_are_told_in_chinese(hai: Hai, platform: Any) -> None:
    assert hai("hold", "digits").out.startswith("digits（任务 41），排队，已暂缓：")
    platform.tasks[41]["runs"][1]["because"] = "某个节点丢失"
    assert "某个节点丢失" in hai("status", "digits").out
    platform.tasks.clear()
    assert hai("list").out == "您没有未结束的任务；`hai list -a` 可查看已结束的任务\n"


@pytest.mark.parametrize(
    "words", [["list"], ["status", "digits"], ["explain", "digits"], ["forecast", "digits"], ["decisions", "digits"]]
)
def test_json_is_the_same_in_all_languages(hai: Hai, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    english = hai(*words, "--json").out
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert hai(*words, "--json").out == english
