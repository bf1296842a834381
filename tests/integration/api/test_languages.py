"""What users read comes in the language that their request asks for, and what programs read is the same in all."""

from __future__ import annotations

from typing import Any

import pytest

from integration.api.test_explaining import waiting
from integration.api.test_notifications import stored, told

CHINESE = {"Accept-Language": "zh-CN"}


async def in_both(world: Any, method: str, path: str, **options: Any) -> tuple[Any, Any]:
    english = await world.json(method, path, **options)
    chinese = await world.json(method, path, headers=CHINESE, **options)
    assert english[0] == chinese[0] == 200
    assert same_for_programs(english[1]) == same_for_programs(chinese[1])
    return english[1], chinese[1]


def same_for_programs(value: Any) -> Any:
    """A value without what people read and what time changes."""
    if isinstance(value, dict):
        words = {"sentence", "message", "text", "words", "because", "at", "served_s", "computed_until", "starts_in_s"}
        return {key: same_for_programs(one) for key, one in value.items() if key not in words}
    return [same_for_programs(one) for one in value] if isinstance(value, list) else value


async def test_why_a_task_waits_is_said_in_the_language_that_is_asked_for(platform) -> None:
    world, cycle = platform
    _, mine = await waiting(world, cycle)
    english, chinese = await in_both(world, "GET", f"/tasks/{mine}/explain")
    assert english["sentence"].startswith("Needs 1 node but none is free; task ")
    assert chinese["sentence"].startswith("需要 1 个节点；空闲 0 个节点。优先级相同、可占用到 ")
    assert chinese["verdict"]["sentence"] == chinese["sentence"]
    assert chinese["what_if"][0]["sentence"].startswith("若优先级为“高于普通 ABOVE_NORMAL”：会挂起 bob 的任务")
    page = (await in_both(world, "GET", "/tasks"))[1]
    assert page["items"][0]["message"].startswith("需要 1 个节点")
    assert page["items"][0]["short"]["words"] == "等待轮次：training 的 1 个节点"
    decided = (await in_both(world, "GET", f"/tasks/{mine}/decisions"))[1]
    assert decided["items"][0]["sentence"].startswith("需要 1 个节点；空闲 0 个节点。优先级相同、可占用到 ")


async def test_all_readers_of_the_queue_get_it_in_their_language(platform) -> None:
    """The lines of the queue are made once for all readers of a language."""
    world, cycle = platform
    await waiting(world, cycle)
    for _ in range(2):
        english, chinese = await in_both(world, "GET", "/queue")
        words = [one["groups"][0]["items"][0]["short"]["words"] for one in (english, chinese)]
        assert words == ["waits for its turn on 1 node of training", "等待轮次：training 的 1 个节点"]


async def test_a_forecast_and_what_it_assumes_are_said_in_the_language_that_is_asked_for(platform) -> None:
    world, cycle = platform
    _, mine = await waiting(world, cycle)
    english, chinese = [
        (await world.json("POST", "/forecast", json={"task": mine}, headers=headers))[1] for headers in ({}, CHINESE)
    ]
    assert english.keys() == chinese.keys()
    assert english["sentence"].startswith("It would start at ")
    assert chinese["sentence"].startswith("预计 ")
    assert chinese["assumptions"][0]["sentence"].startswith("组内任务的运行时长：")


async def test_notifications_and_what_a_channel_lacks_are_said_in_the_language_that_is_asked_for(world) -> None:
    await stored(world, told())
    english, chinese = (one["items"][0]["text"] for one in await in_both(world, "GET", "/notifications"))
    assert english == "Task 7 (train) has failed: its command failed (status 1)."
    assert chinese == "任务 7（train）失败：命令失败（状态码 1）。"
    rules = await world.json("GET", "/me/notifications", headers=CHINESE)
    assert rules[1]["channels"][2]["missing"] == "请填写邮件地址。"


@pytest.mark.parametrize("header", ["fr", "", "zh-TW", ";;;,,,q=", "zh;q=0"])
async def test_another_language_is_answered_in_english(platform, header: str) -> None:
    world, cycle = platform
    _, mine = await waiting(world, cycle)
    told = (await world.json("GET", f"/tasks/{mine}", headers={"Accept-Language": header}))[1]
    assert told["message"].startswith("Needs 1 node but none is free; task ")
