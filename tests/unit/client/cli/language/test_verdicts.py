"""Why a task waits, in the language of the terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hai_client.cli.language import verdicts
from hai_client.cli.language.verdicts import SHORT, VERDICTS
from hai_client.wire.schema import Holder, ShortWait, Verdict
from hai_scheduler.core.explaining.short import QUOTA_OF_OTHERS
from hai_scheduler.core.model.verdicts import VerdictKind

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
LATER = "2026-11-21T08:12:00Z"
BOB = Holder(task_id=41, name="", user="bob", priority="HIGH", nodes=2)


def verdict(kind: str, data: dict[str, Any], holders: tuple[Holder, ...] = ()) -> Verdict:
    return Verdict(kind=kind, sentence="As the service says it.", data=data, holders=holders)


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.setenv("TZ", "UTC")


def test_each_verdict_and_no_other_is_said() -> None:
    assert set(VERDICTS) == {kind.value for kind in VerdictKind}


def test_each_short_wait_and_no_other_is_said() -> None:
    assert set(SHORT) == {kind.value.lower() for kind in VerdictKind} | {QUOTA_OF_OTHERS}


def test_in_english_it_is_what_the_service_says() -> None:
    assert verdicts.verdict(verdict("HELD", {}), "HIGH") == "As the service says it."
    assert verdicts.short(ShortWait(id="held", data={}, text="held by its owner")) is None


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("kind", "data", "holders", "said"),
    [
        (
            "QUOTA",
            {"needs": 2, "used": 7.5, "limit": 8, "subject": "user:ann"},
            (BOB,),
            (
                "需要 2 个节点，但 user:ann 的配额在优先级“HIGH”下允许的 8 个节点中已使用 7.5 个。"
                "使用者：bob 的任务 41（HIGH，2 个节点）。"
            ),
        ),
        (
            "CAPACITY",
            {"needs": 1, "gpus": 4, "free": 0},
            (),
            "需要 1 个节点 × 4 个 GPU；空闲 0 个节点。其余的目前不可用。",
        ),
        (
            "TURN",
            {"needs": 2, "free": 0},
            (),
            "需要 2 个节点；空闲 0 个节点。优先级相同、可占用到轮次结束：优先级相同的任务。",
        ),
        (
            "RESERVED",
            {"needs": 2, "until": LATER},
            (BOB,),
            "需要 2 个节点；空闲的节点已预留给 bob 的任务 41（HIGH，2 个节点），直到 {at}（12 分钟后）。",
        ),
        ("DRAINING", {"needs": 2, "deadline": LATER}, (), "节点空闲后启动，最迟 {at}（12 分钟后）。"),
        (
            "TOPOLOGY",
            {"needs": 4, "free": 5, "together": 3},
            (),
            "需要彼此邻近的 4 个节点；空闲 5 个节点，但同一区域内最多 3 个，且跨区域的任务数已达上限。",
        ),
        ("RETRY", {"retries": 1, "of": 3}, (), "命令失败。第 1 次重试（共 3 次）正在等待轮次。"),
        (
            "RETRY",
            {"starts": 1, "of": 3, "why": "No image."},
            (),
            "无法启动：No image。第 2 次启动（共 3 次）正在等待轮次。",
        ),
        (
            "NEVER",
            {"needs": 9, "cap": 8, "cause": "group"},
            (),
            "无法启动：需要 9 个节点，但其节点组只有 8 个；请减少节点数后提交。",
        ),
        ("HELD", {}, (), "已被所有者暂缓；恢复后参与排队。"),
        ("PAUSED", {}, (), "平台已暂停；管理员恢复后继续。"),
        ("NEXT", {}, (), "即将处理。"),
    ],
)
def test_it_is_said_in_chinese(kind: str, data: dict[str, Any], holders: tuple[Holder, ...], said: str) -> None:
    at = datetime(2026, 11, 21, 8, 12, tzinfo=UTC).astimezone()
    shown = f"{at:%H:%M:%S}" if at.date() == NOW.astimezone().date() else f"{at:%Y-%m-%d %H:%M:%S}"
    assert verdicts.verdict(verdict(kind, data, holders), "HIGH", now=NOW) == said.format(at=shown)


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("ECLIPSE", {}),
        ("CAPACITY", {"needs": "two"}),
        ("CAPACITY", {"free": True, "needs": 1}),
        ("QUOTA", {"needs": 2, "used": 1, "limit": 2}),
    ],
)
def test_what_is_not_known_is_said_as_the_service_says_it(kind: str, data: dict[str, Any]) -> None:
    assert verdicts.verdict(verdict(kind, data)) == "As the service says it."


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("capacity", {"nodes": 2, "gpus": None, "group": "v100"}, "等待 v100 的 2 个节点"),
        ("retry", {"retry": 2, "of": 3}, "等待第 2 次重试（共 3 次）"),
        ("eclipse", {}, None),
        ("capacity", {"nodes": None}, None),
    ],
)
def test_it_is_short_in_a_list(name: str, data: dict[str, Any], said: str | None) -> None:
    assert verdicts.short(ShortWait(id=name, data=data, text="as it is")) == said


@pytest.mark.usefixtures("chinese")
def test_three_holders_are_named() -> None:
    assert verdicts.who((BOB, BOB, BOB, BOB), 12).endswith("及另外 9 个")
