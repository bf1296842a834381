"""What the fake platform answers about mount rules, fabrics and environments."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from unit.client.fake_platform import API, Call, FakePlatform, Refuse, Route, admins_only


def _mounts(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    admins_only(platform)
    return 200, {"items": list(platform.mounts.values())}


def _mount(platform: FakePlatform, call: Call, name: str) -> tuple[int, Any]:
    admins_only(platform)
    name = unquote(name)
    if call.method == "DELETE":
        platform.mounts.pop(name, None)
        return 204, None
    if call.body["mount_path"].startswith("/etc"):
        error = {"field": "mount_path", "value": "/etc", "message": "nothing may be mounted in /etc"}
        raise Refuse(400, "invalid", "mount_path: nothing may be mounted in /etc", (error,))
    warnings = ["HAI has never seen a user 'stranger'"] if call.body["subject"] == "user:stranger" else []
    platform.mounts[name] = {**call.body, "name": name, "warnings": []}
    return 200, {**platform.mounts[name], "warnings": warnings}


def _environments(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    found = list(platform.environments.values())
    if call.query.get("all") == "true":
        admins_only(platform)
        kind = call.query.get("kind")
        return 200, {"items": [one for one in found if kind in (None, one.get("kind", "image"))]}
    return 200, {"items": [one for one in found if "public" in one["subjects"]], "root": platform.haienv_root}


def _fabrics(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    admins_only(platform)
    user, group = call.query.get("user"), call.query.get("group")
    if user is None:
        return 200, {"items": list(platform.fabrics.values())}
    mine = [one for (of, subject), one in platform.fabrics.items() if of == group and subject == f"user:{user}"]
    if not mine:
        raise Refuse(404, "not_found", f"user: {user!r} has no fabric in {group}")
    return 200, {"items": mine}


def _fabric(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    admins_only(platform)
    key = call.body["group"], call.body["subject"]
    if call.method == "DELETE":
        if platform.fabrics.pop(key, None) is None:
            raise Refuse(404, "not_found", "There is no fabric")
        return 204, None
    warnings = _tried(call.body)
    platform.fabrics[key] = call.body
    return 200, {**call.body, "warnings": warnings}


def _try_fabric(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    admins_only(platform)
    return 200, {"warnings": _tried(call.body)}


def _tried(body: Any) -> list[str]:
    if "rdma/none" in body["resources"]:
        error = {"field": "resources.rdma/none", "value": 1, "message": "no node of training has as many"}
        raise Refuse(400, "invalid", "resources.rdma/none: no node of training has as many", (error,))
    return ["resources: 1 of 4 nodes have fewer"] if body["resources"] else []


def _rules(platform: FakePlatform, _call: Call) -> tuple[int, Any]:
    most = {"max_files": 1, "max_bytes": 1, "max_file_bytes": 1}
    return 200, {"mode": "off", "machine": platform.machine, **most}


def _environment(platform: FakePlatform, call: Call, name: str) -> tuple[int, Any]:
    admins_only(platform)
    if call.method == "DELETE":
        platform.environments.pop(name, None)
        return 204, None
    platform.environments[name] = {**call.body, "name": name, "chosen": call.body["default"], "warnings": []}
    return 200, platform.environments[name]


def _container_config(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    admins_only(platform)
    mounts = [
        {"rule": rule["name"], "kind": rule["kind"], "source": rule["source"],
         "sub_path": "x" * (rule["kind"] == "pvc"), "read_only": rule["read_only"],
         "mount_path": rule["mount_path"].replace("{user}", call.query["user"])}
        for rule in platform.mounts.values()
    ]  # fmt: skip
    left_out = [{"rule": "weak", "mount_path": "/d", "why": "rule 'd' of public is stronger"}] if mounts else []
    return 200, {
        "user": call.query["user"], "groups": ["ml"], "node_group": call.query.get("node_group", "jupyter"),
        "mounts": mounts, "left_out": left_out, "environments": [], "warnings": [],
    }  # fmt: skip


def _one(platform: FakePlatform, _call: Call, name: str) -> tuple[int, Any]:
    found = platform.environments.get(unquote(name))
    if found is None:
        raise Refuse(404, "not_found", f"There is no environment {unquote(name)!r} that you may use")
    return 200, found


def _build(platform: FakePlatform, call: Call, name: str) -> tuple[int, Any]:
    return 201, platform.add(f"{call.body['verb']}-{unquote(name).rpartition('/')[2]}")


ROUTES: list[Route] = [
    ("GET", f"{API}/mounts", _mounts),
    ("PUT", f"{API}/mounts/([^/]+)", _mount),
    ("DELETE", f"{API}/mounts/([^/]+)", _mount),
    ("GET", f"{API}/fabrics", _fabrics),
    ("PUT", f"{API}/fabrics", _fabric),
    ("DELETE", f"{API}/fabrics", _fabric),
    ("POST", f"{API}/fabrics/trial", _try_fabric),
    ("GET", f"{API}/snapshots/rules", _rules),
    ("GET", f"{API}/environments", _environments),
    ("GET", f"{API}/environments/([^/]+)", _one),
    ("POST", f"{API}/environments/([^/]+)/builds", _build),
    ("PUT", f"{API}/environments/([^/]+)", _environment),
    ("DELETE", f"{API}/environments/([^/]+)", _environment),
    ("GET", f"{API}/container-config", _container_config),
]
