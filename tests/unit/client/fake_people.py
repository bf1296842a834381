"""What the fake platform answers about users, the audit and its health."""

from __future__ import annotations

from typing import Any

from unit.client.fake_platform import API, AT, Call, FakePlatform, Refuse, Route, admins_only

_PAGE = 2


def _user(platform: FakePlatform, name: str) -> dict[str, Any]:
    return {
        "name": name, "groups": ["ml"], "admin": platform.users[name], "archived": platform.archived.get(name),
        "seen_at": AT, "running_tasks": 1, "running_nodes": 2, "waiting_tasks": 3, "waiting_nodes": 4,
        "levels": [
            {"priority": "HIGH", "running_tasks": 1, "running_nodes": 2, "waiting_tasks": 3, "waiting_nodes": 4}
        ],
        "quota": [
            {"group": "training", "priority": "HIGH", "limit": 8, "used": 2.0, "source": f"user:{name}",
             "ceiling": 16, "expires_at": None, "own_limit": 8, "own_version": "0123456789abcdef"}
        ],
    }  # fmt: skip


def _users(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    admins_only(platform)
    wanted = call.query.get("archived")
    names = [name for name in sorted(platform.users) if wanted in (None, str(name in platform.archived).lower())]
    start = int(call.query.get("cursor", 0))
    rest = len(names) > start + _PAGE
    items = [_user(platform, name) for name in names[start : start + _PAGE]]
    return 200, {"items": items, "total": len(names), "next_cursor": str(start + _PAGE) if rest else None}


def _one(platform: FakePlatform, call: Call, name: str) -> tuple[int, Any]:
    admins_only(platform)
    if name not in platform.users:
        raise Refuse(404, "not_found", f"HAI has never seen a user {name!r}")
    return 200, {**_user(platform, name), "rows": [], "audit": platform.audit}


def _archive(platform: FakePlatform, call: Call, name: str) -> tuple[int, Any]:
    admins_only(platform)
    platform.archived[name] = {"at": AT, "by": "root", "note": call.body["note"]}
    return 200, {**platform.archived[name], "name": name, "stopped": 2}


def _restore(platform: FakePlatform, call: Call, name: str) -> tuple[int, Any]:
    admins_only(platform)
    if platform.archived.pop(name, None) is None:
        raise Refuse(404, "not_found", f"The user {name!r} is not archived")
    return 204, None


def _audit(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    admins_only(platform)
    return 200, {"items": platform.audit[: int(call.query["limit"])], "next_cursor": None}


def _health(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    admins_only(platform)
    alarm = {
        "name": "HaiNodesLost", "severity": "warning", "summary": "Nodes do not answer",
        "detail": "Nodes of group training: 1; their tasks go on elsewhere.", "group": "training", "count": 1,
        "runbook": "runbooks/HaiNodesLost.md",
    }  # fmt: skip
    return 200, {
        "status": "degraded",
        "scheduler": {
            "deciding": True, "detail": "A node is lost.", "paused": platform.paused, "leader": "m:1",
            "lease_until": AT, "last_tick": AT, "last_tick_s": 1.0, "ticks": 7, "tick_p50_s": 0.01, "tick_p95_s": 0.2,
        },
        "database": {"reachable": True, "kind": "sqlite", "answer_s": 0.002, "size": 5_000_000, "revision": "0023"},
        "cluster": {"reachable": False, "answer_s": None, "nodes": {"free": 2, "lost": 1}},
        "versions": {"service": "0.1.0", "lab": None},
        "alarms": [alarm],
    }  # fmt: skip


ROUTES: tuple[Route, ...] = (
    ("GET", f"{API}/users", _users),
    ("GET", f"{API}/users/([^/]+)", _one),
    ("POST", f"{API}/users/([^/]+)/archive", _archive),
    ("POST", f"{API}/users/([^/]+)/restore", _restore),
    ("GET", f"{API}/audit", _audit),
    ("GET", f"{API}/health/details", _health),
)
