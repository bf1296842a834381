"""What pages ask: the cluster over a day, the queue, labels of tasks, many tasks at once, and what can be tried."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hai_scheduler.core.metrics.series import Point, Spread
from hai_scheduler.core.model.node import NodeCondition, NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.service.scheduling.node_conditions import note_conditions

#: A request to each new endpoint that may not be made with these rights.
READS = [("GET", "/overview"), ("GET", "/queue")]
WRITES = [
    ("POST", "/tasks/actions", {"action": "stop", "tasks": ["t"]}),
    ("PUT", "/tasks/t/tags", {"tags": []}),
    ("PUT", "/tasks/t/star", None),
    ("DELETE", "/tasks/t/star", None),
]
OF_ADMINS = [
    ("POST", "/nodes/preview", {"nodes": ["node-1"]}),
    ("POST", "/policy/try", {"set": {"slice": "1h"}}),
]


async def planned(world, **quota: int) -> None:
    """Show what the scheduler would plan now, as its ticks do."""
    for user, limit in quota.items():
        async with world.store.write() as tx:
            await tx.quotas.put(Quota(subject=f"user:{user}", group="training", priority=Priority.NORMAL, limit=limit))
    async with world.store.read() as tx:
        snapshot = Snapshot(
            now=datetime.now(UTC),
            nodes=tuple(world.latest_plan.nodes),
            tasks=tuple(await tx.tasks.unfinished()),
            quotas=tuple(await tx.quotas.all()),
        )
    policies = world.latest_plan.policies
    world.latest_plan.show(snapshot, policies, plan(snapshot, policies).verdicts, seconds=0.0)


async def full(world) -> None:
    """A cluster of four nodes that bob's task holds."""
    names = tuple(f"node-{number}" for number in range(1, 5))
    task, now = await world.start(await world.submit("secret", user="bob", nodes=4), nodes=names), datetime.now(UTC)
    async with world.store.write() as tx:
        await tx.tasks.save(
            replace(task, run=replace(task.run, priority=Priority.HIGH, started_at=now, running_at=now))
        )


@pytest.mark.parametrize(("method", "path"), READS)
async def test_reading_needs_the_right_to_read(world, method: str, path: str) -> None:
    assert (await world.json(method, path, "reader"))[0] == 200
    assert (await world.json(method, path, "metrics"))[0] == 403


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
async def test_changing_needs_more_than_reading(world, method: str, path: str, body) -> None:
    await world.submit("t")
    assert (await world.json(method, path, "reader", json=body))[0] == 403
    assert (await world.json(method, path, json=body))[0] == 200


@pytest.mark.parametrize(("method", "path", "body"), OF_ADMINS)
@pytest.mark.parametrize("who", ["alice", "reader", "service"])
async def test_only_admins_try_what_only_admins_do(world, method: str, path: str, body, who: str) -> None:
    status, problem = await world.json(method, path, who, json=body)
    assert (status, problem["code"]) == (403, "forbidden")


async def test_the_queue_shows_everybody_the_order_and_nobody_the_names_of_others(world) -> None:
    await full(world)
    mine, other = await world.submit("mine", nodes=2), await world.submit("hidden", user="bob")
    held = await world.submit("later", hold=True)
    await planned(world)
    for who, names in (("alice", {mine.id: "mine", held.id: "later"}), ("bob", {other.id: "hidden"})):
        status, answer = await world.json("GET", "/queue", who)
        assert status == 200
        (group,) = answer["groups"]
        assert (group["group"], group["waiting"], group["held"], group["next"]) == ("training", 2, 1, None)
        assert {item["task_id"]: item["name"] for item in group["items"] if item["name"]} == names
        assert [item["task_id"] for item in group["items"]] == [mine.id, other.id, held.id]
        assert [item["position"] for item in group["items"]] == [1, 2, None]
        first = group["items"][0]
        assert (first["user"], first["nodes"], first["priority"]) == ("alice", 2, "NORMAL")
        assert first["short"]["text"].startswith("waits for")
        assert first["short"]["data"]["nodes"] == 2
        assert "secret" not in json.dumps(answer)


async def test_the_queue_is_read_in_pages_and_for_oneself(world) -> None:
    await full(world)
    tasks = [await world.submit(f"t{n}", user=("alice", "bob")[n % 2]) for n in range(5)]
    await planned(world)
    seen, after = [], 0
    while True:
        (group,) = (await world.json("GET", f"/queue?group=training&after={after}&limit=2"))[1]["groups"]
        seen += [item["task_id"] for item in group["items"]]
        after = group["next"]
        if after is None:
            break
    assert sorted(seen) == [task.id for task in tasks]
    (mine,) = (await world.json("GET", "/queue?mine=true"))[1]["groups"]
    assert {item["user"] for item in mine["items"]} == {"alice"}
    assert [item["position"] for item in mine["items"]] == [seen.index(item["task_id"]) + 1 for item in mine["items"]]
    status, problem = await world.json("GET", "/queue?after=3")
    assert (status, problem["code"]) == (400, "invalid")
    assert (await world.json("GET", "/queue?group=nosuch"))[0] == 400


async def test_the_quota_of_others_is_not_told_by_the_queue(world) -> None:
    await world.start(await world.submit("secret", user="bob", nodes=2), nodes=("node-1", "node-2"))
    waits = await world.submit("more", user="bob", nodes=2)
    await planned(world, bob=3)
    texts = {}
    for who in ("alice", "bob", "admin"):
        (group,) = (await world.json("GET", "/queue", who))[1]["groups"]
        (item,) = group["items"]
        assert item["task_id"] == waits.id
        texts[who] = item["short"]["text"]
        assert ("limit" in item["short"]["data"]) == (who != "alice")
    assert texts["alice"] == "waits for quota"
    assert texts["bob"] == texts["admin"] == "waits for quota: 2 of 3 nodes are in use at NORMAL"


async def test_the_overview_tells_what_is_held_and_who_waits(world) -> None:
    await world.start(await world.submit("one", nodes=2), nodes=("node-1", "node-2"))
    await world.start(await world.submit("half", gpus=1), nodes=("node-3",), gpus=((0,),))
    await world.submit("waits", nodes=4, priority=Priority.HIGH)
    await planned(world)
    status, answer = await world.json("GET", "/overview", "reader")
    assert status == 200
    assert (answer["now"]["nodes"], answer["now"]["held"], answer["now"]["useful"]) == (4, 2.5, 2.5)
    assert answer["now"]["occupancy"] == 0.625
    assert [(level["priority"], level["running_tasks"], level["waiting_tasks"]) for level in answer["levels"]] == [
        ("HIGH", 0, 1),
        ("NORMAL", 2, 0),
    ]
    assert answer["submitted_3h"] == 3
    assert answer["ended_3h"] == {"succeeded": 0, "failed": 0, "stopped": 0}
    assert len(answer["hours"]) == 25
    assert answer["groups"][0]["group"] == "training"
    assert answer["change"] >= 3
    assert "waits" not in json.dumps(answer["groups"])


async def test_nodes_say_how_they_are_since_when_and_what_runs_there(world) -> None:
    task = await world.start(await world.submit("mine"))
    await world.json("POST", "/nodes/node-2/cordon", "admin")
    away = replace(world.latest_plan.nodes[2], ready=False, message="no word of it.")
    since = datetime.now(UTC) - timedelta(hours=1)
    world.latest_plan.nodes = [*world.latest_plan.nodes[:2], away, *world.latest_plan.nodes[3:]]
    async with world.store.write() as tx:
        await tx.nodes.put_conditions([NodeCondition.of(away, since)])
    one, two, three, four = (await world.json("GET", "/nodes", "reader"))[1]["items"]
    assert (one["state"], one["reason"], one["tasks"][0]["name"]) == ("held", None, "mine")
    assert (one["tasks"][0]["phase"], one["tasks"][0]["run"]) == ("running", 1)
    assert (two["state"], two["by"]) == ("cordoned", "root")
    assert two["reason"] == "Admin root has cordoned it."
    assert three["state"] == "down"
    assert three["reason"] == "The cluster cannot reach it: no word of it."
    assert datetime.fromisoformat(three["since"]) == since
    assert (four["state"], four["reason"]) == ("free", None)
    (others,) = (await world.json("GET", "/nodes", "bob"))[1]["items"][0]["tasks"]
    assert (others["task_id"], others["user"], others["name"]) == (task.id, "alice", "")


async def test_use_on_nodes_is_told_of_ones_own_tasks_and_to_admins(world) -> None:
    task = await world.start(await world.submit("mine"))
    now = int(datetime.now(UTC).timestamp())
    await world.store.series.append(task.run_id(1), 0, [Point(now, {"gpu0_use": Spread(0, 50, 99)})])
    for who, told in (("alice", True), ("admin", True), ("bob", False)):
        assert (await world.json("GET", "/nodes", who))[1]["items"][0]["tasks"][0]["use"] is None
        use = (await world.json("GET", "/nodes?use=true", who))[1]["items"][0]["tasks"][0]["use"]
        assert (use is not None) == told
        assert not told or use["gpu_use"] == pytest.approx(50, rel=0.02)


async def test_a_drain_is_tried_before_it_is_done(world) -> None:
    runs = await world.start(await world.submit("runs", nodes=2), nodes=("node-1", "node-2"))
    await world.start(await world.submit("stays", user="bob"), nodes=("node-4",))
    await planned(world)
    body = {"nodes": ["node-1", "node-4", "node-1"]}
    status, drain = await world.json("POST", "/nodes/preview", "admin", json=body)
    assert status == 200
    assert drain["nodes"] == ["node-1", "node-4"]
    assert [one["name"] for one in drain["displaced"]] == ["runs", "stays"]
    first = drain["displaced"][0]
    assert (first["task_id"], first["node_names"]) == (runs.id, ["node-1"])
    assert first["away_by"] is not None
    assert first["away_by"] <= drain["empty_by"]
    assert set(first["goes_on_nodes"]) == {"node-2", "node-3"}
    assert drain["sentence"].startswith("2 tasks would be told to leave these 2 nodes.")
    assert [one["name"] for one in drain["assumptions"]] == ["lengths", "submissions", "leaving"]
    status, cordon = await world.json("POST", "/nodes/preview", "admin", json={**body, "mark": "cordoned"})
    assert (status, cordon["displaced"], cordon["empty_by"]) == (200, [], None)
    assert [one["name"] for one in cordon["staying"]] == ["runs", "stays"]
    async with world.store.read() as tx:
        assert await tx.nodes.marks() == {}
        assert [task.live_run.notice for task in await tx.tasks.unfinished()] == [None, None]
    status, problem = await world.json("POST", "/nodes/preview", "admin", json={"nodes": ["nosuch"]})
    assert (status, problem["code"]) == (404, "not_found")


@pytest.mark.parametrize("body", [{}, {"nodes": []}, {"nodes": [""]}, {"nodes": ["a"], "mark": "quarantined"}])
async def test_a_preview_of_nothing_is_refused(world, body) -> None:
    assert (await world.json("POST", "/nodes/preview", "admin", json=body))[0] == 400


async def test_tags_are_written_by_all_who_may_change_the_task(world) -> None:
    await world.submit("t", tags=("old",))
    status, task = await world.json("PUT", "/tasks/t/tags", json={"tags": ["b", "a", "b"]})
    assert (status, task["tags"]) == (200, ["b", "a"])
    assert (await world.json("GET", "/tasks?tag=a"))[1]["items"][0]["tags"] == ["b", "a"]
    assert (await world.json("GET", "/tasks?tag=old"))[1]["items"] == []
    assert (await world.json("PUT", "/tasks/1/tags", "admin", json={"tags": ["x"]}))[1]["tags"] == ["x"]
    assert (await world.json("PUT", "/tasks/1/tags", "bob", json={"tags": []}))[0] == 404
    events = (await world.json("GET", "/tasks/t/events"))[1]["items"]
    assert [event["data"] for event in events if event["kind"] == "task.tags"] == [
        {"tags": ["b", "a"]},
        {"tags": ["x"]},
    ]
    for wrong in (["a" * 129], [""], [1], ["a"] * 51, ["\0"]):
        assert (await world.json("PUT", "/tasks/t/tags", json={"tags": wrong}))[0] == 400


async def test_a_star_is_for_its_user_alone(world) -> None:
    await world.submit("t")
    assert (await world.json("PUT", "/tasks/t/star"))[1]["starred"] is True
    assert (await world.json("GET", "/tasks/1", "admin"))[1]["starred"] is False
    assert [item["starred"] for item in (await world.json("GET", "/tasks?starred=true"))[1]["items"]] == [True]
    assert (await world.json("PUT", "/tasks/1/star", "bob"))[0] == 404
    assert (await world.json("DELETE", "/tasks/t/star"))[1]["starred"] is False
    assert (await world.json("GET", "/tasks?starred=true"))[1]["items"] == []


async def test_many_tasks_are_acted_on_and_each_has_a_result(world) -> None:
    one, other = await world.submit("one"), await world.submit("other", user="bob")
    body = {"action": "hold", "tasks": ["one", str(other.id), "nosuch", "one"]}
    status, answer = await world.json("POST", "/tasks/actions", json=body)
    assert (status, answer["done"], answer["refused"]) == (200, 1, 2)
    done, foreign, missing = answer["items"]
    assert (done["task"], done["task_id"], done["state"], done["held"]) == ("one", one.id, "queued", True)
    assert (foreign["code"], missing["code"]) == ("not_found", "not_found")
    assert "nosuch" in missing["detail"]
    stopped = (await world.json("POST", "/tasks/actions", "admin", json={"action": "stop", "tasks": ["1", "2"]}))[1]
    assert [item["state"] for item in stopped["items"]] == ["stopped", "stopped"]
    again = (await world.json("POST", "/tasks/actions", json={"action": "resume", "tasks": ["1"]}))[1]
    assert (again["items"][0]["code"], again["refused"]) == ("conflict", 1)
    for wrong in ({"action": "kill", "tasks": ["1"]}, {"action": "stop", "tasks": []}, {"action": "stop"}):
        assert (await world.json("POST", "/tasks/actions", json=wrong))[0] == 400


async def test_a_list_is_sorted_and_counted_by_the_service(world) -> None:
    for name, nodes in (("b", 1), ("a", 2), ("c", 2)):
        await world.submit(name, nodes=nodes)
    first = (await world.json("GET", "/tasks?sort=nodes&order=falling&limit=2&total=true"))[1]
    assert ([item["name"] for item in first["items"]], first["total"]) == (["c", "a"], 3)
    cursor = first["next_cursor"]
    rest = (await world.json("GET", f"/tasks?sort=nodes&order=falling&limit=2&cursor={cursor}"))[1]
    assert ([item["name"] for item in rest["items"]], rest["next_cursor"], rest["total"]) == (["b"], None, None)
    status, problem = await world.json("GET", f"/tasks?sort=name&cursor={cursor}")
    assert (status, problem["code"]) == (400, "invalid")
    assert [item["name"] for item in (await world.json("GET", "/tasks?text=B"))[1]["items"]] == ["b"]
    assert (await world.json("GET", "/tasks?sort=command"))[0] == 400


async def test_a_waiting_task_says_why_in_a_few_words(world) -> None:
    await full(world)
    await world.submit("mine", nodes=2)
    await planned(world)
    (item,) = (await world.json("GET", "/tasks"))[1]["items"]
    assert item["short"]["id"] in ("capacity", "turn")
    assert "2 nodes of training" in item["short"]["text"]
    assert (await world.json("GET", "/tasks/mine"))[1]["short"] == item["short"]


async def test_a_node_that_changes_is_told_to_all_readers(world) -> None:
    nodes = world.latest_plan.nodes
    async with world.stream("/events", "reader") as messages:
        assert (await anext(messages))[0] == "hello"
        for shown in (nodes, [replace(nodes[0], ready=False), *nodes[1:]]):
            async with world.store.write() as tx:
                await note_conditions(tx, shown, datetime.now(UTC))
        await world.bus.ring("feed")
        kind, _, event = await anext(messages)
    assert kind == "node.condition"
    assert event["data"] == {"node": "node-1", "there": True, "group": "training", "ready": False, "closed": False}


async def test_a_mark_keeps_who_has_made_it(world) -> None:
    await world.json("POST", "/nodes/node-1/drain", "admin")
    async with world.store.read() as tx:
        condition = (await tx.nodes.conditions())["node-1"]
    assert (condition.mark, condition.by) == (NodeMark.DRAINING, "root")
