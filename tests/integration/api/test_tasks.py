"""Tasks over HTTP."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import Holder, Verdict, VerdictKind

TASK = {"name": "train", "command": ["python", "train.py"], "cwd": "/w"}
CHANGES = ["stop", "suspend", "resume", "hold"]


async def test_a_submitted_task_is_answered_in_full(world) -> None:
    body = {**TASK, "nodes": 2, "priority": "HIGH", "env": {"A": "1"}, "tags": ["x"], "grace_s": 30, "hold": True}
    async with world.ask("POST", "/tasks", json=body) as response:
        task = await response.json()
        assert response.status == 201
        assert response.headers["Location"] == f"/services/hai/api/v1/tasks/{task['id']}"
    told = {key: task[key] for key in ("name", "user", "nodes", "priority", "env", "tags", "grace_s", "held", "state")}
    assert told == {
        "name": "train",
        "user": "alice",
        "nodes": 2,
        "priority": "HIGH",
        "env": {"A": "1"},
        "tags": ["x"],
        "grace_s": 30.0,
        "held": True,
        "state": "queued",
    }
    assert task["checkpoint_dir"] == f"/checkpoints/alice/{task['id']}"
    assert task["verdict"]["kind"] == "HELD"
    assert task["runs"] == []


async def test_gpus_and_retries_are_answered_as_they_were_asked_for(world) -> None:
    retrying = {"retries": 3, "retry_backoff_s": 30, "retry_exit_codes": [137, 1]}
    status, task = await world.json("POST", "/tasks", json={**TASK, "gpus": 1, **retrying})
    assert (status, task["gpus"]) == (201, 1)
    assert (task["retries"], task["retries_used"], task["retry_at"]) == (3, 0, None)
    assert (task["retry_backoff_s"], task["retry_exit_codes"]) == (30.0, [1, 137])
    (shown,) = (await world.json("GET", "/tasks"))[1]["items"]
    assert shown["gpus"] == 1
    plain = (await world.json("POST", "/tasks", json={**TASK, "name": "plain"}))[1]
    assert (plain["gpus"], plain["retries"], plain["retry_exit_codes"]) == (None, 0, [])


async def test_a_task_that_waits_for_its_retry_says_until_when(world) -> None:
    task = await world.submit(retries=2)
    async with world.store.write() as tx:
        later = datetime.now(UTC) + timedelta(seconds=30)
        await tx.tasks.save(replace(task, state=TaskState.SUSPENDED, retries=1, not_before=later))
    shown = (await world.json("GET", f"/tasks/{task.id}"))[1]
    assert (shown["retries"], shown["retries_used"]) == (2, 1)
    assert datetime.fromisoformat(shown["retry_at"]) == later


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"gpus": 0}, "gpus"),
        ({"gpus": 1000}, "gpus"),
        ({"gpus": 1.5}, "gpus"),
        ({"retries": -1}, "retries"),
        ({"retries": 101}, "retries"),
        ({"retries": 1, "retry_backoff_s": -1}, "retry_backoff_s"),
        ({"retries": 1, "retry_exit_codes": [0]}, "retry_exit_codes[0]"),
        ({"retry_backoff_s": 30}, "retry_backoff_s"),
        ({"retry_exit_codes": [1]}, "retry_exit_codes"),
    ],
    ids=str,
)
async def test_gpus_and_retries_that_cannot_be_are_refused_by_name(
    world, changes: dict[str, object], field: str
) -> None:
    status, problem = await world.json("POST", "/tasks", json={**TASK, **changes})
    assert (status, problem["errors"][0]["field"]) == (400, field)
    assert (await world.json("GET", "/tasks"))[1]["items"] == []


async def test_a_new_task_is_answered_as_it_is_shown_afterwards(world) -> None:
    body = {**TASK, "env": {"A": "1"}, "tags": ["x"], "grace_s": 1.5, "retries": 2, "priority": "AUTO", "hold": True}
    made = (await world.json("POST", "/tasks", json=body))[1]
    assert made == (await world.json("GET", f"/tasks/{made['id']}"))[1]


async def test_the_same_key_makes_one_task(world) -> None:
    headers = {"Idempotency-Key": "4f2c"}
    first = (await world.json("POST", "/tasks", json=TASK, headers=headers))[1]
    again = (await world.json("POST", "/tasks", json=TASK, headers=headers))[1]
    other = (await world.json("POST", "/tasks", "bob", json=TASK, headers=headers))[1]
    assert first["id"] == again["id"] != other["id"]


@pytest.mark.parametrize(
    "changes",
    [
        {"command": ["true", "x"]},
        {"nodes": 2},
        {"priority": "HIGH"},
        {"env": {"A": "2"}},
        {"hold": True},
        {"name": "u"},
    ],
    ids=str,
)
async def test_the_same_key_with_another_body_is_a_conflict(world, changes: dict[str, object]) -> None:
    headers = {"Idempotency-Key": "4f2c"}
    body = {**TASK, "env": {"A": "1", "B": "1"}}
    first = (await world.json("POST", "/tasks", json=body, headers=headers))[1]
    status, problem = await world.json("POST", "/tasks", json={**body, **changes}, headers=headers)
    assert (status, problem["code"]) == (409, "conflict")
    assert f"task {first['id']} " in problem["detail"]
    assert "new key" in problem["detail"]
    assert [task["id"] for task in (await world.json("GET", "/tasks"))[1]["items"]] == [first["id"]]


async def test_defaults_order_and_later_changes_make_no_other_body(world) -> None:
    headers = {"Idempotency-Key": "4f2c"}
    first = (await world.json("POST", "/tasks", json={**TASK, "env": {"A": "1", "B": "2"}}, headers=headers))[1]
    await world.json("PUT", f"/tasks/{first['id']}/priority", json={"priority": "HIGH"})
    await world.json("POST", f"/tasks/{first['id']}/hold")
    body = {**TASK, "env": {"B": "2", "A": "1"}, "priority": "NORMAL", "hold": False, "retries": 0, "gpus": None}
    status, again = await world.json("POST", "/tasks", json=body, headers=headers)
    assert (status, again["id"], again["held"]) == (201, first["id"], True)


@pytest.mark.parametrize("path", ["", "/runs", "/explain", "/events", "/logs", "/logs/search?q=x", "/logs?follow=1"])
async def test_another_users_task_is_answered_like_none(world, path: str) -> None:
    task = await world.submit("secret", user="bob")
    mine = await world.json("GET", f"/tasks/{task.id}{path}")
    none = await world.json("GET", f"/tasks/{task.id + 90}{path}")
    assert mine[0] == none[0] == 404
    assert mine[1]["detail"] == none[1]["detail"].replace(str(task.id + 90), str(task.id))
    assert "secret" not in str(mine)


@pytest.mark.parametrize("change", CHANGES)
async def test_another_users_task_cannot_be_changed(world, change: str) -> None:
    task = await world.submit(user="bob")
    assert (await world.json("POST", f"/tasks/{task.id}/{change}"))[0] == 404
    assert (await world.json("POST", f"/tasks/{task.id}/{change}", "admin"))[0] in (200, 409)


async def test_a_name_is_ones_own_and_an_admin_names_the_user(world) -> None:
    mine, his = await world.submit("same"), await world.submit("same", user="bob")
    assert (await world.json("GET", "/tasks/same"))[1]["id"] == mine.id
    assert (await world.json("GET", "/tasks/same", "bob"))[1]["id"] == his.id
    assert (await world.json("GET", "/tasks/bob%2Fsame", "admin"))[1]["id"] == his.id
    assert (await world.json("GET", "/tasks/bob%2Fsame"))[0] == 404


async def test_a_task_may_have_the_name_of_an_endpoint(world) -> None:
    task = await world.submit("parse")
    assert (await world.json("GET", "/tasks/parse"))[1]["id"] == task.id
    assert (await world.json("POST", "/tasks/parse/hold"))[1]["held"] is True


async def test_hold_resume_suspend_and_stop_answer_the_task_as_it_is_then(world) -> None:
    await world.start(await world.submit())
    assert (await world.json("POST", "/tasks/train/hold"))[1]["held"] is True
    assert (await world.json("POST", "/tasks/train/resume"))[1]["held"] is False
    suspended = (await world.json("POST", "/tasks/train/suspend", json={}))[1]
    assert (suspended["state"], suspended["deadline"] is not None) == ("suspending", True)
    assert suspended["runs"][0]["notice"]["reason"] == "user_suspended"
    stopped = (await world.json("POST", "/tasks/train/stop"))[1]
    assert (stopped["state"], stopped["runs"][0]["notice"]["kind"]) == ("stopping", "stop")
    status, problem = await world.json("POST", "/tasks/train/resume")
    assert (status, problem["code"]) == (409, "conflict")


async def test_an_ended_task_cannot_be_stopped_again(world) -> None:
    await world.submit()
    assert (await world.json("POST", "/tasks/train/stop"))[1]["state"] == "stopped"
    assert (await world.json("POST", "/tasks/train/stop"))[0] == 409


async def test_priority_and_order_can_be_changed(world) -> None:
    first, second = await world.submit("a"), await world.submit("b")
    assert (await world.json("PUT", "/tasks/b/order", json={"before": first.id}))[0] == 200
    changed = (await world.json("PUT", "/tasks/a/priority", json={"priority": "HIGH"}))[1]
    assert (changed["priority"], changed["effective_priority"]) == ("HIGH", "HIGH")
    status, problem = await world.json("PUT", "/tasks/b/order", json={"after": first.id})
    assert (status, problem["errors"][0]["field"]) == (400, "after")
    assert second.id == 2


async def test_lists_go_page_by_page_newest_first(world) -> None:
    ids = [(await world.submit(f"t{n}")).id for n in range(5)]
    await world.submit("other", user="bob")
    seen, cursor = [], ""
    while cursor is not None:
        page = (await world.json("GET", f"/tasks?limit=2{cursor and f'&cursor={cursor}'}"))[1]
        seen += [task["id"] for task in page["items"]]
        cursor = page["next_cursor"]
    assert seen == sorted(ids, reverse=True)


async def test_lists_are_filtered(world) -> None:
    await world.submit("apple", priority=Priority.HIGH)
    await world.start(await world.submit("banana"))
    await world.json("POST", "/tasks/apple/stop")

    async def names(query: str, who: str = "alice") -> list[str]:
        return [task["name"] for task in (await world.json("GET", f"/tasks?{query}", who))[1]["items"]]

    assert await names("state=running") == ["banana"]
    assert await names("state=live") == ["banana"]
    assert await names("state=stopped,running") == ["banana", "apple"]
    assert await names("priority=HIGH") == ["apple"]
    assert await names("priority=NORMAL") == ["banana"]
    assert await names("name=APP") == ["apple"]
    assert await names("group=training") == ["banana", "apple"]
    assert await names("", "admin") == []
    assert await names("user=alice", "admin") == ["banana", "apple"]
    assert await names("user=*", "admin") == ["banana", "apple"]
    assert (await world.json("GET", "/tasks?user=*"))[0] == 403
    assert (await world.json("GET", "/tasks?user=bob"))[0] == 403


async def test_a_waiting_task_is_explained_without_the_names_of_others(world) -> None:
    task = await world.submit()
    holder = Holder(task_id=9, name="hidden", user="bob", priority=Priority.HIGH, nodes=4)
    world.latest_plan.verdicts = {
        task.id: Verdict(
            kind=VerdictKind.CAPACITY,
            priority=Priority.NORMAL,
            position=1,
            data={"needs": 1, "free": 0},
            holders=(holder,),
        )
    }
    status, told = await world.json("GET", "/tasks/train/explain")
    assert (status, told["verdict"]["kind"], told["verdict"]["position"]) == (200, "CAPACITY", 1)
    assert told["verdict"]["holders"][0]["task_id"] == 9
    assert told["sentence"] == told["verdict"]["sentence"]
    assert "hidden" not in str(told)
    assert (await world.json("GET", "/tasks/train/explain", "admin"))[0] == 404
    shown = (await world.json("GET", f"/tasks/{task.id}/explain", "admin"))[1]
    assert shown["verdict"]["holders"][0]["name"] == "hidden"


async def test_a_task_has_runs_and_history(world, saved_story) -> None:
    runs = (await world.json("GET", f"/tasks/{saved_story.id}/runs"))[1]["items"]
    assert [(run["number"], run["state"], run["reason"]) for run in runs] == [
        (1, "ended", "preempted"),
        (2, "ended", "succeeded"),
    ]
    assert runs[0]["checkpoint"] == {"at": "2026-01-05T12:00:30Z", "step": 2, "path": None, "source": "told"}
    events = (await world.json("GET", f"/tasks/{saved_story.id}/events"))[1]["items"]
    assert [event["kind"] for event in events] == ["task.submitted"]
    assert (await world.json("GET", f"/tasks/{saved_story.id}/events?after={events[0]['seq']}"))[1]["items"] == []


EXPERIMENT = """
version: 2
name: exp
priority: 30
spec: {workspace: /w, entrypoint: train.py, parameters: --lr 0.1, environments: {N: 007}}
resource: {node_count: 2}
"""


async def test_an_experiment_file_becomes_a_body_that_can_be_submitted(world) -> None:
    headers = {"Content-Type": "application/yaml"}
    status, body = await world.json("POST", "/tasks/parse", data=EXPERIMENT, headers=headers)
    assert status == 200
    assert body["command"] == ["python", "-u", "train.py", "--lr", "0.1"]
    assert (body["env"], body["priority"], body["nodes"]) == ({"N": "007"}, "HIGH", 2)
    assert (await world.json("GET", "/tasks"))[1]["items"] == []
    assert (await world.json("POST", "/tasks", json=body))[0] == 201


async def test_every_fault_of_an_experiment_file_is_named(world) -> None:
    text = "version: 1\nspec: {entrypoint: a.py}\nresource: {gpu: 4}\n"
    headers = {"Content-Type": "application/yaml"}
    status, problem = await world.json("POST", "/tasks/parse", data=text, headers=headers)
    assert status == 400
    assert {error["field"] for error in problem["errors"]} == {"version", "name", "spec.workspace", "resource.gpu"}


async def test_a_task_that_has_failed_shows_the_rank_that_failed_first(world) -> None:
    task = await world.start(await world.submit(nodes=2), nodes=("node-1", "node-2"))
    assert (await world.json("GET", f"/tasks/{task.id}"))[1]["failure"] is None
    world.cluster.logs[f"{task.id}.1", 1] = b"2026-01-05T12:00:02.000000Z no data\n"
    ranks = tuple(
        replace(
            rank,
            state=RankState.EXITED,
            exit_code=code,
            signal=signal,
            ended_at=datetime(2026, 1, 5, 12, 0, second, tzinfo=UTC),
        )
        for rank, code, signal, second in zip(task.run.ranks, (1, 139), (None, 11), (5, 4), strict=True)
    )
    await world.end(task, Reason.FAILED, TaskState.FAILED, ranks=ranks, failed_ranks=(0, 1))
    shown = (await world.json("GET", f"/tasks/{task.id}"))[1]
    assert shown["failure"] == {
        "run": 1,
        "rank": 1,
        "node": "node-2",
        "exit_code": 139,
        "signal": 11,
        "at": "2026-01-05T12:00:04Z",
        "worker": None,
        "lines": ["no data"],
    }
    (listed,) = (await world.json("GET", "/tasks"))[1]["items"]
    assert "failure" not in listed


@pytest.mark.parametrize("hidden", ["\x1b", "\n", "\x85", "\x9b", "\u202e", "\u2066", "\u200f", "\u2028"])
async def test_a_tag_is_shown_as_it_is_written(world, hidden) -> None:
    task = await world.submit("shown")
    tags = ["fine: ä, 世界, <b>, 👩‍🔬", f"a{hidden}b"]
    for method, path, body in (
        ("POST", "/tasks", {**TASK, "tags": tags}),
        ("PUT", f"/tasks/{task.id}/tags", {"tags": tags}),
    ):
        status, problem = await world.json(method, path, json=body)
        assert (status, problem["errors"][0]["field"]) == (400, "tags")
        assert "remove it" in problem["detail"]
        assert (await world.json(method, path, json={**body, "tags": tags[:1]}))[0] < 300
