"""Why a task waits, what was decided on it, and when it would start, over HTTP."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.priority import Priority

TASK = {"name": "train", "command": ["python", "train.py"], "cwd": "/w"}


async def waiting(world, cycle) -> tuple[int, int]:
    """A task of bob's on both nodes, and one of alice's that waits for one of them."""
    his = await world.submit("hidden", user="bob", nodes=2)
    await cycle.tick()
    mine = await world.submit("mine", nodes=1)
    for _ in range(3):
        await cycle.tick()
    return his.id, mine.id


async def test_an_explanation_says_what_would_let_the_task_start_without_the_names_of_others(platform) -> None:
    world, cycle = platform
    his, mine = await waiting(world, cycle)
    told = (await world.json("GET", f"/tasks/{mine}/explain"))[1]
    assert (told["verdict"]["kind"], told["verdict"]["position"], told["ahead"]) == ("TURN", 1, 0)
    assert told["verdict"]["earliest_start"] is not None
    level = told["what_if"][0]
    assert (level["kind"], level["priority"], level["starts_now"]) == ("PRIORITY", "ABOVE_NORMAL", False)
    assert level["sentence"].startswith(f"At ABOVE_NORMAL it would have task {his} of bob (NORMAL, 2 nodes) suspended")
    assert level["suspends"] == [
        {"task_id": his, "name": "", "user": "bob", "priority": "NORMAL", "nodes": 2, "gpus": None}
    ]
    assert "hidden" not in str(told)
    shown = (await world.json("GET", f"/tasks/{mine}/explain", "admin"))[1]
    assert shown["what_if"][0]["suspends"][0]["name"] == "hidden"


async def test_a_task_that_runs_is_explained_without_any_what_if(platform) -> None:
    world, cycle = platform
    his, _ = await waiting(world, cycle)
    told = (await world.json("GET", f"/tasks/{his}/explain", "bob"))[1]
    assert (told["verdict"], told["ahead"], told["what_if"]) == (None, None, [])
    assert told["sentence"].startswith("Running on node-1, node-2")


async def test_decisions_are_paged_by_number_and_each_is_a_sentence(platform) -> None:
    world, cycle = platform
    his, mine = await waiting(world, cycle)
    await world.json("PUT", f"/tasks/{mine}/priority", json={"priority": "LOW"})
    items = (await world.json("GET", f"/tasks/{mine}/decisions"))[1]["items"]
    assert [(one["kind"], one["actor"]) for one in items] == [
        ("task.verdict", "scheduler"),
        ("task.priority", "alice"),
    ]
    assert items[0]["data"]["kind"] == "TURN"
    assert items[0]["data"]["holders"] == [his]
    assert "hidden" not in str(items)
    rest = (await world.json("GET", f"/tasks/{mine}/decisions?after={items[0]['seq']}"))[1]["items"]
    assert rest == items[1:]
    assert (await world.json("GET", f"/tasks/{mine}/decisions?limit=1"))[1]["items"] == items[:1]
    started = (await world.json("GET", f"/tasks/{his}/decisions", "bob"))[1]["items"]
    assert [one["sentence"] for one in started] == ["Run 1 starts on node-1, node-2."]
    assert (await world.json("GET", f"/tasks/{his}/decisions"))[0] == 404


async def test_a_waiting_task_is_forecast(platform) -> None:
    world, cycle = platform
    his, mine = await waiting(world, cycle)
    status, told = await world.json("POST", "/forecast", json={"task": mine})
    assert (status, told["task_id"], told["outcome"]) == (200, mine, "later")
    assert (told["nodes"], told["gpus"]) == (["node-1"], [])
    assert 1700 < told["starts_in_s"] < 2000
    assert [(one["task_id"], one["name"], one["user"]) for one in told["suspends"]] == [(his, "", "bob")]
    cost = told["suspends"][0]
    assert told["cost_s"] == pytest.approx(cost["unsaved_s"] + cost["switch_s"])
    assert told["cost_s"] > 3000
    assert told["verdict"]["kind"] == "TURN"
    assert {one["name"] for one in told["assumptions"]} == {"lengths", "submissions", "leaving", "checkpoints"}
    assert "hidden" not in str(told)
    assert (await world.json("POST", "/forecast", json={"task": "mine"}))[1]["outcome"] == "later"
    assert (await world.json("POST", "/forecast", "bob", json={"task": "hidden"}))[1]["outcome"] == "running"


async def test_a_task_that_is_only_thought_of_is_forecast_and_not_submitted(platform) -> None:
    world, cycle = platform
    await waiting(world, cycle)
    body = {"submit": {**TASK, "priority": "HIGH"}}
    told = (await world.json("POST", "/forecast", json=body))[1]
    assert (told["task_id"], told["outcome"]) == (None, "later")
    assert told["starts_in_s"] == pytest.approx(120, abs=1)
    assert (await world.json("GET", "/tasks?state=live"))[1]["items"][0]["name"] == "mine"


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 400, "task"),
        ({"task": 1, "submit": TASK}, 400, "task"),
        ({"submit": {**TASK, "cwd": "w"}}, 400, "cwd"),
        ({"submit": {**TASK, "nodes": 0}}, 400, "submit.nodes"),
        ({"submit": {**TASK, "nodes": 99}}, 422, None),
        ({"submit": TASK, "horizon_s": 10**9}, 400, "horizon_s"),
        ({"submit": TASK, "horizon_s": 10**8}, 400, "horizon_s"),
        ({"task": 77}, 404, None),
    ],
    ids=lambda value: None if not isinstance(value, dict) else "-".join(sorted(value)) or "nothing",
)
async def test_what_cannot_be_forecast_is_refused(platform, body, status: int, field: str | None) -> None:
    world, _ = platform
    answered, problem = await world.json("POST", "/forecast", json=body)
    assert answered == status
    assert [error["field"] for error in problem["errors"]][:1] == ([] if field is None else [field])


async def test_before_the_first_tick_there_is_no_forecast_and_no_what_if(world) -> None:
    await world.submit("mine", priority=Priority.HIGH)
    status, problem = await world.json("POST", "/forecast", json={"task": "mine"})
    assert (status, problem["code"]) == (503, "unavailable")
    assert (await world.json("GET", "/tasks/mine/explain"))[1]["what_if"] == []
