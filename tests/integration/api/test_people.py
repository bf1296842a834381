"""Users, the archive, the audit and the platform's health for admins, over HTTP."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from hai_scheduler.api.server import streaming, user_book
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.ports.values import ArchivedUser, UserRecord
from hai_scheduler.service.insight import platform_details
from hai_scheduler.service.shared import archived_names

#: The name of the admin of the test Hub.
ADMIN_USER = "root"
ROW = {"subject": "user:alice", "group": "training", "priority": "HIGH", "limit": 8}


def if_match(version: str) -> dict[str, str]:
    return {"If-Match": f'"{version}"'}


# -- users -----------------------------------------------------------------------------------------


async def test_users_have_their_tasks_and_quota_by_priority(world) -> None:
    await world.json("PUT", "/quotas", "admin", json={**ROW, "ceiling": 16})
    await world.start(await world.submit("a", priority=Priority.HIGH, nodes=1))
    await world.submit("b", priority=Priority.NORMAL, nodes=3)
    await world.json("GET", "/me", "alice")
    status, page = await world.json("GET", "/users", "admin")
    assert status == 200
    by_name = {user["name"]: user for user in page["items"]}
    assert (page["total"], page["next_cursor"]) == (2, None)
    alice, root = by_name["alice"], by_name["root"]
    assert (alice["groups"], alice["admin"], alice["archived"]) == (["ml"], False, None)
    assert (root["admin"], root["levels"]) == (True, [])
    assert abs(datetime.now(UTC) - datetime.fromisoformat(alice["seen_at"])) < timedelta(minutes=1)
    assert (alice["running_tasks"], alice["running_nodes"]) == (1, 1)
    assert (alice["waiting_tasks"], alice["waiting_nodes"]) == (1, 3)
    # A task of HIGH runs at the level of its run.
    assert [(level["priority"], level["running_nodes"], level["waiting_nodes"]) for level in alice["levels"]] == [
        ("NORMAL", 1, 3)
    ]
    high = next(row for row in alice["quota"] if row["priority"] == "HIGH")
    assert (high["limit"], high["ceiling"], high["source"], high["own_limit"]) == (8, 16, "user:alice", 8)
    status, rows = await world.json("GET", "/quotas", "admin")
    assert high["own_version"] == next(row["version"] for row in rows["items"] if row["subject"] == "user:alice")
    normal = next(row for row in alice["quota"] if row["priority"] == "NORMAL")
    assert (normal["source"], normal["own_version"], normal["used"]) == ("public", None, 1)


async def test_users_that_only_quota_names_are_there_too(world) -> None:
    await world.json("PUT", "/quotas", "admin", json={**ROW, "subject": "user:zoe"})
    status, user = await world.json("GET", "/users/zoe", "admin")
    assert (status, user["seen_at"], user["quota"][0]["own_limit"]) == (200, None, 8)
    assert [row["subject"] for row in user["rows"]] == ["public", "public", "user:zoe"]
    assert [(entry["action"], entry["actor"]) for entry in user["audit"]] == [("quota.put", "root")]
    status, problem = await world.json("GET", "/users/nobody", "admin")
    assert (status, problem["code"]) == (404, "not_found")


@pytest.mark.parametrize("order", ["name", "seen", "running", "waiting"])
async def test_pages_of_users_are_whole_in_every_order(world, order: str) -> None:
    names = [f"u{number:02}" for number in range(23)]
    async with world.store.write() as tx:
        for name in names:
            await tx.users.put(UserRecord(name=name, groups=frozenset({"cv"} if name < "u10" else ())))
    for number in range(6):
        await world.submit("t", user=f"u{number:02}", nodes=1 + number % 3)
    found, cursor = [], ""
    while cursor is not None:
        more = f"&cursor={cursor}" if cursor else ""
        status, page = await world.json("GET", f"/users?order={order}&limit=5{more}", "admin")
        assert (status, page["total"]) == (200, 24)
        found += page["items"]
        cursor = page["next_cursor"]
    assert sorted(user["name"] for user in found) == ["root", *names]
    waiting = [user["waiting_nodes"] for user in found]
    if order == "waiting":
        assert waiting == sorted(waiting, reverse=True)
        assert [user["name"] for user in found[:3]] == ["u02", "u05", "u01"]
    if order == "name":
        assert [user["name"] for user in found] == ["root", *names]
    if order == "seen":
        assert found[0]["name"] == "root"


async def test_users_are_filtered(world) -> None:
    async with world.store.write() as tx:
        for name in ("Anna", "hanna", "bob"):
            await tx.users.put(UserRecord(name=name, groups=frozenset({"cv"} if name != "hanna" else ())))
    await world.json("POST", "/users/bob/archive", "admin")

    async def names(query: str) -> list[str]:
        return [user["name"] for user in (await world.json("GET", f"/users?{query}", "admin"))[1]["items"]]

    assert await names("name=ANN") == ["Anna", "hanna"]
    assert await names("group=cv") == ["Anna", "bob"]
    assert await names("archived=true") == ["bob"]
    assert await names("archived=false&group=cv") == ["Anna"]
    for wrong in ("cursor=%22", "cursor=e30=", "order=age", "limit=0", "cursor=WzEsMl0"):
        assert (await world.json("GET", f"/users?{wrong}", "admin"))[0] == 400, wrong


async def test_a_visit_is_written_again_only_after_some_minutes(world, monkeypatch) -> None:
    await world.json("GET", "/me")
    async with world.store.read() as tx:
        first = (await tx.users.visits())["alice"]
    await world.json("GET", "/me")
    async with world.store.read() as tx:
        assert (await tx.users.visits())["alice"] == first
    monkeypatch.setattr(user_book, "VISIT_EVERY_S", 0.0)
    await world.json("GET", "/me")
    async with world.store.read() as tx:
        assert (await tx.users.visits())["alice"].seen_at > first.seen_at


# -- the archive -----------------------------------------------------------------------------------


async def test_an_archived_user_is_refused_with_a_sentence_and_comes_back(world) -> None:
    await world.json("GET", "/me", "alice")
    task = await world.submit("t")
    status, archived = await world.json("POST", "/users/alice/archive", "admin", json={"note": "left"})
    assert (status, archived["by"], archived["note"], archived["stopped"]) == (200, "root", "left", 1)
    for method, path in (("GET", "/me"), ("GET", "/tasks"), ("POST", "/tasks"), ("GET", "/events")):
        status, problem = await world.json(method, path, "alice")
        assert (status, problem["code"]) == (403, "forbidden")
        assert "alice is archived" in problem["detail"]
        assert "hai admin user restore alice" in problem["detail"]
    # Another token of the same user is refused as well; a service of that name is another one.
    assert (await world.json("GET", "/me", "reader"))[0] == 403
    assert (await world.json("GET", "/me", "service"))[0] == 200
    status, shown = await world.json("GET", f"/tasks/{task.id}", "admin")
    assert (status, shown["state"], shown["reason"]) == (200, "stopped", "owner_archived")
    assert "archived" in shown["message"]
    status, names = await world.json("GET", "/archived-users", "admin")
    assert (status, names) == (200, {"names": ["alice"]})
    # Once more changes nothing.
    status, again = await world.json("POST", "/users/alice/archive", "admin")
    assert (status, again["at"], again["stopped"]) == (200, archived["at"], 0)
    assert (await world.json("POST", "/users/alice/restore", "admin"))[0] == 204
    assert (await world.json("GET", "/me", "alice"))[0] == 200
    assert (await world.json("GET", f"/tasks/{task.id}", "alice"))[1]["state"] == "stopped"
    status, problem = await world.json("POST", "/users/alice/restore", "admin")
    assert (status, problem["code"]) == (404, "not_found")


async def test_a_running_task_of_an_archived_user_is_told_and_its_run_can_go_on_saving(world) -> None:
    await world.json("GET", "/me", "alice")
    task = await world.start(await world.submit("t"))
    await world.json("POST", "/users/alice/archive", "admin")
    async with world.store.read() as tx:
        told = await tx.tasks.get(task.id)
    assert told.state is TaskState.STOPPING
    assert told.run.notice.reason is Reason.OWNER_ARCHIVED
    headers = {"Authorization": f"Bearer {world.tokens.make(task.run_id(1)).reveal()}"}
    status, notice = await world.json("GET", f"/runs/{task.id}.1/notice?rank=0", None, headers=headers)
    assert (status, notice["notice"]["reason"]) == (200, "owner_archived")


async def test_a_stream_of_an_archived_user_ends(world, monkeypatch) -> None:
    monkeypatch.setattr(archived_names, "BELIEVED_S", 0.0)
    monkeypatch.setattr(streaming, "LOOKS_AGAIN", 0.05)
    async with world.stream("/events") as messages:
        assert (await anext(messages))[0] == "hello"
        await world.json("POST", "/users/alice/archive", "admin")
        world.hub.forget()
        async for event, _, data in messages:
            if event == "problem":
                assert data["status"] == 403
                assert "archived" in data["detail"]
                break
        else:
            pytest.fail("the stream went on")


async def test_who_cannot_be_archived(world) -> None:
    status, problem = await world.json("POST", f"/users/{ADMIN_USER}/archive", "admin")
    assert (status, problem["code"]) == (409, "conflict")
    assert "another admin" in problem["detail"]
    status, problem = await world.json("POST", "/users/alcie/archive", "admin")
    assert (status, problem["code"]) == (404, "not_found")
    assert "alcie" in problem["detail"]


async def test_a_submission_of_the_very_moment_is_refused_by_the_transaction(world) -> None:
    await world.json("GET", "/me")
    # Archived by another replica: this one has not heard of it.
    async with world.store.write() as tx:
        await tx.users.archive(ArchivedUser(name="alice", at=datetime.now(UTC), by="root"))
    body = {"name": "t", "command": ["python", "t.py"], "cwd": "/w"}
    status, problem = await world.json("POST", "/tasks", "alice", json=body)
    assert (status, problem["code"]) == (403, "forbidden")
    async with world.store.read() as tx:
        assert not await tx.tasks.unfinished()


async def test_a_container_of_an_archived_user_gets_no_configuration(world) -> None:
    await world.json("GET", "/me")
    assert (await world.json("GET", "/container-config?user=alice", "admin"))[0] == 200
    await world.json("POST", "/users/alice/archive", "admin")
    status, problem = await world.json("GET", "/container-config?user=alice", "admin")
    assert (status, problem["code"]) == (403, "forbidden")


# -- changes that collide --------------------------------------------------------------------------

RATE = {"valid_from": "2026-11-01", "per_gpu_hour": "1.20", "currency": "EUR"}
MOUNT = {"subject": "public", "kind": "host_path", "source": "/data", "mount_path": "/data"}
CHANGED = [
    ("/quotas", "/quotas", ROW, {**ROW, "limit": 9}, {"limit": 9}),
    ("/rates", "/rates", RATE, {**RATE, "per_gpu_hour": "2"}, {"per_gpu_hour": "2"}),
    (
        "/budgets/cv",
        "/budgets",
        {"measure": "gpu_hours", "limit": "500", "window_days": 30},
        {"measure": "gpu_hours", "limit": "600", "window_days": 30},
        {"limit": "600"},
    ),
    ("/mounts/data", "/mounts", MOUNT, {**MOUNT, "read_only": False}, {"read_only": False}),
    (
        "/environments/torch",
        "/environments?all=true",
        {"image": "torch:1", "subjects": ["public"]},
        {"image": "torch:2", "subjects": ["public"]},
        {"image": "torch:2"},
    ),
]


@pytest.mark.parametrize(("path", "listed", "first", "second", "there"), CHANGED, ids=[row[1] for row in CHANGED])
async def test_the_second_of_two_changes_is_told_what_is_there(world, path, listed, first, second, there) -> None:
    none = {"If-None-Match": "*"}
    status, problem = await world.json("PUT", path, "admin", json=first, headers={"If-Match": "*"})
    assert (status, problem["code"], problem["current"]) == (409, "conflict", None)
    status, written = await world.json("PUT", path, "admin", json=first, headers=none)
    assert status == 200
    status, problem = await world.json("PUT", path, "admin", json=first, headers=none)
    assert (status, problem["current"]["version"]) == (409, written["version"])
    items = (await world.json("GET", listed, "admin"))[1]["items"]
    assert written["version"] in {item["version"] for item in items}
    status, after = await world.json("PUT", path, "admin", json=second, headers=if_match(written["version"]))
    assert (status, after["version"] == written["version"]) == (200, False)
    # The other admin has read the first one.
    status, problem = await world.json("PUT", path, "admin", json=first, headers=if_match(written["version"]))
    assert (status, problem["code"]) == (409, "conflict")
    assert "has changed since you read it" in problem["detail"]
    assert problem["current"]["version"] == after["version"]
    assert there.items() <= problem["current"].items()
    key = {name: value for name, value in first.items() if name in ("subject", "group", "priority", "valid_from")}
    body = {"json": key} if path in ("/quotas", "/rates") else {}
    deleting = await world.json("DELETE", path, "admin", headers=if_match(written["version"]), **body)
    assert (deleting[0], deleting[1]["current"]["version"]) == (409, after["version"])
    assert (await world.json("DELETE", path, "admin", headers=if_match(after["version"]), **body))[0] == 204
    status, problem = await world.json("PUT", path, "admin", json=second, headers=if_match(after["version"]))
    assert (status, problem["current"]) == (409, None)
    assert "was removed" in problem["detail"]
    # Without a version a change is made in any case, as before.
    assert (await world.json("PUT", path, "admin", json=second))[0] == 200


async def test_changes_of_policy_numbers_that_collide_are_told(world) -> None:
    read = (await world.json("GET", "/policy", "admin"))[1]["version"]
    status, after = await world.json("PUT", "/policy", "admin", json={"set": {"slice": "1h"}}, headers=if_match(read))
    assert (status, after["version"] == read) == (200, False)
    status, problem = await world.json("PUT", "/policy", "admin", json={"set": {"strikes": 4}}, headers=if_match(read))
    assert (status, problem["current"]["version"]) == (409, after["version"])
    assert (await world.json("PUT", "/policy", "admin", json={"set": {"strikes": 4}}))[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"If-Match": "5"},
        {"If-Match": '"", "0123456789abcdef"'},
        {"If-None-Match": '"0123456789abcdef"'},
        {"If-Match": "*", "If-None-Match": "*"},
    ],
)
async def test_a_precondition_that_is_not_understood_is_refused(world, headers) -> None:
    status, problem = await world.json("PUT", "/quotas", "admin", json=ROW, headers=headers)
    assert (status, problem["errors"][0]["field"]) == (400, next(reversed(headers)))


# -- the audit -------------------------------------------------------------------------------------


async def test_a_change_that_fails_leaves_no_entry(world) -> None:
    status, _ = await world.json("PUT", "/quotas", "admin", json={**ROW, "ceiling": 1})
    assert status == 400
    assert (await world.json("DELETE", "/mounts/none", "admin"))[0] == 404
    assert (await world.json("PUT", "/quotas", "admin", json=ROW, headers={"If-Match": "*"}))[0] == 409
    assert (await world.json("GET", "/audit", "admin"))[1]["items"] == []


async def test_the_audit_is_read_in_pages_and_filtered(world) -> None:
    for limit in range(5):
        await world.json("PUT", "/quotas", "admin", json={**ROW, "limit": limit})
    await world.json("POST", "/cluster/pause", "admin")
    found, cursor = [], None
    while True:
        more = "" if cursor is None else f"&cursor={cursor}"
        page = (await world.json("GET", f"/audit?action=quota&limit=2{more}", "admin"))[1]
        found += [entry["after"]["limit"] for entry in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == [4, 3, 2, 1, 0]

    async def count(query: str) -> int:
        return len((await world.json("GET", f"/audit?{query}", "admin"))[1]["items"])

    assert await count("who=root") == 6
    assert await count("who=alice") == 0
    assert await count("subject=cluster") == 1
    assert await count("subject=user") == 5
    assert await count("since=2099-01-01T00:00:00Z") == 0
    assert await count("until=2099-01-01T00:00:00Z&action=cluster.paused") == 1
    assert (await world.json("GET", "/audit?since=yesterday", "admin"))[0] == 400


# -- health and storage ----------------------------------------------------------------------------


async def test_the_health_for_admins_has_every_part(world) -> None:
    await world.loop_says(tick_p50=0.01, tick_p95=0.2, version="1.2.3")
    status, found = await world.json("GET", "/health/details", "admin")
    assert (status, found["status"], found["alarms"]) == (200, "ok", [])
    assert found["scheduler"]["deciding"] is True
    assert (found["scheduler"]["tick_p50_s"], found["scheduler"]["tick_p95_s"]) == (0.01, 0.2)
    assert (found["database"]["reachable"], found["database"]["kind"]) == (True, "sqlite")
    assert (found["cluster"]["reachable"], found["cluster"]["nodes"]) == (True, {"free": 4})
    assert found["versions"] == {"service": "1.2.3", "lab": None, "loop": "1.2.3"}


async def test_alarms_in_force_name_their_runbooks(world) -> None:
    long_ago = datetime.now(UTC) - timedelta(minutes=5)
    await world.loop_says(last_tick=long_ago, at=long_ago, trouble="no pods")
    world.latest_plan.nodes = [
        Node(name="n1", gpus=2, ready=False),
        Node(name="n2", gpus=2, mark=NodeMark.QUARANTINED),
    ]
    async with world.store.write() as tx:
        await tx.nodes.put_mark("n2", NodeMark.QUARANTINED)
    found = (await world.json("GET", "/health/details", "admin"))[1]
    assert found["status"] == "degraded"
    assert [alarm["name"] for alarm in found["alarms"]] == [
        "HaiSchedulerSilent",
        "HaiEffectsFail",
        "HaiNodesLost",
        "HaiNodesQuarantined",
    ]
    assert found["alarms"][0]["runbook"] == "runbooks/HaiSchedulerSilent.md"
    assert found["cluster"]["nodes"] == {"lost": 1, "quarantined": 1}


async def test_a_cluster_that_does_not_answer_is_said(world, monkeypatch) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(world.cluster, "nodes", never)
    monkeypatch.setattr(platform_details, "PATIENCE_S", 0.01)
    found = (await world.json("GET", "/health/details", "admin"))[1]
    assert found["cluster"]["reachable"] is False


async def test_mount_rules_are_resolved_for_a_user(world) -> None:
    await world.json("GET", "/me", "alice")
    await world.json("PUT", "/mounts/data", "admin", json=MOUNT)
    await world.json("PUT", "/mounts/ml", "admin", json={**MOUNT, "subject": "group:ml", "source": "/ml/{user}"})
    status, plain = await world.json("GET", "/mounts", "admin")
    assert (status, plain["resolved"], len(plain["items"])) == (200, None, 2)
    resolved = (await world.json("GET", "/mounts?user=alice&node_group=training", "admin"))[1]["resolved"]
    assert (resolved["groups"], resolved["node_group"]) == (["ml"], "training")
    assert [(one["rule"], one["source"]) for one in resolved["mounts"]] == [("ml", "/ml/alice")]
    assert [one["rule"] for one in resolved["left_out"]] == ["data"]
    unknown = (await world.json("GET", "/mounts?user=nobody", "admin"))[1]["resolved"]
    assert [one["rule"] for one in unknown["mounts"]] == ["data"]
    assert "nobody" in unknown["warnings"][0]


# -- rights ----------------------------------------------------------------------------------------

ADMINS_ONLY = [
    ("GET", "/users"),
    ("GET", "/users/alice"),
    ("POST", "/users/alice/archive"),
    ("POST", "/users/alice/restore"),
    ("GET", "/archived-users"),
    ("GET", "/audit"),
    ("GET", "/health/details"),
    ("GET", "/mounts?user=alice"),
]


@pytest.mark.parametrize(("method", "path"), ADMINS_ONLY, ids=lambda value: value)
async def test_a_user_is_refused_what_admins_may(world, method: str, path: str) -> None:
    status, problem = await world.json(method, path, "alice")
    assert (status, problem["code"]) == (403, "forbidden")


async def test_expired_quota_is_no_quota(world) -> None:
    async with world.store.write() as tx:
        await tx.quotas.put(
            Quota(
                subject="user:yan",
                group="training",
                priority=Priority.LOW,
                limit=5,
                expires_at=datetime.now(UTC) - timedelta(hours=1),
            )
        )
    user = (await world.json("GET", "/users/yan", "admin"))[1]
    assert [row["priority"] for row in user["quota"]] == ["HIGH", "NORMAL"]
    assert [row["subject"] for row in user["rows"] if row["expired"]] == ["user:yan"]
