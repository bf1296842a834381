"""What the fake platform answers about notifications."""

from __future__ import annotations

from typing import Any

from unit.client.fake_platform import API, AT, Call, FakePlatform, Refuse, Route

KINDS = ("started", "resumed", "interrupted", "ended", "failed", "waiting", "gpus_idle", "environment_built")


def _rules(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    kept = platform.notification_rules
    made = None
    if call.method == "PUT":
        for rule in call.body["rules"]:
            if rule["kind"] not in KINDS:
                raise Refuse(400, "invalid", f"rules: {rule['kind']!r} is no kind of notification: choose among ...")
            kept["rules"][rule["kind"]] = sorted(rule["channels"])
        if call.body["webhook"] and (call.body["new_secret"] or not kept["webhook"]):
            made = "whsec_bmV3"
        kept |= {name: call.body[name] for name in ("waits_longer_s", "mail", "webhook")}
    channels = [
        {"name": "lab", "missing": None, "error": None, "error_at": None},
        {"name": "mail", "missing": None if kept["mail"] else "Give a mail address.",
         "error": platform.mail_trouble, "error_at": AT if platform.mail_trouble else None},
        {"name": "sink:ops", "missing": None, "error": None, "error_at": None},
    ]  # fmt: skip
    rules = [{"kind": kind, "channels": kept["rules"].get(kind, [])} for kind in KINDS]
    return 200, {**kept, "rules": rules, "webhook_secret": made, "channels": channels}


def _test(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    number = 1 + max((one["id"] for one in platform.notifications), default=0)
    one = {
        "id": number, "kind": "test", "at": AT, "task_id": None, "sentence": "test", "params": {"user": "alice"},
        "text": "This is a test of notifications, asked for by alice.", "lines": [], "read": False, "deliveries": [],
    }  # fmt: skip
    platform.notifications.insert(0, {**one, "deliveries": platform.test_deliveries})
    return 202, one


def _page(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    before, limit = int(call.query.get("before", 10**9)), int(call.query.get("limit", 50))
    unread = [one for one in platform.notifications if not one["read"]]
    some = unread if call.query.get("unread") == "true" else platform.notifications
    items = [one for one in some if one["id"] < before][:limit]
    return 200, {"items": items, "unread": len(unread), "next_before": None}


def _read(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    marked = [one for one in platform.notifications if one["id"] <= call.body["up_to"] and not one["read"]]
    for one in marked:
        one["read"] = True
    return 200, {"marked": len(marked)}


ROUTES: tuple[Route, ...] = (
    ("GET", f"{API}/me/notifications", _rules),
    ("PUT", f"{API}/me/notifications", _rules),
    ("POST", f"{API}/me/notifications/test", _test),
    ("GET", f"{API}/notifications", _page),
    ("POST", f"{API}/notifications/read", _read),
)
