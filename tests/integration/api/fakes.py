"""What stands beside the interface in its tests: a Hub that answers as JupyterHub does, and a cluster with logs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tornado.web import Application, RequestHandler

from hai_scheduler.core.model.node import Node
from hai_scheduler.ports.errors import Absent
from hai_scheduler.ports.logs import LogChunk
from kit.memory.fabrics import ScriptedTrial

ACCESS = "access:services!service=hai"
READ, WRITE = "custom:hai:tasks:read", "custom:hai:tasks:write"
ADMIN, METRICS = "custom:hai:admin", "custom:hai:metrics"
CONTAINERS, IDENTITIES = "custom:hai:containers", "custom:hai:identities"


def a_user_model(name: str, *scopes: str, kind: str = "user", groups: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"name": name, "kind": kind, "groups": list(groups), "scopes": [ACCESS, *scopes]}


class FakeHub:
    """A stand-in for the Hub's API: the user of a token, and a token for a login."""

    def __init__(self) -> None:
        self.tokens = {
            "alice-token": a_user_model("alice", READ, WRITE, groups=("ml",)),
            "bob-token": a_user_model("bob", READ, WRITE),
            "reader-token": a_user_model("alice", READ, groups=("ml",)),
            "admin-token": a_user_model("root", READ, WRITE, ADMIN),
            "hub-token": a_user_model("hai", IDENTITIES, CONTAINERS, kind="service"),
            "metrics-token": a_user_model("prometheus", METRICS, kind="service"),
            "service-token": a_user_model("alice", READ, WRITE, kind="service"),
            "no-entry-token": {"name": "eve", "kind": "user", "groups": [], "scopes": [READ, WRITE]},
        }
        self.asked: list[str] = []
        self.broken = False
        #: All groups; None: this service may not read them.
        self.groups: set[str] | None = None
        #: Groups of all users by name; None: this service may not read them.
        self.users: dict[str, list[str]] | None = None
        #: Lets the service forget what it was told of tokens, as time does.
        self.forget: Callable[[], None] = lambda: None


class HubUserAnswer(RequestHandler):
    def get(self) -> None:
        hub: FakeHub = self.settings["hub"]
        token = self.request.headers["Authorization"].split(" ", 1)[1]
        hub.asked.append(token)
        if hub.broken:
            self.set_status(503)
        elif token in hub.tokens:
            self.write(json.dumps(hub.tokens[token]))
        else:
            self.set_status(403)


class HubGroupsAnswer(RequestHandler):
    def get(self) -> None:
        hub: FakeHub = self.settings["hub"]
        assert self.request.headers["Authorization"] == "token service"
        if hub.groups is None:
            self.set_status(403)
            return
        offset, limit = int(self.get_argument("offset", "0")), int(self.get_argument("limit"))
        names = sorted(hub.groups)[offset : offset + limit]
        items = [{"kind": "group", "name": name} for name in names]
        self.write(json.dumps({"items": items, "_pagination": {"total": len(hub.groups)}}))


class HubUsersAnswer(RequestHandler):
    def get(self) -> None:
        hub: FakeHub = self.settings["hub"]
        assert self.request.headers["Authorization"] == "token service"
        if hub.users is None:
            self.set_status(403)
            return
        offset, limit = int(self.get_argument("offset", "0")), int(self.get_argument("limit"))
        names = sorted(name for name in hub.users if self.get_argument("name_filter", "") in name)
        page = [{"kind": "user", "name": name, "groups": hub.users[name]} for name in names[offset : offset + limit]]
        self.write(json.dumps(page))


class HubTokenAnswer(RequestHandler):
    def post(self) -> None:
        self.write({"access_token": f"{self.get_argument('code')}-token"})


class FakeCluster:
    """A cluster with logs by run and rank, on which no process runs."""

    def __init__(self) -> None:
        self.logs: dict[tuple[str, int], bytes] = {}
        self.killed: list[str] = []
        #: Addresses of the ranks that are up, by run.
        self.up: dict[str, tuple[str, ...]] = {}
        self.fabrics = ScriptedTrial({"node-1": Node(name="node-1", gpus=8)})

    async def read_log(self, run_id: str, rank: int, *, offset: int, limit: int) -> LogChunk:
        if (run_id, rank) not in self.logs:
            raise Absent
        log = self.logs[run_id, rank]
        offset = min(offset, len(log))
        data = log[offset : offset + limit]
        data = data[: data.rfind(b"\n") + 1] or data[: limit if len(data) == limit else 0]
        return LogChunk(start=offset, next=offset + len(data), data=data, final=False, end=len(log))

    def log_place(self, _run_id: str) -> None:
        """Return None: other processes cannot read these logs."""

    async def addresses(self, run_id: str) -> tuple[str, ...] | None:
        if run_id not in self.up:
            raise Absent
        return self.up[run_id]

    async def nodes(self) -> list[Node]:
        return []

    async def kill(self, run_id: str) -> None:
        self.killed.append(run_id)


def hub_answers(hub: FakeHub) -> Application:
    """Return the Hub's API as far as a service asks it."""
    answers = [
        ("/hub/api/user", HubUserAnswer),
        ("/hub/api/groups", HubGroupsAnswer),
        ("/hub/api/users", HubUsersAnswer),
        ("/hub/api/oauth2/token", HubTokenAnswer),
    ]
    return Application(answers, hub=hub)
