"""What the fake Hub answers about users and tokens."""

from __future__ import annotations

from typing import Any

from unit.client.fake_platform import AT, END, HUB, TOKEN, Call, FakePlatform, Refuse, Route


def _hub_token(platform: FakePlatform, call: Call, name: str) -> tuple[int, Any]:
    auth = call.body.get("auth")
    if auth is None and call.headers.get("authorization") != f"Bearer {TOKEN}":
        raise Refuse(403, "hub", "Forbidden")
    if auth is not None and (auth["password"] != "right" or name not in platform.users):
        raise Refuse(403, "hub", "Forbidden")
    if auth is not None and not set(call.body["scopes"]) <= set(platform.held_scopes):
        raise Refuse(400, "hub", "Not assigning requested scopes")
    lasts_s = call.body.get("expires_in")
    if lasts_s and platform.longest_s and lasts_s > platform.longest_s:
        raise Refuse(400, "hub", f"token expires_in: {lasts_s} must not exceed {platform.longest_s}")
    made = {"token": "made-" + name, "id": "a1", "scopes": call.body["scopes"], "note": call.body["note"]}
    # JupyterHub's answer to a name and password; where none is asked for, the longest is given.
    return 201, made | ({"expires_at": END} if platform.longest_s else {})


def _begin(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    if not platform.by_browser:
        raise Refuse(403, "page", "<html>")
    return 200, {
        "device_code": "the-secret",
        "user_code": "WXZB-QRST",
        "verification_uri": "http://elsewhere.example/hub/hai/device",
        "public_uri": platform.public_uri,
        "expires_in": 600,
        "interval": 5,
    }


def _knows_no_get(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    raise Refuse(405, "hub", "Method Not Allowed") if platform.by_browser else Refuse(404, "page", "<html>")


def _poll(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    told = platform.answers.pop(0) if platform.answers else "authorization_pending"
    if told == "yes":
        platform.tokens["given-alice"] = END
        return 200, {"access_token": "given-alice", "user": "alice", "expires_at": END, "scope": "a b"}
    if told.isdigit():
        raise Refuse(int(told), "page", "<html>")
    raise Refuse(400, told, f"said {told}")


def _own(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    text = call.headers.get("authorization", "").partition(" ")[2]
    if text not in platform.tokens:
        raise Refuse(401, "hub", "the Hub does not know this token")
    if call.method == "DELETE":
        del platform.tokens[text]
        return 204, None
    return 200, {"user": "alice", "expires_at": platform.tokens[text]}


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
    ("GET", f"{HUB}/", lambda _platform, _call: (200, {"version": "5.4.0"})),
    ("POST", "/hub/hai/device/code", _begin),
    ("GET", "/hub/hai/device/code", _knows_no_get),
    ("POST", "/hub/hai/device/token", _poll),
    ("GET", "/hub/hai/token", _own),
    ("DELETE", "/hub/hai/token", _own),
    ("POST", f"{HUB}/users/([^/]+)/tokens", _hub_token),
    ("POST", "/hub/hai/users/([^/]+)/password", _hub_password),
    ("POST", f"{HUB}/users", _hub_add),
    ("GET", f"{HUB}/users", _hub_users),
]
