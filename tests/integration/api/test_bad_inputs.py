"""Bad input is refused with the status, the code and the field that are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.ports.errors import Temporary

TASK = {"name": "t", "command": ["true"], "cwd": "/w"}

ROW = {"subject": "public", "priority": "LOW", "limit": 1}

BODIES: dict[str, tuple[str, str, Any, int, str, str | None]] = {
    # what is wrong: method, path, body, status, code, field
    "a missing name": ("POST", "/tasks", {"command": ["x"], "cwd": "/"}, 400, "invalid", "name"),
    "a name with a slash": ("POST", "/tasks", {**TASK, "name": "a/b"}, 400, "invalid", "name"),
    "a name that is a number": ("POST", "/tasks", {**TASK, "name": "12"}, 400, "invalid", "name"),
    "a long name": ("POST", "/tasks", {**TASK, "name": "x" * 200}, 400, "invalid", "name"),
    "an unknown key": ("POST", "/tasks", {**TASK, "colour": 1}, 400, "invalid", "colour"),
    "an empty command": ("POST", "/tasks", {**TASK, "command": []}, 400, "invalid", "command"),
    "a command that is a text": ("POST", "/tasks", {**TASK, "command": "ls"}, 400, "invalid", "command"),
    "a word that is a number": ("POST", "/tasks", {**TASK, "command": ["a", 1]}, 400, "invalid", "command[1]"),
    "a relative folder": ("POST", "/tasks", {**TASK, "cwd": "w"}, 400, "invalid", "cwd"),
    "relative checkpoints": ("POST", "/tasks", {**TASK, "checkpoint_dir": "c"}, 400, "invalid", "checkpoint_dir"),
    "a variable of the platform": ("POST", "/tasks", {**TASK, "env": {"HAI_RANK": "1"}}, 400, "invalid", "env"),
    "no nodes": ("POST", "/tasks", {**TASK, "nodes": 0}, 400, "invalid", "nodes"),
    "half a node": ("POST", "/tasks", {**TASK, "nodes": 1.5}, 400, "invalid", "nodes"),
    "nodes as a text": ("POST", "/tasks", {**TASK, "nodes": "2"}, 400, "invalid", "nodes"),
    "nodes as a truth value": ("POST", "/tasks", {**TASK, "nodes": True}, 400, "invalid", "nodes"),
    "more nodes than there are": ("POST", "/tasks", {**TASK, "nodes": 5}, 422, "quota", None),
    "an unknown priority": ("POST", "/tasks", {**TASK, "priority": "TOP"}, 400, "invalid", "priority"),
    "a priority without quota": ("POST", "/tasks", {**TASK, "priority": "EXTREME_HIGH"}, 422, "quota", None),
    "an unknown group": ("POST", "/tasks", {**TASK, "group": "gpu"}, 400, "invalid", "group"),
    "an unknown profile": ("POST", "/tasks", {**TASK, "profile": "x"}, 400, "invalid", "profile"),
    "a negative grace": ("POST", "/tasks", {**TASK, "grace_s": -1}, 400, "invalid", "grace_s"),
    "an endless grace": ("POST", "/tasks", {**TASK, "grace_s": 1e300}, 400, "invalid", "grace_s"),
    "a grace above the most": ("POST", "/tasks", {**TASK, "grace_s": 10_000}, 400, "invalid", "grace_s"),
    "no time at all": ("POST", "/tasks", {**TASK, "time_limit_s": 0}, 400, "invalid", "time_limit_s"),
    "a variable that is a number": ("POST", "/tasks", {**TASK, "env": {"A": 1}}, 400, "invalid", "env.A"),
    "a variable with a bad name": ("POST", "/tasks", {**TASK, "env": {"A-B": "1"}}, 400, "invalid", "env"),
    "a NUL character": ("POST", "/tasks", {**TASK, "cwd": "/\0"}, 400, "invalid", "cwd"),
    "a list instead of an object": ("POST", "/tasks", [TASK], 400, "invalid", ""),
    "no such priority": ("PUT", "/tasks/t/priority", {"priority": 30}, 400, "invalid", "priority"),
    "no order": ("PUT", "/tasks/t/order", {}, 400, "invalid", "before"),
    "an order behind no task": ("PUT", "/tasks/t/order", {"after": 99}, 400, "invalid", "after"),
    "an enormous id": ("PUT", "/tasks/t/order", {"after": 2**70}, 400, "invalid", "after"),
    "a body where there is none": ("POST", "/tasks/t/stop", {"force": True}, 400, "invalid", None),
    "a subject of no kind": ("PUT", "/quotas", {**ROW, "subject": "x"}, 400, "invalid", "subject"),
    "a negative limit": ("PUT", "/quotas", {**ROW, "limit": -1}, 400, "invalid", "limit"),
    "AUTO as a level of quota": ("PUT", "/quotas", {**ROW, "priority": "AUTO"}, 400, "invalid", "priority"),
    "quota in no group": ("PUT", "/quotas", {**ROW, "group": "x"}, 400, "invalid", "group"),
    "a row that is not there": ("DELETE", "/quotas", {"subject": "user:x", "priority": "LOW"}, 404, "not_found", None),
    "a negative pause": ("POST", "/cluster/pause", {"grace_s": -1}, 400, "invalid", "grace_s"),
    "a node that is not there": ("POST", "/nodes/node-99/drain", None, 404, "not_found", None),
    "a task that is not there": ("POST", "/tasks/none/stop", None, 404, "not_found", None),
}  # fmt: skip


@pytest.mark.parametrize("what", BODIES)
async def test_a_bad_body_is_refused_by_name(world, what: str) -> None:
    method, path, body, status, code, field = BODIES[what]
    await world.submit("t", user="root")
    got, problem = await world.json(method, path, "admin", json=body)
    assert (got, problem["code"]) == (status, code), problem
    assert problem["status"] == status
    assert problem["detail"]
    if field is not None:
        assert field in [error["field"] for error in problem["errors"]], problem


QUERIES: dict[str, tuple[str, str]] = {
    # path: field
    "/tasks?state=waiting": "state",
    "/tasks?limit=0": "limit",
    "/tasks?limit=201": "limit",
    "/tasks?limit=x": "limit",
    "/tasks?limit=1&limit=2": "limit",
    "/tasks?cursor=abc": "cursor",
    "/tasks?cursor=99999999999999999999": "cursor",
    "/tasks?priority=TOP": "priority",
    "/tasks?nmae=x": "nmae",
    "/tasks?group=nope": "group",
    "/tasks?name=%ff": "name",
    "/tasks/t/events?after=-1": "after",
    "/tasks/t/events?after=99999999999999999999": "after",
    "/tasks/t/logs?rank=1": "rank",
    "/tasks/t/logs?rank=-1": "rank",
    "/tasks/t/logs?run=1": "run",
    "/tasks/t/logs?cursor=1": "cursor",
    "/tasks/t/logs?cursor=9:0": "cursor",
    "/tasks/t/logs?cursor=1:start&tail=5": "tail",
    "/tasks/t/logs?tail=100000": "tail",
    "/tasks/t/logs?follow=perhaps": "follow",
    "/tasks/t/logs?follow=1&cursor=x": "cursor",
    "/tasks/t/logs/search": "q",
    "/tasks/t/logs/search?q=": "q",
    "/events?after=-1": "after",
    "/health?x=1": "x",
}


@pytest.mark.parametrize("path", QUERIES)
async def test_a_bad_parameter_is_refused_by_name(world, path: str) -> None:
    await world.submit("t")
    status, problem = await world.json("GET", path)
    assert (status, problem["code"]) == (400, "invalid")
    assert [error["field"] for error in problem["errors"]] == [QUERIES[path]]


@pytest.mark.parametrize("ref", ["0", "99", "9" * 30, "nobody", "a%2Fb", "%2e%2e", "root%2Ft", "t%00"])
async def test_a_task_that_cannot_be_seen_is_not_found(world, ref: str) -> None:
    await world.submit("t", user="root")
    status, problem = await world.json("GET", f"/tasks/{ref}")
    assert (status, problem["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"name": "a",\n "command": [}', "line 2 column 14"),
        ("", None),
        ("nonsense", "line 1 column 2"),
        ("[" * 100_000, "recursion"),
        ('{"nodes": ' + "9" * 5000 + "}", "number out of range"),
        ('{"name": "\\ud800"}', "line 1"),
    ],
)
async def test_what_is_not_json_is_refused_with_its_place(world, text: str, where: str | None) -> None:
    json_type = {"Content-Type": "application/json"}
    status, problem = await world.json("POST", "/tasks", data=text, headers=json_type)
    assert (status, problem["code"]) == (400, "invalid")
    assert where is None or where in problem["detail"]


@pytest.mark.parametrize(
    ("path", "kind", "status"),
    [
        ("/tasks", "text/plain", 415),
        ("/tasks", "application/x-www-form-urlencoded", 415),
        ("/tasks", "application/json; charset=latin-1", 415),
        ("/tasks", "application/json; charset=UTF-8", 201),
        ("/tasks", "application/merge-patch+json", 201),
        ("/tasks/parse", "application/json", 415),
        ("/tasks/parse", "text/yaml", 400),
    ],
)
async def test_only_the_stated_kinds_of_body_are_read(world, path: str, kind: str, status: int) -> None:
    body = b'{"name": "t", "command": ["true"], "cwd": "/w"}'
    got, _ = await world.json("POST", path, data=body, headers={"Content-Type": kind})
    assert got == status


async def test_bytes_that_are_not_utf8_are_refused(world) -> None:
    headers = {"Content-Type": "application/json"}
    status, problem = await world.json("POST", "/tasks", data=b'{"name": "\xff"}', headers=headers)
    assert (status, problem["code"]) == (400, "invalid")
    assert "byte 11" in problem["detail"]


async def test_values_of_variables_are_not_repeated_in_errors(world) -> None:
    body = {**TASK, "env": {"TOKEN": ["hunter2"]}}
    async with world.ask("POST", "/tasks", json=body) as response:
        assert response.status == 400
        assert "hunter2" not in await response.text()


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 201])
async def test_a_bad_idempotency_key_is_refused(world, key: str) -> None:
    headers = {"Idempotency-Key": key}
    status, problem = await world.json("POST", "/tasks", json=TASK, headers=headers)
    assert (status, problem["errors"][0]["field"]) == (400, "Idempotency-Key")


async def test_an_admin_is_told_that_there_is_no_such_user(world) -> None:
    status, problem = await world.json("GET", "/tasks?user=nobody", "admin")
    assert (status, problem["errors"][0]["field"]) == (400, "user")


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("the state database does not answer: database or disk is full (/secret/place)", "disk is full"),
        ('could not extend file "/secret/place": No space left on device', "disk is full"),
        ("cannot execute INSERT in a read-only transaction (secret)", "takes no changes now"),
    ],
)
async def test_why_nothing_can_be_stored_is_said_and_nothing_of_the_insides(world, monkeypatch, cause, said) -> None:
    def refuse() -> None:
        raise Temporary(cause)

    monkeypatch.setattr(type(world.store), "write", lambda _: refuse())
    status, problem = await world.json("POST", "/tasks", json=TASK)
    assert (status, problem["code"]) == (503, "unavailable")
    assert said in problem["detail"]
    assert "secret" not in problem["detail"]


async def test_health_tells_when_the_cluster_cannot_be_seen(world) -> None:
    await world.loop_says(trouble="the API server of 10.0.0.1 does not answer", blind=True)
    _, health = await world.json("GET", "/health", None)
    assert (health["status"], "cannot be seen" in health["detail"]) == ("degraded", True)
    assert "10.0.0.1" not in health["detail"], "anyone may read this"


async def test_health_tells_when_what_is_wanted_does_not_go_through(world) -> None:
    await world.loop_says(trouble="run 1.1 cannot be started: No space left on device")
    _, health = await world.json("GET", "/health", None)
    assert health["status"] == "degraded"
    assert "space" not in health["detail"], "anyone may read this"
