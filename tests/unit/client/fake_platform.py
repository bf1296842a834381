"""A small platform that speaks the client's side of the contract: what it knows, and what was asked of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from hai_client.cli.language.asked_fields import ASKED_FIELDS
from hai_client.codec import decode, encode
from hai_client.wire.schema import TaskRequest

API = "/services/hai/api/v1"
HUB = "/hub/api"
AT = "2026-11-21T04:00:00Z"
TOKEN = "secret-token"


class Refuse(Exception):
    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        errors: tuple[dict[str, Any], ...] = (),
        *,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.retry_after = retry_after
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


#: Why a task of its waits, as the service says it.
WAITS = "it needs 2 nodes and 1 is free"


@dataclass
class Call:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


def whole(path: str, body: Any) -> Any:
    """A body as the service reads it: what a submission does not say is at its default."""
    if path.endswith("/tasks") and isinstance(body, dict) and "command" in body:
        left = {one.name for one in fields(TaskRequest) if one.name not in body}
        told = encode(decode(TaskRequest, body))
        return {**{name: value for name, value in told.items() if name in left and value is not None}, **body}
    if path.endswith("/forecast") and isinstance(body, dict) and "submit" in body:
        return {**body, "submit": whole("/tasks", body["submit"])}
    return body


@dataclass
class FakePlatform:
    url: str = ""
    calls: list[Call] = field(default_factory=list)
    tasks: dict[int, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    logs: dict[int, list[str]] = field(default_factory=dict)
    quotas: list[dict[str, Any]] = field(default_factory=list)
    #: What `GET /me` says beside the usual: who the user's processes are.
    who: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    #: Nodes on which the cluster itself takes no new runs, and why.
    closed: dict[str, str] = field(default_factory=dict)
    #: Numbers that admins have set, by group (None: all) and name.
    policy: dict[str | None, dict[str, Any]] = field(default_factory=dict)
    #: Mount rules and environments by name.
    mounts: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Why RDMA falls back to TCP, by node.
    slow: dict[str, str] = field(default_factory=dict)
    #: By node group and subject.
    fabrics: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    environments: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Runs that belong to no task, by id.
    orphans: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Rows of every report; rates; budgets by group; and what is told beside a list of tasks.
    report_rows: list[dict[str, Any]] = field(default_factory=list)
    rates: list[dict[str, Any]] = field(default_factory=list)
    budgets: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    #: What the user is told and where; what they were told; what came of a test; why a mail was not delivered.
    notification_rules: dict[str, Any] = field(
        default_factory=lambda: {
            "rules": {"failed": ["browser", "lab"]}, "waits_longer_s": 3600.0, "mail": None, "webhook": None,
        }
    )  # fmt: skip
    notifications: list[dict[str, Any]] = field(default_factory=list)
    test_deliveries: list[dict[str, Any]] = field(default_factory=list)
    mail_trouble: str | None = None
    #: Values of secrets by name, the newest last; and those that no key opens.
    secrets: dict[str, list[str]] = field(default_factory=dict)
    lost_secrets: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=lambda: ["node-1", "node-2", "node-3"])
    on_nodes: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {"node-1": [{"task_id": 41, "user": "alice", "gpus": []}]}
    )
    users: dict[str, bool] = field(default_factory=lambda: {"alice": False, "root": True})
    #: Archived users by name, and the entries of the audit.
    archived: dict[str, dict[str, Any]] = field(default_factory=dict)
    audit: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    paused: bool = False
    #: The machine that it runs on, and its folder of environments of haienv.
    machine: str | None = None
    haienv_root: str | None = None
    #: Why the scheduler decides nothing; None: it decides.
    standstill: str | None = None
    admin: bool = True
    #: What the Hub lets this user ask for.
    held_scopes: tuple[str, ...] = ("custom:hai:tasks:write", "access:services!service=hai")
    #: What each answer says of its version, as it is sent; None: nothing.
    version: bytes | None = None
    #: What it says of the versions of its parts.
    versions: dict[str, Any] = field(
        default_factory=lambda: {"service": "0.1.0", "parts": [], "revision": "0026", "known_revision": "0026"}
    )
    #: Whether its Hub keeps passwords.
    passwords: bool = False
    #: Called for each request before it is answered; may raise Refuse or Drop.
    before: list[Callable[[Call], None]] = field(default_factory=list)
    #: The same after it was carried out, so that only the answer is lost.
    after: list[Callable[[Call], None]] = field(default_factory=list)
    #: How many bytes of the next streams are let through before the connection breaks.
    cut_streams: list[int] = field(default_factory=list)
    #: How the next task ends.
    outcome: str = "succeeded"
    #: What its first run shows then of its failure.
    failure: dict[str, Any] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, **changes: Any) -> dict[str, Any]:
        number = len(self.tasks) + 41
        verdict = {
            "kind": "CAPACITY",
            "sentence": WAITS,
            "position": 2,
            "earliest_start": None,
            "data": {"needs": 2, "free": 1},
            "holders": [{"task_id": 7, "name": "llm", "user": "bob", "priority": "HIGH", "nodes": 3, "gpus": None}],
            "holder_count": 1,
        }
        task: dict[str, Any] = {
            "id": number, "name": name, "user": "alice", "state": "queued", "held": False, "priority": "AUTO",
            "effective_priority": "NORMAL", "group": "training", "nodes": 2, "gpus": None, "node_names": [],
            "submitted_at": AT, "running_since": None, "ended_at": None, "served_s": 0.0, "run_count": 0,
            "suspensions": 0, "unsaved": 0, "checkpoint": None, "reason": None, "message": WAITS, "verdict": verdict,
            "deadline": None, "tags": [], "command": ["python", "train.py"], "cwd": "/shared/a b", "env": {"LR": "0.1"},
            "profile": "auto", "signal": None, "watch": [], "hint": None, "grace_s": 120.0,
            "time_limit_s": None, "checkpoint_dir": "/shared/ckpt",
            "job_state": None, "retries_used": 0, "retry_backoff_s": 0.0, "retry_exit_codes": [],
            "retry_at": None, "environment": None, "haienv": None, "snapshot": None, "image": None,
            "ranks_per_node": None, "secrets": [],
            "progress": None, "idle_gpus_since": None, "warnings": [], "failure": None,
            "runs": [], "short": None, "starred": None, "use": None,
            **{one.name: one.default for one in ASKED_FIELDS},
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
            {"rank": 0, "node": "node-1", "gpus": [], "state": "exited", "exit_code": 0, "signal": None,
             "notified_at": AT, "caught": None, "done": True, "message": None, "idle_gpus_since": None,
             "fallback": None}
        ],
        "started_at": AT, "running_at": AT, "ended_at": "2026-11-21T04:15:00Z", "notice": None,
        "checkpoint": {"at": AT, "step": 1200, "path": "/shared/ckpt/1200", "source": "told"}, "reason": "turn_over",
        "because": "its turn was over and a task of equal priority waited", "haienv": None, "left": "saved",
        "lost_s": 12.0, "failed_ranks": [], "summary": None,
    }  # fmt: skip
    run.update(changes)
    return run


def find(platform: FakePlatform, key: str) -> dict[str, Any]:
    name = key.rpartition("/")[2]
    for task in reversed(platform.tasks.values()):
        if key == str(task["id"]) or name == task["name"]:
            return task
    raise Refuse(404, "not_found", f"task: {key!r} is not a task of yours; `hai list -a` shows them")


def admins_only(platform: FakePlatform) -> None:
    if not platform.admin:
        raise Refuse(403, "forbidden", "token: lacks custom:hai:admin; ask an admin")


#: Method, pattern of the path, and what answers it: a status and a document.
Route = tuple[str, str, Callable[..., tuple[int, Any]]]
