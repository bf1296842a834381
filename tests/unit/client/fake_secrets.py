"""The fake platform's secrets: what was sent is kept, so that tests can compare it, and never answered."""

from __future__ import annotations

from typing import Any

from unit.client.fake_platform import API, AT, Call, FakePlatform, Refuse, Route, admins_only


def _list(platform: FakePlatform, _call: Call) -> tuple[int, Any]:
    return 200, {"items": [_shown(platform, name) for name in sorted(platform.secrets)]}


def _put(platform: FakePlatform, call: Call, name: str) -> tuple[int, Any]:
    platform.secrets.setdefault(name, []).append(call.body)
    return 200, _shown(platform, name)


def _shown(platform: FakePlatform, name: str) -> dict[str, Any]:
    values = platform.secrets[name]
    return {
        "name": name, "version": len(values), "text": "\0" not in values[-1], "redacted": len(values[-1]) >= 8,
        "set_at": AT, "used_at": None, "used_by": None,
    }  # fmt: skip


def _delete(platform: FakePlatform, _call: Call, name: str) -> tuple[int, Any]:
    if platform.secrets.pop(name, None) is None:
        raise Refuse(404, "not_found", f"You have no secret {name!r}.")
    return 204, None


def _reseal(platform: FakePlatform, _call: Call) -> tuple[int, Any]:
    admins_only(platform)
    return 200, {"resealed": 2, "already": 1, "lost": len(platform.lost_secrets), "lost_names": platform.lost_secrets}


ROUTES: tuple[Route, ...] = (
    ("GET", f"{API}/secrets", _list),
    ("PUT", f"{API}/secrets/([^/]+)", _put),
    ("DELETE", f"{API}/secrets/([^/]+)", _delete),
    ("POST", f"{API}/secrets/reseal", _reseal),
)
