"""What a task does, what would let it start and what was decided, in the language of the terminal."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hai_client.cli.language import told
from hai_client.wire.explain import Decision, GroupShare, WhatIf
from hai_client.wire.schema import Holder, TaskSummary
from hai_scheduler.core.explaining.alternatives import ChangeKind

AT = datetime(2026, 11, 21, 8, tzinfo=UTC)
BOB = Holder(task_id=41, name="", user="bob", priority="HIGH", nodes=2)
TASK = TaskSummary(
    id=7, name="digits", user="ann", state="running", held=False, priority="HIGH", effective_priority="HIGH",
    group="training", nodes=2, node_names=("n-1",), submitted_at=AT, running_since=AT, served_s=0, run_count=1,
    suspensions=0, message="As the service says it.",
)  # fmt: skip
CHANGE = WhatIf(kind="PRIORITY", sentence="At HIGH it would start now.", priority="HIGH", starts_now=True, suspends=())
SHARE = GroupShare(
    user="ann", node_group="v100", given=0.62, weight=1, weights=4, entitled=0.25, users_before=2, sentence="English."
)


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")


def decision(kind: str, data: dict[str, Any]) -> Decision:
    return Decision(seq=1, at=AT, kind=kind, actor="bob", sentence="As the service says it.", data=data)


def test_each_change_and_no_other_is_said() -> None:
    assert set(told.CHANGES) == {kind.value for kind in ChangeKind}


def test_in_english_it_is_what_the_service_says() -> None:
    assert told.message(TASK) == "As the service says it."
    assert told.change(CHANGE, TASK) == "At HIGH it would start now."
    assert told.share(SHARE) == "English."
    assert told.decision(decision("task.held", {"held": True})) == "As the service says it."


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"state": "starting"}, "正在 n-1 上启动。"),
        (
            {"state": "failed", "reason": "failed", "message": "Failed: its command failed (rank 0 with status 1)."},
            "失败：命令失败（rank 0 with status 1）。",
        ),
        (
            {
                "state": "failed",
                "reason": "failed",
                "message": "Failed: its command failed (rank 0 with status 1: said (so)).",
            },
            "失败：命令失败（rank 0 with status 1: said (so)）。",
        ),
        ({"state": "stopped", "reason": "user_stopped"}, "已停止：被手动停止。"),
        ({"state": "stopped", "reason": None}, "As the service says it."),
        ({"state": "running", "message": "Pod n-1 waits: no image"}, "Pod n-1 waits: no image"),
        ({"state": "queued", "node_names": ()}, "As the service says it."),
    ],
)
def test_what_a_task_does(changed: dict[str, Any], said: str) -> None:
    assert told.message(dataclasses.replace(TASK, **changed)) == said


@pytest.mark.usefixtures("chinese")
def test_how_long_a_task_has_to_save() -> None:
    leaving = dataclasses.replace(TASK, deadline=datetime.now(UTC) + timedelta(minutes=10, seconds=30))
    assert told.message(leaving).startswith("正在退出 n-1；剩余保存时间 10 分钟")
    assert "被更高优先级的任务抢占" in told.message(dataclasses.replace(leaving, reason="preempted"))


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "若优先级为“HIGH”：会立即启动。"),
        ({"kind": "NODES", "nodes": 1}, "若使用 1 个节点（而非 2）：会立即启动。"),
        (
            {"starts_now": False, "suspends": (BOB,)},
            "若优先级为“HIGH”：会挂起 bob 的任务 41（HIGH，2 个节点），待其保存后启动。",
        ),
        ({"kind": "ECLIPSE"}, "At HIGH it would start now."),
    ],
)
def test_what_would_let_it_start(changed: dict[str, Any], said: str) -> None:
    assert told.change(dataclasses.replace(CHANGE, **changed), TASK) == said


@pytest.mark.usefixtures("chinese")
def test_what_a_user_has_had() -> None:
    assert told.share(SHARE) == (
        "ann 近期占节点组 v100 使用量的 62 %，应得 25 %（权重 1 / 4）。"
        "有 2 个用户按权重计算用得更少；优先级和级别相同时，他们的任务在前。"
    )
    assert "v100" in told.share(dataclasses.replace(SHARE, given=None))


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("task.held", {"held": True}, "被 bob 暂缓。"),
        ("task.held", {"held": False}, "由 bob 解除暂缓。"),
        ("task.priority", {"priority": "LOW"}, "优先级由 bob 改为LOW。"),
        ("task.state", {"to": "starting", "run": 2, "nodes": ["n-1", "n-2"]}, "第 2 次运行在 n-1, n-2 上启动。"),
        ("task.state", {"to": "failed"}, "As the service says it."),
        (
            "task.verdict",
            {"kind": "CAPACITY", "priority": "HIGH", "data": {"needs": 2, "free": 1}, "holders": [41, 42]},
            "需要 2 个节点；空闲 1 个节点。占用者：任务 41, 任务 42。",
        ),
    ],
)
def test_what_was_decided(kind: str, data: dict[str, Any], said: str) -> None:
    assert told.decision(decision(kind, data)) == said
