"""Mount rules, environments and what containers get of them over HTTP."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

RULE: dict[str, Any] = {"subject": "public", "kind": "host_path", "source": "/src", "mount_path": "/data"}
TORCH: dict[str, Any] = {"image": "quay.io/ml/torch:2", "subjects": ["public"]}
TASK = {"name": "t", "command": ["true"], "cwd": "/w"}


async def test_an_admin_writes_lists_and_removes_rules(world) -> None:
    await world.json("GET", "/me")
    async with world.stream("/events", "admin") as feed:
        assert (await anext(feed))[0] == "hello"
        status, rule = await world.json("PUT", "/mounts/data", "admin", json={**RULE, "mount_path": "//data/"})
        kind, _, event = await anext(feed)
    expected = {
        **RULE,
        "name": "data",
        "action": "add",
        "read_only": True,
        "priority": 0,
        "node_group": None,
        "description": "",
        "version": rule["version"],
        "warnings": [],
    }
    assert (status, rule) == (200, expected)
    assert (kind, event["actor"], event["data"]["mount_path"]) == ("mount.put", "root", "/data")
    away = {"subject": "group:ml", "action": "remove", "mount_path": "/data"}
    assert (await world.json("PUT", "/mounts/none-for-ml", "admin", json=away))[1]["kind"] is None
    items = (await world.json("GET", "/mounts", "admin"))[1]["items"]
    assert [one["name"] for one in items] == ["data", "none-for-ml"]
    assert await world.json("DELETE", "/mounts/data", "admin") == (204, None)
    assert (await world.json("DELETE", "/mounts/data", "admin"))[0] == 404


async def test_an_admin_writes_environments_and_users_see_theirs(world) -> None:
    body = {
        **TORCH, "python": "/opt/bin/python", "variables": {"A": "{user}"}, "description": "d", "default": True,
        "machine": "x86_64", "glibc": "2.31",
    }  # fmt: skip
    status, one = await world.json("PUT", "/environments/torch", "admin", json=body)
    image = {"kind": "image", "name": "torch", "full_name": "images/torch", "haienv": None}
    assert (status, one) == (200, {**body, **image, "chosen": True, "version": one["version"], "warnings": []})
    status, problem = await world.json("PUT", "/environments/torch", "admin", json={**body, "glibc": "new"})
    assert (status, problem["errors"][0]["field"]) == (400, "glibc"), problem
    status, other = await world.json("PUT", "/environments/bobs", "admin", json={**TORCH, "subjects": ["user:bob"]})
    assert (status, other["machine"], other["glibc"]) == (200, "", "")
    mine = (await world.json("GET", "/environments"))[1]["items"]
    assert [(item["name"], item["chosen"]) for item in mine] == [("torch", True)]
    assert [item["name"] for item in (await world.json("GET", "/environments", "bob"))[1]["items"]] == ["bobs", "torch"]
    every = (await world.json("GET", "/environments?all=true", "admin"))[1]["items"]
    assert [item["name"] for item in every] == ["bobs", "torch"]
    assert (await world.json("GET", "/environments?all=true"))[0] == 403
    assert await world.json("DELETE", "/environments/bobs", "admin") == (204, None)
    assert (await world.json("DELETE", "/environments/bobs", "admin"))[0] == 404


async def test_a_task_names_its_environment(world) -> None:
    await world.json("PUT", "/environments/torch", "admin", json=TORCH)
    status, task = await world.json("POST", "/tasks", json={**TASK, "environment": "torch"})
    assert (status, task["environment"]) == (201, "torch")
    assert (await world.json("POST", "/tasks", json={**TASK, "name": "u"}))[1]["environment"] is None
    for path, body in (
        ("/tasks", {**TASK, "environment": "jax"}),
        ("/forecast", {"submit": {**TASK, "environment": "jax"}}),
    ):
        status, problem = await world.json("POST", path, json=body)
        assert (status, problem["errors"][0]["field"]) == (400, "environment")
        assert problem["errors"][0]["value"] == "jax"
        assert "there is no 'jax'" in problem["detail"]
        assert "images that you may use: images/torch" in problem["detail"]


async def test_a_container_gets_its_mounts_and_environments(world) -> None:
    await world.json("GET", "/me")
    home = {**RULE, "mount_path": "/home/{user}", "source": "homes/{user}", "kind": "pvc", "read_only": False}
    await world.json("PUT", "/mounts/home", "admin", json=home)
    await world.json("PUT", "/mounts/data", "admin", json={**RULE, "subject": "group:ml"})
    await world.json("PUT", "/mounts/weak", "admin", json={**RULE, "priority": 9})
    await world.json("PUT", "/environments/torch", "admin", json={**TORCH, "variables": {"A": "{user}", "T": "{task}"}})
    status, config = await world.json("GET", "/container-config?user=alice", "admin")
    home_of = {"rule": "home", "kind": "pvc", "source": "homes", "sub_path": "alice", "mount_path": "/home/alice"}
    data = {"rule": "data", "kind": "host_path", "source": "/src", "sub_path": "", "mount_path": "/data"}
    torch = {"name": "torch", "description": "", "image": TORCH["image"], "python": None}
    assert (status, config) == (
        200,
        {
            "user": "alice",
            "groups": ["ml"],
            "identity": None,
            "node_group": "jupyter",
            "mounts": [{**data, "read_only": True}, {**home_of, "read_only": False}],
            "left_out": [{"rule": "weak", "mount_path": "/data", "why": "rule 'data' of group:ml is stronger"}],
            "environments": [{**torch, "variables": {"A": "alice"}, "default": False}],
            "warnings": [],
            "haienvs": None,
        },
    )
    path = f"/container-config?user=alice&groups={quote(json.dumps(['nlp', 'a,b']))}&node_group=training"
    config = (await world.json("GET", path, "admin"))[1]
    assert (config["groups"], config["node_group"]) == (["a,b", "nlp"], "training")
    assert [mount["rule"] for mount in config["mounts"]] == ["weak", "home"]


@pytest.mark.parametrize(
    ("scopes", "status"),
    [
        (["custom:hai:containers"], 200),
        (["custom:hai:admin"], 200),
        (["custom:hai:tasks:write"], 403),
        (["custom:hai:containers!user=spawner"], 403),
    ],
    ids=["containers", "admin", "write", "filtered"],
)
async def test_container_configs_are_for_spawners_and_admins(world, scopes: list[str], status: int) -> None:
    access = "access:services!service=hai"
    for kind in ("service", "user"):
        world.hub.tokens[f"{kind}s-token"] = {
            "name": "spawner",
            "kind": kind,
            "groups": [],
            "scopes": [access, *scopes],
        }
        assert (await world.json("GET", "/container-config?user=alice", f"{kind}s"))[0] == status


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/mounts"),
        ("PUT", "/mounts/x"),
        ("DELETE", "/mounts/x"),
        ("PUT", "/environments/x"),
        ("DELETE", "/environments/x"),
    ],
)
async def test_the_rest_is_for_admins(world, method: str, path: str) -> None:
    body = {"json": RULE if "mounts" in path else TORCH} if method == "PUT" else {}
    assert (await world.json(method, path, **body))[0] == 403


WRONG: dict[str, tuple[str, str, Any, str]] = {
    # what is wrong: method, path, body, field
    "a rule's name": ("PUT", "/mounts/a%20b", RULE, "name"),
    "a name of dots": ("PUT", "/mounts/..x", RULE, "name"),
    "no subject": ("PUT", "/mounts/x", {**RULE, "subject": "ml"}, "subject"),
    "a path above": ("PUT", "/mounts/x", {**RULE, "mount_path": "/data/../etc"}, "mount_path"),
    "the system's folder": ("PUT", "/mounts/x", {**RULE, "mount_path": "/etc/ssl"}, "mount_path"),
    "everything": ("PUT", "/mounts/x", {**RULE, "mount_path": "/"}, "mount_path"),
    "an attribute": ("PUT", "/mounts/x", {**RULE, "mount_path": "/d/{user.name}"}, "mount_path"),
    "no path": ("PUT", "/mounts/x", {key: RULE[key] for key in ("subject", "kind", "source")}, "mount_path"),
    "no kind": ("PUT", "/mounts/x", {**RULE, "kind": None}, "kind"),
    "an unknown kind": ("PUT", "/mounts/x", {**RULE, "kind": "socket"}, "kind"),
    "an unknown action": ("PUT", "/mounts/x", {**RULE, "action": "hide"}, "action"),
    "half a priority": ("PUT", "/mounts/x", {**RULE, "priority": 0.5}, "priority"),
    "a high priority": ("PUT", "/mounts/x", {**RULE, "priority": 10**9}, "priority"),
    "an unknown key": ("PUT", "/mounts/x", {**RULE, "condition": "1"}, "condition"),
    "a NUL": ("PUT", "/mounts/x", {**RULE, "source": "/a\0"}, "source"),
    "an image": ("PUT", "/environments/x", {**TORCH, "image": "Torch latest"}, "image"),
    "a relative Python": ("PUT", "/environments/x", {**TORCH, "python": "python3"}, "python"),
    "a platform's variable": ("PUT", "/environments/x", {**TORCH, "variables": {"RANK": "1"}}, "variables.RANK"),
    "a variable's name": ("PUT", "/environments/x", {**TORCH, "variables": {"a-b": "1"}}, "variables"),
    "a variable's field": ("PUT", "/environments/x", {**TORCH, "variables": {"A": "{home}"}}, "variables.A"),
    "a variable's NUL": ("PUT", "/environments/x", {**TORCH, "variables": {"A": "\0"}}, "variables"),
    "a number": ("PUT", "/environments/x", {**TORCH, "variables": {"A": 1}}, "variables.A"),
    "an empty list of subjects": ("PUT", "/environments/x", {**TORCH, "subjects": []}, "subjects"),
    "an odd subject": ("PUT", "/environments/x", {**TORCH, "subjects": ["total:ml"]}, "subjects"),
    "no user": ("GET", "/container-config", None, "user"),
    "an empty user": ("GET", "/container-config?user=", None, "user"),
    "groups that are no JSON": ("GET", "/container-config?user=a&groups=ml,nlp", None, "groups"),
    "groups that are no list": ("GET", "/container-config?user=a&groups=%22ml%22", None, "groups"),
    "a group that is no text": ("GET", "/container-config?user=a&groups=%5B1%5D", None, "groups[0]"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_what_is_wrong_is_refused_by_name_and_nothing_is_stored(world, what: str) -> None:
    method, path, body, field = WRONG[what]
    status, problem = await world.json(method, path, "admin", **({} if body is None else {"json": body}))
    assert (status, problem["code"]) == (400, "invalid"), problem
    assert field in [error["field"] for error in problem["errors"]], problem
    async with world.store.read() as tx:
        assert (list(await tx.mount_rules.all()), list(await tx.environments.all())) == ([], [])


async def test_what_variables_hold_is_not_repeated_in_an_error(world) -> None:
    body = {**TORCH, "variables": {"TOKEN": "hunter2 {"}}
    problem = (await world.json("PUT", "/environments/x", "admin", json=body))[1]
    assert "hunter2" not in json.dumps(problem)
    body = {**TORCH, "variables": {"TOKEN": ["hunter2"]}}
    problem = (await world.json("PUT", "/environments/x", "admin", json=body))[1]
    assert "hunter2" not in json.dumps(problem)


async def test_a_user_whose_name_fits_no_path_is_told_the_rule(world) -> None:
    await world.json("PUT", "/mounts/home", "admin", json={**RULE, "mount_path": "/home/{user}"})
    status, problem = await world.json("GET", "/container-config?user=..%2Fbob", "admin")
    assert (status, problem["errors"][0]["field"]) == (400, "user")
    assert "mount rule 'home': mount_path: the user name '../bob' cannot be part of a path" in problem["detail"]
