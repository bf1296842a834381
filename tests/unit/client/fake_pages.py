"""What the fake platform answers about labels, many tasks, the queue, and what can be tried."""

from __future__ import annotations

import json
from typing import Any

from unit.client.fake_platform import API, AT, Call, FakePlatform, Refuse, Route, admins_only, find

LATER = "2026-11-21T05:30:00Z"


def _tags(platform: FakePlatform, call: Call, key: str) -> tuple[int, Any]:
    task = find(platform, key)
    task["tags"] = call.body["tags"]
    return 200, task


def _star(platform: FakePlatform, call: Call, key: str) -> tuple[int, Any]:
    task = find(platform, key)
    task["starred"] = call.method == "PUT"
    return 200, task


def _actions(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    items = []
    for ref in call.body["tasks"]:
        try:
            task = find(platform, ref)
            items.append({"task": ref, "task_id": task["id"], "state": "stopped", "held": False})
        except Refuse as refused:
            items.append({"task": ref, "code": "not_found", "detail": refused.document["detail"]})
    refused_ = sum("code" in item for item in items)
    return 200, {"items": items, "done": len(items) - refused_, "refused": refused_}


def _task(number: int, **more: Any) -> dict[str, Any]:
    names = {"task_id": number, "name": f"t{number}", "user": "bob", "priority": "HIGH", "nodes": 2, "gpus": None}
    return {**names, **more}


def _preview(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    admins_only(platform)
    drains = call.body["mark"] == "draining"
    leaves = _task(7, node_names=call.body["nodes"], away_by=LATER, ends=False)
    stays = {**leaves, "task_id": 8, "name": "t8", "goes_on_at": None, "goes_on_nodes": [], "ends": True}
    return 200, {
        "at": AT,
        "nodes": call.body["nodes"],
        "mark": call.body["mark"],
        "sentence": "2 tasks would be told to leave this node." if drains else "1 task would go on.",
        "displaced": [{**leaves, "goes_on_at": LATER, "goes_on_nodes": ["node-3", "node-4"]}, stays] if drains else [],
        "staying": [] if drains else [_task(7)],
        "moved": [_task(5, at=AT, beneficiary=7)] if drains else [],
        "later": [_task(9, without=AT, with_mark=None)],
        "later_left_out": 3,
        "empty_by": LATER if drains else None,
        "computed_until": LATER,
        "step_s": 1.0,
        "assumptions": [{"name": "submissions", "sentence": "Nobody submits anything."}],
    }


def _side(**more: Any) -> dict[str, Any]:
    level = {"level": "NORMAL", "tasks": 4, "wait_p50_s": 60.0, "wait_p90_s": 3600.0, "interruptions": 2}
    side = {"occupancy": 0.5, "useful": 0.25, "turns": 9, "interruptions": 5, "lost_node_s": 7200.0, "unfinished": 0}
    return {**side, "levels": [level], "groups": [], **more}


def _try(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    admins_only(platform)
    if "nosuch" in call.body["set"]:
        raise Refuse(400, "invalid", "set: there is no policy number 'nosuch'")
    trial = {
        "since": AT, "until": LATER, "tasks": 4, "assumptions": [{"name": "now", "sentence": "No node fails."}],
        "old": _side(), "new": _side(interruptions=1, occupancy=None),
        "measured": _side(lost_node_s=None, levels=[]),
    }  # fmt: skip
    messages = [("progress", {"done": 0.5}), ("result", trial), ("end", {})]
    if "broken" in call.body["set"]:
        problem = {"status": 413, "code": "too_large", "detail": "To simulate 9 tasks takes too long: give fewer days."}
        messages = [("progress", {"done": 0.5}), ("problem", problem)]
    if "cut" in call.body["set"]:
        messages = messages[:1]
    return 200, "".join(f"event: {event}\ndata: {json.dumps(data)}\n\n" for event, data in messages)


ROUTES: tuple[Route, ...] = (
    ("PUT", rf"{API}/tasks/([^/]+)/tags", _tags),
    ("PUT", rf"{API}/tasks/([^/]+)/star", _star),
    ("DELETE", rf"{API}/tasks/([^/]+)/star", _star),
    ("POST", f"{API}/tasks/actions", _actions),
    ("POST", f"{API}/nodes/preview", _preview),
    ("POST", f"{API}/policy/try", _try),
)
