"""What the fake Hub answers about users and tokens."""

from __future__ import annotations

from typing import Any

from unit.client.fake_platform import AT, HUB, TOKEN, Call, FakePlatform, Refuse, Route


def _hub_token(platform: FakePlatform, call: Call, name: str) -> tuple[int, Any]:
    auth = call.body.get("auth")
    if auth is None and call.headers.get("authorization") != f"Bearer {TOKEN}":
        raise Refuse(403, "hub", "Forbidden")
    if auth is not None and (auth["password"] != "right" or name not in platform.users):
        raise Refuse(403, "hub", "Forbidden")
    if auth is not None and not set(call.body["scopes"]) <= set(platform.held_scopes):
        raise Refuse(400, "hub", "Not assigning requested scopes")
    return 201, {"token": "made-" + name, "id": "a1", "scopes": call.body["scopes"], "note": call.body["note"]}


def _hub_add(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    if not platform.admin:
        raise Refuse(403, "hub", "Action is not authorized with current scopes")
    name = call.body["usernames"][0].lower()
    if "/" in name:
        raise Refuse(400, "hub", f"Invalid username: {name}")
    if name in platform.users:
        raise Refuse(409, "hub", "All 1 users already exist")
    platform.users[name] = call.body["admin"]
    return 201, [{"name": name, "admin": call.body["admin"], "groups": [], "last_activity": None, "kind": "user"}]


def _hub_password(platform: FakePlatform, call: Call, name: str) -> tuple[int, Any]:
    if not platform.passwords:
        raise Refuse(404, "hub", "users of this Hub sign in in another way")
    if not platform.admin:
        raise Refuse(403, "hub", "Action is not authorized with current scopes")
    if name not in platform.users:
        raise Refuse(404, "hub", f"no user {name}")
    return 201, {"name": name, "password": "made-for-" + name, "warning": "They share one account."}


def _hub_users(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    offset = int(call.query["offset"])
    everyone = [
        {"name": name, "admin": admin, "groups": [], "last_activity": AT} for name, admin in platform.users.items()
    ]
    following = {"offset": offset + 1, "limit": 1} if offset + 1 < len(everyone) else None
    return 200, {"items": everyone[offset : offset + 1], "_pagination": {"next": following}}


ROUTES: list[Route] = [
    ("POST", f"{HUB}/users/([^/]+)/tokens", _hub_token),
    ("POST", "/hub/hai/users/([^/]+)/password", _hub_password),
    ("POST", f"{HUB}/users", _hub_add),
    ("GET", f"{HUB}/users", _hub_users),
]
