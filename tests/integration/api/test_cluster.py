"""Nodes, quota, overview, health and metrics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota


@pytest.mark.parametrize("who", ["alice", "bob", "reader", "admin"])
async def test_every_reader_is_told_who_holds_which_nodes_and_no_more(world, who: str) -> None:
    task = await world.start(await world.submit("secret", user="bob"))
    answer = (await world.json("GET", "/nodes", who))[1]
    assert (answer["items"][0]["task_id"], answer["items"][0]["user"]) == (task.id, "bob")
    assert ("secret" in str(answer)) is (who in ("bob", "admin")), "a name is for the owner and for admins"
    assert "train.py" not in str(answer)


async def test_a_shared_node_shows_each_task_on_it_and_what_is_free(world) -> None:
    one, other = await world.submit("one", gpus=1), await world.submit("other", user="bob", gpus=1)
    for gpu, task in enumerate((one, other)):
        await world.start(task, gpus=((gpu,),))
    shared, free, *_ = (await world.json("GET", "/nodes"))[1]["items"]
    assert (shared["task_id"], shared["user"], shared["gpus"], shared["gpus_free"]) == (None, None, 2, 0)
    assert [(task["task_id"], task["user"], task["gpus"], task["name"]) for task in shared["tasks"]] == [
        (one.id, "alice", [0], "one"),
        (other.id, "bob", [1], ""),
    ]
    assert (free["task_id"], free["gpus_free"], free["tasks"]) == (None, 2, [])
    (run,) = (await world.json("GET", f"/tasks/{one.id}/runs"))[1]["items"]
    assert (run["ranks"][0]["node"], run["ranks"][0]["gpus"]) == ("node-1", [0])


async def test_one_task_on_a_part_of_a_node_is_the_nodes_task(world) -> None:
    task = await world.submit(gpus=1)
    await world.start(task, gpus=((1,),))
    node = (await world.json("GET", "/nodes"))[1]["items"][0]
    assert (node["task_id"], node["user"], node["gpus_free"]) == (task.id, "alice", 1)
    (group,) = (await world.json("GET", "/cluster"))[1]["groups"]
    assert (group["held"], group["free"], group["shared"]) == (1, 3, 1)
    assert (group["gpus"], group["gpus_free"]) == (8, 7)
    (row,) = [row for row in (await world.json("GET", "/me"))[1]["quota"] if row["used"]]
    assert row["used"] == 0.5


async def test_admins_mark_nodes_and_see_it_at_once(world) -> None:
    for verb, mark in (("cordon", "cordoned"), ("drain", "draining"), ("uncordon", "none")):
        status, node = await world.json("POST", f"/nodes/node-2/{verb}", "admin")
        assert (status, node["name"], node["mark"]) == (200, "node-2", mark)
    assert (await world.json("POST", "/nodes/node-2/cordon"))[0] == 403


async def test_quota_is_written_read_and_removed(world) -> None:
    row = {"subject": "user:alice", "group": "training", "priority": "HIGH", "limit": None}
    status, answer = await world.json("PUT", "/quotas", "admin", json=row)
    row |= {"ceiling": None, "expires_at": None, "expired": False, "version": answer["version"], "warning": None}
    assert (status, answer | {"warning": None}) == (200, row)
    assert row in (await world.json("GET", "/quotas"))[1]["items"]
    assert row not in (await world.json("GET", "/quotas", "bob"))[1]["items"]
    assert row in (await world.json("GET", "/quotas", "admin"))[1]["items"]
    key = {"subject": "user:alice", "priority": "HIGH"}
    assert await world.json("DELETE", "/quotas", "admin", json=key) == (204, None)
    assert (await world.json("PUT", "/quotas", json={**key, "limit": 1}))[0] == 403


async def test_me_says_what_i_may_hold_and_hold(world) -> None:
    async with world.store.write() as tx:
        await tx.quotas.put(Quota(subject="group:ml", group="training", priority=Priority.HIGH, limit=8))
    await world.start(await world.submit(nodes=2), nodes=("node-1", "node-2"))
    status, me = await world.json("GET", "/me")
    assert (status, me["name"], me["admin"], me["groups"]) == (200, "alice", False, ["ml"])
    row = {"group": "training", "ceiling": None, "expires_at": None}
    assert me["quota"] == [
        {**row, "priority": "HIGH", "limit": 8, "used": 0, "source": "group:ml"},
        {**row, "priority": "NORMAL", "limit": 4, "used": 2, "source": "public"},
    ]
    assert (await world.json("GET", "/me", "admin"))[1]["admin"] is True


async def test_the_overview_adds_up(world) -> None:
    async with world.store.write() as tx:
        await tx.quotas.put(Quota(subject="user:bob", group="training", priority=Priority.LOW, limit=1))
    await world.start(await world.submit("a", nodes=2), nodes=("node-1", "node-2"))
    await world.submit("b", user="bob", nodes=3, priority=Priority.HIGH)
    await world.submit("c", user="bob", nodes=1, priority=Priority.LOW)
    await world.json("POST", "/nodes/node-3/cordon", "admin")
    group = (await world.json("GET", "/cluster"))[1]["groups"][0]
    assert (group["nodes"], group["held"], group["free"], group["unavailable"]) == (4, 2, 1, 1)
    assert group["levels"] == [
        {"priority": "HIGH", "running_tasks": 0, "running_nodes": 0, "waiting_tasks": 1, "waiting_nodes": 3},
        {"priority": "NORMAL", "running_tasks": 1, "running_nodes": 2, "waiting_tasks": 0, "waiting_nodes": 0},
        {"priority": "LOW", "running_tasks": 0, "running_nodes": 0, "waiting_tasks": 1, "waiting_nodes": 1},
    ]


async def test_the_platform_is_paused_and_resumed(world) -> None:
    assert (await world.json("POST", "/cluster/pause", "admin", json={"grace_s": 5}))[1]["paused"] is True
    assert (await world.json("POST", "/cluster/resume", "admin"))[1]["paused"] is False
    assert (await world.json("POST", "/cluster/pause", "admin"))[1]["paused"] is True
    assert (await world.json("POST", "/cluster/pause"))[0] == 403


async def test_health_tells_of_a_scheduler_that_is_silent(world) -> None:
    assert (await world.json("GET", "/health", None))[1]["status"] == "ok"
    now = datetime.now(UTC)
    await world.loop_says(at=now, last_tick=now - timedelta(minutes=5))
    health = (await world.json("GET", "/health", None))[1]
    assert (health["status"], health["last_tick_s"] > 299, health["deciding"]) == ("degraded", True, False)
    cluster = (await world.json("GET", "/cluster"))[1]
    assert cluster["standstill"].startswith("The scheduling loop has not ticked for 30")
    assert health["detail"].startswith("The scheduling loop has not ticked for 30")
    await world.loop_says(policy_trouble="slice of alice's group")
    health = (await world.json("GET", "/health", None))[1]
    assert (health["status"], "`hai policy`" in health["detail"]) == ("degraded", True)
    assert "alice" not in health["detail"], "anyone may read this"
    assert (health["deciding"], (await world.json("GET", "/cluster"))[1]["standstill"]) == (True, None)
    await world.loop_says(last_tick=None)
    health = (await world.json("GET", "/health", None))[1]
    assert (health["status"], health["last_tick_s"]) == ("degraded", None)


async def test_metrics_count_tasks_nodes_and_requests(world) -> None:
    await world.start(await world.submit("a", nodes=2), nodes=("node-1", "node-2"))
    await world.json("GET", "/tasks/a")
    await world.json("GET", "/nowhere")
    async with world.store.write() as tx:
        await tx.nodes.put_mark("node-1", NodeMark.QUARANTINED)
    await world.loop_says(rotation_alarms=2)
    async with world.ask("GET", "/metrics", "metrics") as response:
        await response.read()
    async with world.ask("GET", "/metrics", "metrics") as response:
        text = await response.text()
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("text/plain")
    assert 'hai_tasks{priority="NORMAL",state="running"} 1.0' in text
    assert 'hai_tasks{priority="HIGH",state="running"} 0.0' in text
    assert 'hai_task_nodes{priority="NORMAL",state="running"} 2.0' in text
    assert 'hai_nodes{group="training",state="held"} 2.0' in text
    assert 'hai_nodes{group="training",state="free"} 2.0' in text
    assert 'hai_quarantined_nodes{group="training"} 1.0' in text
    assert "hai_rotation_alarms_total 2.0" in text
    assert 'route="/tasks/{task}",status="2xx"' in text
    assert 'route="none",status="4xx"' in text
    assert "alice" not in text
    assert (await world.json("GET", "/metrics"))[0] == 403


@pytest.mark.parametrize(("taken", "sent"), [("gzip, br", "gzip"), ("identity", None)])
async def test_a_large_answer_that_all_share_is_compressed_for_those_who_take_it_so(
    world, taken: str, sent: str | None
) -> None:
    for who in ("alice", "bob"):
        async with world.ask("GET", "/overview", who, headers={"Accept-Encoding": taken}) as response:
            answer = await response.json()
            assert (response.headers.get("Content-Encoding"), response.headers["Vary"]) == (sent, "Accept-Encoding")
            assert len(answer["hours"]) == 25
