"""A small platform in this process that speaks the client's side of the contract over real HTTP."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

API = "/services/hai/api/v1"
HUB = "/hub/api"
AT = "2026-11-21T04:00:00Z"
TOKEN = "secret-token"


class Refuse(Exception):
    def __init__(self, status: int, code: str, detail: str, errors: tuple[dict[str, Any], ...] = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.document = {
            "type": "about:blank",
            "title": code,
            "status": status,
            "detail": detail,
            "code": code,
            "errors": list(errors),
        }


class Drop(Exception):
    """Close the connection without a word."""


@dataclass
class Call:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class FakePlatform:
    url: str = ""
    calls: list[Call] = field(default_factory=list)
    tasks: dict[int, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    logs: dict[int, list[str]] = field(default_factory=dict)
    quotas: list[dict[str, Any]] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)
    #: Numbers that admins have set, by group (None: all) and name.
    policy: dict[str | None, dict[str, Any]] = field(default_factory=dict)
    on_nodes: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {"node-1": [{"task_id": 41, "user": "alice", "gpus": []}]}
    )
    users: dict[str, bool] = field(default_factory=lambda: {"alice": False, "root": True})
    events: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    paused: bool = False
    admin: bool = True
    #: What the Hub lets this user ask for.
    held_scopes: tuple[str, ...] = ("custom:hai:tasks:write", "access:services!service=hai")
    #: Called for each request before it is answered; may raise Refuse or Drop.
    before: list[Callable[[Call], None]] = field(default_factory=list)
    #: The same after it was carried out, so that only the answer is lost.
    after: list[Callable[[Call], None]] = field(default_factory=list)
    #: How many bytes of the next streams are let through before the connection breaks.
    cut_streams: list[int] = field(default_factory=list)
    #: How the next task ends.
    outcome: str = "succeeded"
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, **changes: Any) -> dict[str, Any]:
        number = len(self.tasks) + 41
        verdict = {
            "kind": "CAPACITY",
            "sentence": "it needs 2 nodes and 1 is free",
            "position": 2,
            "earliest_start": None,
            "data": {"needs": 2, "free": 1},
            "holders": [{"task_id": 7, "name": "llm", "user": "bob", "priority": "HIGH", "nodes": 3, "gpus": None}],
        }
        task: dict[str, Any] = {
            "id": number, "name": name, "user": "alice", "state": "queued", "held": False, "priority": "AUTO",
            "effective_priority": "NORMAL", "group": "training", "nodes": 2, "gpus": None, "node_names": [],
            "submitted_at": AT, "running_since": None, "ended_at": None, "served_s": 0.0, "run_count": 0,
            "suspensions": 0, "checkpoint": None, "reason": None, "message": "waits", "verdict": verdict,
            "deadline": None, "tags": [], "command": ["python", "train.py"], "cwd": "/shared/a b", "env": {"LR": "0.1"},
            "profile": "sigterm", "grace_s": 120.0, "time_limit_s": None, "checkpoint_dir": "/shared/ckpt",
            "job_state": None, "retries": 0, "retries_used": 0, "retry_backoff_s": 0.0, "retry_exit_codes": [],
            "retry_at": None, "runs": [],
        }  # fmt: skip
        task.update(changes)
        self.tasks[number] = task
        return task

    def said(self, method: str, path: str) -> list[Call]:
        return [call for call in self.calls if call.method == method and call.path.endswith(path)]


def run_of(number: int, **changes: Any) -> dict[str, Any]:
    run = {
        "id": f"41.{number}", "number": number, "state": "ended", "priority": "NORMAL", "nodes": ["node-1", "node-2"],
        "ranks": [
            {"rank": 0, "node": "node-1", "gpus": [], "state": "exited", "exit_code": 0, "notified_at": AT,
             "done": True, "message": None}
        ],
        "started_at": AT, "running_at": AT, "ended_at": "2026-11-21T04:15:00Z", "notice": None,
        "checkpoint": {"at": AT, "step": 1200, "path": "/shared/ckpt/1200"}, "reason": "turn_over", "clean": True,
        "lost_s": 12.0,
    }  # fmt: skip
    run.update(changes)
    return run


def _find(platform: FakePlatform, key: str) -> dict[str, Any]:
    name = key.rpartition("/")[2]
    for task in reversed(platform.tasks.values()):
        if key == str(task["id"]) or name == task["name"]:
            return task
    raise Refuse(404, "not_found", f"task: {key!r} is not a task of yours; `hai list -a` shows them")


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
    start, limit = int(call.query.get("cursor", "0")), int(call.query.get("limit", "50"))
    following = str(start + limit) if len(found) > start + limit else None
    return 200, {"items": found[start : start + limit], "next_cursor": following}


def _act(platform: FakePlatform, call: Call, key: str, verb: str) -> tuple[int, Any]:
    task = _find(platform, key)
    if task["state"] in ("succeeded", "failed", "stopped"):
        raise Refuse(409, "conflict", f"task {task['id']} has ended; submit it again")
    if verb == "stop":
        task.update(state="stopped", verdict=None, message="it was stopped by hand")
    else:
        task["held"] = verb in ("hold", "suspend")
    return 200, task


def _change(platform: FakePlatform, call: Call, key: str, what: str) -> tuple[int, Any]:
    task = _find(platform, key)
    if what == "priority":
        task["priority"] = task["effective_priority"] = call.body["priority"]
    return 200, task


def _part(platform: FakePlatform, call: Call, key: str, what: str) -> tuple[int, Any]:
    task = _find(platform, key)
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
    task = None if hypothetical else _find(platform, call.body["task"])
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


def _line(text: str) -> dict[str, Any]:
    return {"run": 1, "rank": None if text.startswith("[hai]") else 0, "at": AT, "text": text}


def _log_page(platform: FakePlatform, call: Call, key: str) -> tuple[int, Any]:
    task = _find(platform, key)
    lines = platform.logs.get(task["id"], [])
    start = int(call.query.get("cursor", "1:0").split(":")[1])
    end = min(len(lines), start + int(call.query.get("limit", "1000")))
    if "tail" in call.query:
        start, end = max(0, len(lines) - int(call.query["tail"])), len(lines)
    final = task["state"] in ("succeeded", "failed") and end == len(lines)
    return 200, {"lines": [_line(text) for text in lines[start:end]], "next_cursor": f"1:{end}", "final": final}


def _search(platform: FakePlatform, call: Call, key: str) -> tuple[int, Any]:
    lines = [text for text in platform.logs[_find(platform, key)["id"]] if call.query["q"] in text]
    counts = [{"run": 1, "rank": 0, "hits": len(lines)}] if lines else []
    return 200, {"counts": counts, "lines": [_line(text) for text in lines]}


def _node(platform: FakePlatform, name: str) -> dict[str, Any]:
    tasks = platform.on_nodes.get(name, [])
    only = tasks[0] if len(tasks) == 1 else {"task_id": None, "user": None}
    held = 8 if any(not task["gpus"] for task in tasks) else sum(len(task["gpus"]) for task in tasks)
    return {
        "name": name, "group": "training", "leaf": "leaf-1", "zone": "a", "gpus": 8, "ready": name != "node-3",
        "mark": platform.marks.get(name, "none"), "task_id": only["task_id"], "user": only["user"],
        "gpus_free": 8 - held, "tasks": tasks,
    }  # fmt: skip


def _nodes(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    return 200, {"items": [_node(platform, f"node-{number}") for number in (1, 2, 3)]}


def _mark(platform: FakePlatform, call: Call, name: str, verb: str) -> tuple[int, Any]:
    _admins_only(platform)
    if name not in ("node-1", "node-2", "node-3"):
        raise Refuse(404, "not_found", f"node: {name!r} is not a node; `hai nodes` lists them")
    platform.marks[name] = {"cordon": "cordoned", "drain": "draining", "uncordon": "none"}[verb]
    return 200, _node(platform, name)


def _admins_only(platform: FakePlatform) -> None:
    if not platform.admin:
        raise Refuse(403, "forbidden", "token: lacks custom:hai:admin; ask an admin")


def _quota(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    if call.method == "GET":
        return 200, {"items": platform.quotas}
    _admins_only(platform)
    keys = ("subject", "group", "priority")
    platform.quotas = [row for row in platform.quotas if any(row[key] != call.body[key] for key in keys)]
    if call.method == "DELETE":
        return 204, None
    stranger = call.body["subject"] == "user:stranger"
    row = {**call.body, "expired": False, "warning": "HAI has never seen a user 'stranger'" if stranger else None}
    platform.quotas.append(row)
    return 200, row


def _me(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    quota = [{"group": "training", "priority": "NORMAL", "limit": 10, "used": 2, "source": "public", "ceiling": 12}]
    quota.append({"group": "training", "priority": "HIGH", "limit": None, "used": 0, "source": "user:alice"})
    scopes = ["custom:hai:tasks:read", "custom:hai:tasks:write"]
    return 200, {
        "name": "alice", "kind": "user", "admin": False, "groups": ["ml"], "scopes": scopes, "quota": quota,
    }  # fmt: skip


def _pause(platform: FakePlatform, call: Call, verb: str) -> tuple[int, Any]:
    _admins_only(platform)
    platform.paused = verb == "pause"
    return _cluster(platform, call)


def _cluster(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    level = {"priority": "NORMAL", "running_tasks": 1, "running_nodes": 1, "waiting_tasks": 2, "waiting_nodes": 3}
    group = {"group": "training", "nodes": 3, "held": 1, "free": 1, "unavailable": 1, "levels": [level]}
    group |= {"shared": 0, "gpus": 24, "gpus_free": 8}
    return 200, {"paused": platform.paused, "groups": [group]}


def _own_quota(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    if call.body["limit"] > 12:
        raise Refuse(403, "forbidden", "limit: 13 is more than 12, the ceiling; set at most 12, or ask an admin")
    return 200, {**call.body, "used": 2, "source": "user:alice", "ceiling": 12, "expires_at": None}


def _policy(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    if call.method == "PUT":
        _admins_only(platform)
        group = platform.policy.setdefault(call.body["group"], {})
        for name in call.body["unset"]:
            group.pop(name, None)
        group.update(call.body["set"])
    return 200, {
        "numbers": [
            _number(platform, "slice", "duration", "30m"),
            _number(platform, "worth", "float", 10.0),
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


def _health(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    return 200, {"status": "ok", "version": "0.1.0", "last_tick_s": 0.2, "detail": None}


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
    if name in platform.users:
        raise Refuse(409, "hub", "All 1 users already exist")
    platform.users[name] = call.body["admin"]
    return 201, [{"name": name, "admin": call.body["admin"], "groups": [], "last_activity": None, "kind": "user"}]


def _hub_users(platform: FakePlatform, call: Call) -> tuple[int, Any]:
    offset = int(call.query["offset"])
    everyone = [
        {"name": name, "admin": admin, "groups": [], "last_activity": AT} for name, admin in platform.users.items()
    ]
    following = {"offset": offset + 1, "limit": 1} if offset + 1 < len(everyone) else None
    return 200, {"items": everyone[offset : offset + 1], "_pagination": {"next": following}}


_ROUTES: list[tuple[str, str, Callable[..., tuple[int, Any]]]] = [
    ("GET", f"{API}/health", _health),
    ("GET", f"{API}/me", _me),
    ("PUT", f"{API}/me/quota", _own_quota),
    ("GET", f"{API}/policy", _policy),
    ("PUT", f"{API}/policy", _policy),
    ("GET", f"{API}/cluster", _cluster),
    ("POST", f"{API}/cluster/(pause|resume)", _pause),
    ("POST", f"{API}/tasks", _submit),
    ("POST", f"{API}/tasks/parse", _parse),
    ("GET", f"{API}/tasks", _list),
    ("GET", f"{API}/tasks/([^/]+)", lambda platform, call, key: (200, _find(platform, key))),
    ("POST", f"{API}/tasks/([^/]+)/(stop|suspend|resume|hold)", _act),
    ("PUT", f"{API}/tasks/([^/]+)/(priority|order)", _change),
    ("GET", f"{API}/tasks/([^/]+)/(runs|explain|events|decisions)", _part),
    ("POST", f"{API}/forecast", _forecast),
    ("GET", f"{API}/tasks/([^/]+)/logs", _log_page),
    ("GET", f"{API}/tasks/([^/]+)/logs/search", _search),
    ("GET", f"{API}/nodes", _nodes),
    ("POST", f"{API}/nodes/([^/]+)/(cordon|uncordon|drain)", _mark),
    ("GET", f"{API}/quotas", _quota),
    ("PUT", f"{API}/quotas", _quota),
    ("DELETE", f"{API}/quotas", _quota),
    ("POST", f"{HUB}/users/([^/]+)/tokens", _hub_token),
    ("POST", f"{HUB}/users", _hub_add),
    ("GET", f"{HUB}/users", _hub_users),
]


class _Handler(BaseHTTPRequestHandler):
    platform: FakePlatform

    def log_message(self, *args: Any) -> None:
        pass

    def _serve(self) -> None:
        call = self._call()
        platform = self.platform
        with platform.lock:
            platform.calls.append(call)
        try:
            if platform.before:
                platform.before.pop(0)(call)
            self._authorize(call)
            if "text/event-stream" in call.headers.get("accept", ""):
                self._stream(call)
                return
            status, answer = self._route(call)
            if platform.after:
                platform.after.pop(0)(call)
            self._answer(status, answer, "application/json")
        except Refuse as refusal:
            hub = refusal.document["code"] == "hub"
            document = {"status": refusal.status, "message": str(refusal)} if hub else refusal.document
            self._answer(refusal.status, document, "application/json" if hub else "application/problem+json")
        except Drop:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815

    def _call(self) -> Call:
        parts = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body: Any = content.decode()
        if headers.get("content-type") == "application/json":
            body = json.loads(content)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        return Call(self.command, parts.path, query, headers, body)

    def _authorize(self, call: Call) -> None:
        given = call.headers.get("authorization")
        if call.path.startswith(API) and not call.path.endswith("/health") and given != f"Bearer {TOKEN}":
            raise Refuse(401, "unauthorized", "token: not accepted; run `hai login`")

    def _route(self, call: Call) -> tuple[int, Any]:
        for method, pattern, handler in _ROUTES:
            match = re.fullmatch(pattern, call.path)
            if match and method == call.method:
                with self.platform.lock:
                    return handler(self.platform, call, *(unquote(part) for part in match.groups()))
        raise Refuse(404, "not_found", f"nothing at {call.path}")

    def _answer(self, status: int, answer: Any, kind: str) -> None:
        content = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, call: Call) -> None:
        content = b"".join(self._messages(call))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if self.platform.cut_streams:
            content = content[: self.platform.cut_streams.pop(0)]
        self.wfile.write(content)

    def _messages(self, call: Call) -> Iterator[bytes]:
        last = call.headers.get("last-event-id")
        if call.path.endswith("/events"):
            yield b'event: hello\ndata: {"seq": 0}\n\n'
            for event in self.platform.events:
                if int(event["seq"]) > int(last or 0):
                    yield f"id: {event['seq']}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n".encode()
            return
        task = _find(self.platform, unquote(call.path.split("/")[-2]))
        yield b": keep-alive\n\n"
        start = int((last or call.query.get("cursor") or "1:0").split(":")[1])
        for at, text in enumerate(self.platform.logs[task["id"]]):
            if at >= start:
                yield f"id: 1:{at + 1}\nevent: line\ndata: {json.dumps(_line(text))}\n\n".encode()
        task.update(state=self.platform.outcome, verdict=None, message="its command ended")
        yield b"event: end\ndata: {}\n\n"


def serve() -> tuple[FakePlatform, ThreadingHTTPServer]:
    platform = FakePlatform()
    handler = type("Handler", (_Handler,), {"platform": platform})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    platform.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return platform, server


if __name__ == "__main__":
    import time

    shown, _ = serve()
    ended = "2026-11-21T05:15:00Z"
    shown.add("llm-pretrain-7b", state="running", node_names=["node-1"], verdict=None, run_count=3, served_s=7080,
              checkpoint={"at": AT, "step": 1200, "path": "/shared/ckpt/1200"}, runs=[
                  run_of(1), run_of(2, reason="node_lost", clean=False, lost_s=900),
                  run_of(3, state="running", ended_at=None, reason=None, clean=None, lost_s=None)],
              message="runs on node-1 since 14 minutes")  # fmt: skip
    shown.add("digits", nodes=2)
    shown.add("ablation-lr-0.1", held=True, priority="HIGH", effective_priority="HIGH")
    shown.add("old", state="failed", verdict=None, ended_at=ended, message="its command failed with status 1 on rank 0")
    shown.logs = {41: ["one", "two loss", "[hai] run 2 starts on node-1"], 42: ["a"], 43: [], 44: ["boom"]}
    print(f"export HAI_URL={shown.url} HAI_TOKEN={TOKEN}", flush=True)
    while True:
        time.sleep(60)
