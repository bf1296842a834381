"""What the fake platform answers about tasks, their logs and their future."""

from __future__ import annotations

import re
from typing import Any

from unit.client.fake_platform import API, AT, Call, FakePlatform, Refuse, Route, find


def _submit(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    key = call.headers.get("idempotency-key", "")
    if key in platform.keys:
        return 201, platform.tasks[platform.keys[key]]
    if call.body["nodes"] > 64:
        raise Refuse(422, "quota", f"nodes: {call.body['nodes']} is more than your cap of 64; ask for fewer")
    task = platform.add(call.body["name"])
    task.update({name: value for name, value in call.body.items() if name != "hold"})
    task["held"] = call.body.get("hold", False)
    platform.keys[key] = task["id"]
    platform.logs[task["id"]] = ["one", "two", "three"]
    return 201, task


def _parse(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    if "workspace" not in call.body:
        raise Refuse(400, "invalid", "spec.workspace: missing; name the folder to start in")
    workspace = re.search(r"workspace: (\S+)", call.body)
    assert workspace is not None
    return 200, {"name": "digits", "command": ["python", "train.py"], "cwd": workspace[1], "nodes": 1}


def _list(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    found = list(reversed(platform.tasks.values()))
    states = call.query.get("state")
    ended = ("succeeded", "failed", "stopped")
    if states == "live":
        found = [task for task in found if task["state"] not in ended]
    elif states:
        found = [task for task in found if task["state"] in states.split(",")]
    if "name" in call.query:
        # Any part of a name, in any case, as the service does.
        found = [task for task in found if call.query["name"].lower() in task["name"].lower()]
    start, limit = int(call.query.get("cursor", "0")), int(call.query.get("limit", "50"))
    following = str(start + limit) if len(found) > start + limit else None
    return 200, {
        "items": found[start : start + limit],
        "next_cursor": following,
        "notes": [] if start else platform.notes,
    }


def _act(platform: FakePlatform, call: Call, key: str, verb: str) -> tuple[int, Any]:
    task = find(platform, key)
    if task["state"] in ("succeeded", "failed", "stopped"):
        raise Refuse(409, "conflict", f"task {task['id']} has ended; submit it again")
    if verb == "stop":
        task.update(state="stopped", verdict=None, message="it was stopped by hand")
    else:
        task["held"] = verb in ("hold", "suspend")
    return 200, task


def _change(platform: FakePlatform, call: Call, key: str, what: str) -> tuple[int, Any]:
    task = find(platform, key)
    if what == "priority":
        task["priority"] = task["effective_priority"] = call.body["priority"]
    return 200, task


def _part(platform: FakePlatform, call: Call, key: str, what: str) -> tuple[int, Any]:
    task = find(platform, key)
    if what == "runs":
        return 200, {"items": task["runs"]}
    if what == "events":
        return 200, {"items": platform.events}
    if what == "decisions":
        after, limit = int(call.query.get("after", "0")), int(call.query.get("limit", "200"))
        return 200, {"items": [one for one in platform.decisions if one["seq"] > after][:limit]}
    verdict = task["verdict"]
    sentence = verdict["sentence"] if verdict else task["message"]
    change = {
        "kind": "PRIORITY", "sentence": "At HIGH it would start now.", "priority": "HIGH", "nodes": None,
        "gpus": None, "limit": None, "subject": None, "starts_now": True, "starts_by": None, "suspends": [],
    }  # fmt: skip
    return 200, {
        "task_id": task["id"], "state": task["state"], "sentence": sentence, "verdict": verdict,
        "ahead": verdict["position"] - 1 if verdict else None, "what_if": [change] if verdict else [],
    }  # fmt: skip


def _forecast(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    hypothetical = "submit" in call.body
    if hypothetical and call.body["submit"]["nodes"] > 64:
        raise Refuse(422, "quota", "nodes: more than your cap of 64; ask for fewer")
    task = None if hypothetical else find(platform, call.body["task"])
    cost = {
        "task_id": 7, "name": "", "user": "bob", "priority": "NORMAL", "nodes": 2, "gpus": None, "at": AT,
        "unsaved_s": 600.0, "switch_s": 90.0,
    }  # fmt: skip
    return 200, {
        "task_id": task["id"] if task else None, "outcome": "later", "at": AT, "starts_at": "2026-11-21T04:20:00Z",
        "sentence": "It would start at 04:20:00 UTC, in 20 min, on node-1, after task 7 of bob made room.",
        "starts_in_s": 1200.0, "nodes": ["node-1"], "gpus": [], "suspends": [cost], "cost_s": 690.0,
        "verdict": task["verdict"] if task else None,
        "assumptions": [{"name": "lengths", "sentence": "How long the tasks run: 2 unknown.", "tasks": {"unknown": 2}}],
        "horizon_s": 604800.0, "computed_until": "2026-11-21T04:20:00Z", "plans": 5,
    }  # fmt: skip


def line(text: str, rank: int = 0, at: int = 0) -> dict[str, Any]:
    own = text.startswith("[hai]")
    return {
        "run": 1,
        "rank": None if own else rank,
        "at": f"{AT[:-1]}.{at:06d}Z",
        "text": text,
        "cursor": f"1:{at + 1}",
    }


def _log_page(platform: FakePlatform, call: Call, key: str) -> tuple[int, Any]:
    task = find(platform, key)
    lines = platform.logs.get(task["id"], [])
    start = int(call.query.get("cursor", "1:0").split(":")[1])
    end = min(len(lines), start + int(call.query.get("limit", "1000")))
    if "tail" in call.query:
        start, end = max(0, len(lines) - int(call.query["tail"])), len(lines)
    final = task["state"] in ("succeeded", "failed") and end == len(lines)
    rank = int(call.query.get("rank", "0"))
    shown = [line(text, rank, at) for at, text in enumerate(lines[start:end], start)]
    return 200, {"lines": shown, "next_cursor": f"1:{end}", "final": final}


def _search(platform: FakePlatform, call: Call, key: str) -> tuple[int, Any]:
    lines = [text for text in platform.logs[find(platform, key)["id"]] if call.query["q"] in text]
    counts = [{"run": 1, "rank": 0, "hits": len(lines)}] if lines else []
    return 200, {"counts": counts, "lines": [line(text) for text in lines]}


ROUTES: list[Route] = [
    ("POST", f"{API}/tasks", _submit),
    ("POST", f"{API}/tasks/parse", _parse),
    ("GET", f"{API}/tasks", _list),
    ("GET", f"{API}/tasks/([^/]+)", lambda platform, call, key: (200, find(platform, key))),
    ("POST", f"{API}/tasks/([^/]+)/(stop|suspend|resume|hold)", _act),
    ("PUT", f"{API}/tasks/([^/]+)/(priority|order)", _change),
    ("GET", f"{API}/tasks/([^/]+)/(runs|explain|events|decisions)", _part),
    ("POST", f"{API}/forecast", _forecast),
    ("GET", f"{API}/tasks/([^/]+)/logs", _log_page),
    ("GET", f"{API}/tasks/([^/]+)/logs/search", _search),
]
