"""What an admin changes of others leaves an entry in the audit.

Each route that changes something is tried, or says why not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from hai_scheduler.api.routes import ROUTES
from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.service.origin.orphan_registry import OrphanedRun, write_orphans
from integration.api.conftest import World, trying_fabrics
from kit.builders import a_pin
from kit.ledger import ended_rows

#: Routes that change nothing of others, with the reason.
NOTHING_OF_OTHERS = {
    "PUT /me/quota": "one's own rows, which are in the audit all the same",
    "POST /tasks": "a task of one's own",
    "POST /tasks/parse": "it changes nothing",
    "POST /forecast": "it changes nothing",
    "POST /nodes/preview": "it changes nothing",
    "POST /policy/try": "it changes nothing",
    "POST /fabrics/trial": "it changes nothing",
    "PUT /snapshots/{digest}": "code of one's own",
    "POST /snapshots/{digest}/contents": "code of one's own",
    "PUT /tasks/{task}/star": "a star is for its user alone",
    "DELETE /tasks/{task}/star": "a star is for its user alone",
    "PUT /me/notifications": "rules of one's own",
    "POST /me/notifications/test": "a message to oneself",
    "POST /notifications/read": "messages to oneself",
    "PUT /users/{user}/identity": "the Hub alone may; tests/unit/service/workspace/test_identities.py has its entries",
    "DELETE /users/{user}/identity": "the Hub alone may, as above",
    "PUT /secrets/{secret}": "a secret of one's own; tests/unit/service/workspace/test_secrets.py has its entries",
    "DELETE /secrets/{secret}": "as above",
    "PUT /containers": "the Hub says which servers run, and no user",
    "PUT /runs/{run_id}/ranks/{rank}/log": "a rank's own",
    "PUT /runs/{run_id}/ranks/{rank}/metrics": "a rank's own",
    "PUT /runs/{run_id}/ranks/{rank}/profiles/{profile}/traces/{trace}": "a rank's own",
    "PUT /runs/{run_id}/ranks/{rank}/profiles/{profile}": "a rank's own",
    "POST /runs/{run_id}/ranks/{rank}/report": "a rank's own",
}
QUOTA = {"subject": "user:alice", "group": "training", "priority": "HIGH", "limit": 8}
RATE = {"valid_from": "2026-11-01", "per_gpu_hour": "1.20", "currency": "EUR"}
MOUNT = {"subject": "public", "kind": "host_path", "source": "/data", "mount_path": "/data"}
FABRIC = {"group": "training", "subject": "public"}
IMAGE = {"image": "torch:1", "subjects": ["public"], "variables": {"TOKEN": "hunter2"}}

#: A route, what its path says, its body, and the action and the subject of its entry. Tasks 1 to 3 are alice's,
#: and the third one runs.
Change = tuple[str, dict[str, str], dict[str, Any] | None, str, str]
CHANGES: list[Change] = [
    ("PUT /quotas", {}, QUOTA, "quota.put", "user:alice"),
    ("DELETE /quotas", {}, {k: QUOTA[k] for k in ("subject", "group", "priority")}, "quota.deleted", "user:alice"),
    ("PUT /policy", {}, {"set": {"slice": "1h"}}, "policy.changed", "policy"),
    ("PUT /policy", {}, {"group": "training", "set": {"slice": "2h"}}, "policy.changed", "policy:training"),
    ("POST /nodes/{name}/cordon", {"name": "node-1"}, None, "node.cordoned", "node:node-1"),
    ("POST /nodes/{name}/drain", {"name": "node-1"}, None, "node.drained", "node:node-1"),
    ("POST /nodes/{name}/uncordon", {"name": "node-1"}, None, "node.uncordoned", "node:node-1"),
    ("POST /cluster/pause", {}, None, "cluster.paused", "cluster"),
    ("POST /cluster/resume", {}, None, "cluster.resumed", "cluster"),
    ("PUT /rates", {}, RATE, "rate.put", "rate:*/*/2026-11-01"),
    ("DELETE /rates", {}, {"valid_from": "2026-11-01"}, "rate.deleted", "rate:*/*/2026-11-01"),
    (
        "PUT /budgets/{name}",
        {"name": "cv"},
        {"measure": "gpu_hours", "limit": "500", "window_days": 30},
        "budget.put",
        "budget:cv",
    ),
    ("DELETE /budgets/{name}", {"name": "cv"}, None, "budget.deleted", "budget:cv"),
    ("PUT /mounts/{rule}", {"rule": "data"}, MOUNT, "mount.put", "mount:data"),
    ("DELETE /mounts/{rule}", {"rule": "data"}, None, "mount.deleted", "mount:data"),
    ("PUT /fabrics", {}, {**FABRIC, "variables": {"TOKEN": "hunter2"}}, "fabric.put", "fabric:training/public"),
    ("DELETE /fabrics", {}, FABRIC, "fabric.deleted", "fabric:training/public"),
    ("PUT /environments/{environment}", {"environment": "torch"}, IMAGE, "environment.put", "environment:torch"),
    ("DELETE /environments/{environment}", {"environment": "torch"}, None, "environment.deleted", "environment:torch"),
    *(
        (
            "POST /environments/{environment}/builds",
            {"environment": name.replace("/", "%2F")},
            {"verb": "rebuild"},
            "environment.build",
            f"environment:{name}",
        )
        for name in ("base/vision", "groups/ml/vision")
    ),
    ("POST /tasks/{task}/hold", {"task": "1"}, None, "task.held", "task:1"),
    ("POST /tasks/{task}/resume", {"task": "1"}, None, "task.resumed", "task:1"),
    ("POST /tasks/{task}/suspend", {"task": "1"}, None, "task.suspended", "task:1"),
    ("PUT /tasks/{task}/priority", {"task": "1"}, {"priority": "HIGH"}, "task.priority", "task:1"),
    ("PUT /tasks/{task}/priority", {"task": "2"}, {"priority": "HIGH"}, "task.priority", "task:2"),
    ("PUT /tasks/{task}/order", {"task": "1"}, {"after": 2}, "task.order", "task:1"),
    ("PUT /tasks/{task}/tags", {"task": "1"}, {"tags": ["mine"]}, "task.tags", "task:1"),
    ("POST /tasks/{task}/stop", {"task": "1"}, None, "task.stopped", "task:1"),
    ("POST /tasks/actions", {}, {"action": "stop", "tasks": ["2"]}, "task.stopped", "task:2"),
    ("POST /tasks/{task}/profiles", {"task": "3"}, {}, "recording.ordered", "task:3"),
    ("DELETE /tasks/{task}/profiles/{profile}", {"task": "3", "profile": "1"}, None, "recording.deleted", "task:3"),
    ("POST /users/{user}/archive", {"user": "alice"}, {"note": "left"}, "user.archived", "user:alice"),
    ("POST /users/{user}/restore", {"user": "alice"}, None, "user.restored", "user:alice"),
    ("DELETE /ledger/users/{user}", {"user": "ann"}, None, "ledger.erased", "ledger"),
    ("POST /secrets/reseal", {}, None, "secrets.resealed", "secrets:all"),
    ("POST /orphans/{run_id}/end", {"run_id": "7.1"}, None, "run.orphan_killed", "run:7.1"),
]


def test_every_route_that_changes_something_is_tried_or_says_why_not() -> None:
    changing = {f"{one.method} {one.path}" for one in ROUTES if one.method != "GET"}
    tried = {route for route, *_ in CHANGES}
    assert changing == tried | NOTHING_OF_OTHERS.keys()
    assert not tried & NOTHING_OF_OTHERS.keys()


@pytest.fixture
async def trying(world: World) -> AsyncIterator[None]:
    async with trying_fabrics(world):
        yield


@pytest.mark.usefixtures("trying")
async def test_every_action_of_an_admin_is_in_the_audit(world: Any) -> None:
    await world.json("GET", "/me", "alice")
    tasks = [await world.submit(f"task-{number}") for number in (1, 2, 3)]
    assert [task.id for task in tasks] == [1, 2, 3]
    await world.start(tasks[2])
    for name in ("base/vision", "groups/ml/vision"):
        world.haienvs.publish(a_pin(name, generation=1))
    async with world.store.write() as tx:
        await tx.ledger.put({RunId("1.1"): ended_rows(1, hours=2, user="ann")})
        stray = OrphanedRun(run_id=RunId("7.1"), origin=Origin("a1b2", 1), user="bob", nodes=(), live=True)
        await write_orphans(tx, [stray])
    for route, named, body, action, subject in CHANGES:
        method, _, path = route.partition(" ")
        for name, value in named.items():
            path = path.replace(f"{{{name}}}", value)
        sent = {} if body is None else {"json": body}
        status, answer = await world.json(method, path, "admin", **sent)
        assert status < 300, (route, answer)
        (entry,) = (await world.json("GET", "/audit?limit=1", "admin"))[1]["items"]
        assert (entry["action"], entry["subject"]) == (action, subject), route
        assert (entry["actor"], entry["address"]) == ("root", "127.0.0.1")
        assert entry["before"] is not None or entry["after"] is not None
    status, page = await world.json("GET", "/audit?limit=200", "admin")
    assert len(page["items"]) == len(CHANGES)
    assert "hunter2" not in str(page)
    put = next(entry for entry in page["items"] if entry["action"] == "quota.put")
    assert (put["before"], put["after"]["limit"]) == (None, 8)
    policy = next(entry for entry in page["items"] if entry["subject"] == "policy")
    assert (policy["before"], policy["after"]) == ({"slice": "30m"}, {"slice": "1h"})


async def test_what_users_do_to_what_is_theirs_is_not_in_the_audit(world: Any) -> None:
    task = await world.start(await world.submit("t"))
    world.haienvs.publish(a_pin("users/alice/vision", generation=1))
    for method, path, body in (
        ("PUT", "/tasks/t/tags", {"tags": ["mine"]}),
        ("POST", f"/tasks/{task.id}/profiles", {}),
        ("DELETE", f"/tasks/{task.id}/profiles/1", None),
        ("POST", "/environments/users%2Falice%2Fvision/builds", {"verb": "rebuild"}),
        ("POST", "/tasks/t/hold", None),
        ("POST", "/tasks/t/stop", None),
    ):
        status, answer = await world.json(method, path, "alice", **({} if body is None else {"json": body}))
        assert status < 300, (path, answer)
    assert (await world.json("GET", "/audit", "admin"))[1] == {"items": [], "next_cursor": None}
