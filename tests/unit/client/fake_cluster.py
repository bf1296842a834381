"""What the fake platform answers about nodes, quota, policy and itself."""

from __future__ import annotations

from typing import Any

from unit.client.fake_platform import API, AT, Call, FakePlatform, Refuse, Route, admins_only


def _node(platform: FakePlatform, name: str) -> dict[str, Any]:
    tasks = platform.on_nodes.get(name, [])
    only = tasks[0] if len(tasks) == 1 else {"task_id": None, "user": None}
    held = 8 if any(not task["gpus"] for task in tasks) else sum(len(task["gpus"]) for task in tasks)
    orphan = next((run for run, one in platform.orphans.items() if name in one["nodes"]), None)
    mark, reason = platform.marks.get(name, "none"), platform.closed.get(name)
    states = {
        "down": name == "node-3", "orphaned": orphan is not None, mark: mark != "none", "closed": reason is not None,
        "held": held == 8, "shared": held > 0, "free": True,
    }  # fmt: skip
    return {
        "name": name, "group": "training", "leaf": "leaf-1", "zone": "a", "gpus": 8, "ready": name != "node-3",
        "mark": mark, "task_id": only["task_id"], "user": only["user"],
        "gpus_free": 8 - held, "tasks": tasks,
        "orphan": orphan, "state": next(word for word, so in states.items() if so), "reason": reason,
        "network": platform.slow.get(name),
    }  # fmt: skip


def _nodes(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    return 200, {"items": [_node(platform, name) for name in platform.nodes]}


def _mark(platform: FakePlatform, call: Call, name: str, verb: str) -> tuple[int, Any]:
    admins_only(platform)
    if name not in ("node-1", "node-2", "node-3"):
        raise Refuse(404, "not_found", f"node: {name!r} is not a node; `hai nodes` lists them")
    platform.marks[name] = {"cordon": "cordoned", "drain": "draining", "uncordon": "none"}[verb]
    return 200, _node(platform, name)


def _quota(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    if call.method == "GET":
        return 200, {"items": platform.quotas}
    admins_only(platform)
    keys = ("subject", "group", "priority")
    platform.quotas = [row for row in platform.quotas if any(row[key] != call.body[key] for key in keys)]
    if call.method == "DELETE":
        return 204, None
    stranger = call.body["subject"] == "user:stranger"
    row = {**call.body, "expired": False, "warning": "HAI has never seen a user 'stranger'" if stranger else None}
    platform.quotas.append(row)
    return 200, row


def _erase(platform: FakePlatform, call: Call, user: str) -> tuple[int, Any]:
    admins_only(platform)
    if user != "alice":
        raise Refuse(404, "not_found", f"The ledger has nothing of a user {user!r}.")
    return 204, None


def _me(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    quota = [{"group": "training", "priority": "NORMAL", "limit": 10, "used": 2, "source": "public", "ceiling": 12}]
    quota.append({"group": "training", "priority": "HIGH", "limit": None, "used": 0, "source": "user:alice"})
    scopes = ["custom:hai:tasks:read", "custom:hai:tasks:write"]
    return 200, {
        "name": "alice", "kind": "user", "admin": False, "groups": ["ml"], "scopes": scopes, "quota": quota,
        **platform.who,
    }  # fmt: skip


def _pause(platform: FakePlatform, call: Call, verb: str) -> tuple[int, Any]:
    admins_only(platform)
    platform.paused = verb == "pause"
    return _cluster(platform, call)


def _cluster(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    level = {"priority": "NORMAL", "running_tasks": 1, "running_nodes": 1, "waiting_tasks": 2, "waiting_nodes": 3}
    group = {"group": "training", "nodes": 3, "held": 1, "free": 1, "unavailable": 1, "levels": [level]}
    group |= {"shared": 0, "gpus": 24, "gpus_free": 8}
    return 200, {"paused": platform.paused, "groups": [group], "standstill": platform.standstill}


def _own_quota(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    if call.body["limit"] > 12:
        raise Refuse(403, "forbidden", "limit: 13 is more than 12, the ceiling; set at most 12, or ask an admin")
    return 200, {**call.body, "used": 2, "source": "user:alice", "ceiling": 12, "expires_at": None}


def _policy(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    if call.method == "PUT":
        admins_only(platform)
        group = platform.policy.setdefault(call.body["group"], {})
        for name in call.body["unset"]:
            group.pop(name, None)
        group.update(call.body["set"])
    return 200, {
        "numbers": [
            _number(platform, "slice", "duration", "30m"),
            _number(platform, "min_run_per_switch", "float", 10.0),
            _number(platform, "weights", "weights", {}),
        ],
        "groups": ["a100", "training"],
        "trouble": None,
        "warnings": [f"weights: HAI has never seen a user {user!r}" for user in _strangers(platform)],
    }


def _strangers(platform: FakePlatform) -> list[str]:
    weights = platform.policy.get(None, {}).get("weights", {})
    return [user for user in weights if user not in platform.users]


def _number(platform: FakePlatform, name: str, kind: str, default: Any) -> dict[str, Any]:
    def value(*groups: str | None) -> dict[str, Any]:
        for group in groups:
            if name in platform.policy.get(group, {}):
                found = platform.policy[group][name]
                return {"value": found, "source": "admin", "group": group, "by": "root", "at": AT}
        return {"value": default, "source": "default", "group": None, "by": None, "at": None}

    groups = {group: value(group, None) for group in ("a100", "training")}
    return {
        "name": name, "kind": kind, "rule": "P2", "help": f"What {name} does.", "default": default,
        "common": value(None), "groups": groups,
    }  # fmt: skip


def _orphans(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    admins_only(platform)
    return 200, {"items": list(platform.orphans.values())}


def _end_orphan(platform: FakePlatform, call: Call, run: str) -> tuple[int, Any]:
    admins_only(platform)
    if run not in platform.orphans:
        raise Refuse(404, "not_found", f"There is no orphaned run {run!r}")
    platform.orphans[run]["ending"] = True
    return 200, platform.orphans[run]


def _use(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    items = [
        {
            "task_id": task["id"], "user": task["user"], "nodes": task["nodes"], "gpus": task["gpus"],
            "known": platform.admin or task["user"] == "alice", "name": task["name"], "state": task["state"],
            "priority": "NORMAL", "running_since": AT, "turn_left_s": 0.0, "deadline": task["deadline"],
            "progress": task["progress"], "use": task.get("use"),
        }
        for task in platform.tasks.values()
        if task["state"] == "running" and (call.query.get("mine") != "true" or task["user"] == "alice")
    ]  # fmt: skip
    return 200, {"items": items, "left_out": 0}


def _health(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    why = platform.standstill
    status = {"status": "ok" if why is None else "degraded", "detail": why, "deciding": why is None}
    return 200, {**status, "version": platform.versions["service"], "last_tick_s": 0.2}


def _versions(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    return 200, platform.versions


ROUTES: list[Route] = [
    ("GET", f"{API}/health", _health),
    ("GET", f"{API}/versions", _versions),
    ("GET", f"{API}/me", _me),
    ("PUT", f"{API}/me/quota", _own_quota),
    ("GET", f"{API}/policy", _policy),
    ("PUT", f"{API}/policy", _policy),
    ("GET", f"{API}/cluster", _cluster),
    ("GET", f"{API}/cluster/use", _use),
    ("POST", f"{API}/cluster/(pause|resume)", _pause),
    ("GET", f"{API}/nodes", _nodes),
    ("POST", f"{API}/nodes/([^/]+)/(cordon|uncordon|drain)", _mark),
    ("GET", f"{API}/orphans", _orphans),
    ("POST", f"{API}/orphans/([^/]+)/end", _end_orphan),
    ("GET", f"{API}/quotas", _quota),
    ("PUT", f"{API}/quotas", _quota),
    ("DELETE", f"{API}/quotas", _quota),
    ("DELETE", f"{API}/ledger/users/([^/]+)", _erase),
]
