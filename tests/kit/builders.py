"""Valid values for tests: name only what the test is about, `a_task(nodes=4, priority=Priority.HIGH)`.

Every builder takes the fields of its type by name. The defaults fit together: a task in a live state gets a run on
as many nodes as it asks for, a run's id follows its task, times lie at or after `T0`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import Node, Strike
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Checkpoint, Notice, Rank, RankState, Run
from hai_scheduler.core.model.task import Task, TaskSpec, TaskState
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.core.workspace.mounts import Action, MountKind, MountRule
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.secret import Secret
from hai_scheduler.ports.values import HistoryEvent

#: A Monday morning; every default time is this one.
T0 = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


def at(seconds: float = 0, *, minutes: float = 0, hours: float = 0) -> datetime:
    """The time that lies so long after `T0`."""
    return T0 + timedelta(seconds=seconds, minutes=minutes, hours=hours)


def a_node(name: str = "node-1", **fields: Any) -> Node:
    """A ready node of the group `training` with 8 GPUs."""
    return Node(**{"name": name, "gpus": 8, **fields})


def some_nodes(count: int, *, prefix: str = "node-", **fields: Any) -> tuple[Node, ...]:
    """`node-1` to `node-<count>`, alike but for their names."""
    return tuple(a_node(f"{prefix}{number}", **fields) for number in range(1, count + 1))


def a_pin(name: str = "users/ann/vision", **fields: Any) -> Pin:
    """The third generation of an environment of haienv."""
    known = {"generation": 3, "digest": f"sha256:{'3' * 64}", "interpreter": "/usr/bin/python3.11", "python": "3.11.7"}
    return Pin(name=name, **{**known, **fields})


def a_rank(rank: int = 0, **fields: Any) -> Rank:
    """A running rank on `node-<rank + 1>`."""
    return Rank(**{"rank": rank, "node": f"node-{rank + 1}", "state": RankState.RUNNING, **fields})


def a_notice(reason: Reason = Reason.TURN_OVER, **fields: Any) -> Notice:
    """A notice given at `at` (default `T0`) with two minutes to leave and half an hour at most."""
    given = fields.pop("at", T0)
    times = {"deadline": given + timedelta(seconds=120), "limit": given + timedelta(seconds=1800)}
    return Notice(reason=reason, at=given, **{**times, **fields})


def a_checkpoint(step: int | None = 100, **fields: Any) -> Checkpoint:
    """A checkpoint saved at `T0`."""
    return Checkpoint(step=step, **{"at": T0, "path": "checkpoints/100", **fields})


def a_run(
    task_id: int = 1, number: int = 1, *, nodes: Sequence[str] | int = 1, gpus: Sequence[int] = (), **fields: Any
) -> Run:
    """A run whose ranks have all been up since `started_at` (default `T0`).

    `nodes` are the names in rank order, or how many (`node-1`, `node-2`, ...); `gpus` are the indices that it holds
    on each of them, none for whole nodes. A run with `ended_at` has ranks that exited with 0 and the reason
    SUCCEEDED, unless fields say otherwise.
    """
    names = [f"node-{n}" for n in range(1, nodes + 1)] if isinstance(nodes, int) else list(nodes)
    over = fields.get("ended_at") is not None
    state, code = (RankState.EXITED, 0) if over else (RankState.RUNNING, None)
    ranks = tuple(
        Rank(rank=n, node=name, gpus=tuple(gpus), state=state, exit_code=code) for n, name in enumerate(names)
    )
    started = fields.get("started_at", T0)
    defaults: dict[str, Any] = {
        "id": RunId(f"{task_id}.{number}"),
        "number": number,
        "ranks": ranks,
        "priority": Priority.NORMAL,
        "started_at": started,
        "running_at": started,
        "reason": Reason.SUCCEEDED if over else None,
    }
    return Run(**{**defaults, **fields})


def a_task(id: int = 1, **fields: Any) -> Task:  # noqa: A002 - it is the field's name
    """A queued task of `alice` for one node of `training`, submitted at `T0`.

    With a live state and no run, a run that fits it is made; with an ended state, `ended_at` and `reason` are set.
    """
    state = TaskState(fields.get("state", TaskState.QUEUED))
    submitted = fields.get("submitted_at", T0)
    defaults: dict[str, Any] = {
        "id": TaskId(id),
        "name": f"task-{id}",
        "user": "alice",
        "group": "training",
        "priority": Priority.NORMAL,
        "nodes": 1,
        "submitted_at": submitted,
        "waiting_since": submitted,
    }
    if state.live:
        up: dict[str, Any] = {} if state is not TaskState.STARTING else {"running_at": None}
        gpus = range(fields.get("gpus") or 0)
        defaults["run"] = a_run(id, nodes=fields.get("nodes", 1), gpus=gpus, started_at=submitted, **up)
    if state.ended:
        reasons = {TaskState.SUCCEEDED: Reason.SUCCEEDED, TaskState.FAILED: Reason.FAILED}
        defaults |= {"ended_at": submitted, "reason": reasons.get(state, Reason.USER_STOPPED)}
    return Task(**{**defaults, **fields, "state": state})


def a_spec(*command: str, **fields: Any) -> TaskSpec:
    """A spec that runs `python train.py` in alice's home, or the given command."""
    words = command or ("python", "train.py")
    return TaskSpec(command=words, **{"cwd": "/home/alice", "env": {"SEED": "1"}, **fields})


def a_quota(subject: str = "user:alice", **fields: Any) -> Quota:
    """Four nodes of `training` at NORMAL."""
    return Quota(subject=subject, **{"group": "training", "priority": Priority.NORMAL, "limit": 4, **fields})


def a_use(user: str = "alice", **fields: Any) -> Usage:
    """An hour on one node of `training`, as of `T0`."""
    return Usage(user=user, **{"group": "training", "node_seconds": 3600.0, "at": T0, **fields})


def a_strike(node: str = "node-1", **fields: Any) -> Strike:
    """A run of task 1 failed on the node at `T0`, and it was not its user's fault."""
    return Strike(node=node, **{"task_id": TaskId(1), "at": T0, **fields})


def a_mount_rule(name: str = "data", **fields: Any) -> MountRule:
    """A rule by which all users read `/src/data` of the nodes at `/data`; a rule that removes has no source."""
    removes = fields.get("action") is Action.REMOVE
    what = {"kind": None, "source": ""} if removes else {"kind": MountKind.HOST_PATH, "source": f"/src/{name}"}
    return MountRule(**{"name": name, "subject": "public", "mount_path": "/data", **what, **fields})


def a_fabric(group: str = "training", **fields: Any) -> Fabric:
    """Eight RDMA devices of each node, for all users."""
    return Fabric(group=group, **{"resources": {"rdma/hca": 8}, **fields})


def an_environment(name: str = "torch", **fields: Any) -> Environment:
    """An environment with an image, for all users."""
    return Environment(**{"name": name, "image": "quay.io/ml/torch:2", "subjects": frozenset({"public"}), **fields})


def an_event(kind: str = "task.submitted", **fields: Any) -> HistoryEvent:
    """An event at `T0`, caused by and about alice."""
    return HistoryEvent(kind=kind, **{"at": T0, "actor": "alice", "user": "alice", **fields})


def a_launch(task_id: int = 1, number: int = 1, *, nodes: Sequence[str] = ("node-1",), **fields: Any) -> LaunchOrder:
    """The order to start a run of alice's on those nodes."""
    defaults: dict[str, Any] = {
        "run_id": RunId(f"{task_id}.{number}"),
        "task_id": TaskId(task_id),
        "user": "alice",
        "nodes": tuple(nodes),
        "command": ("python", "train.py"),
        "cwd": "/home/alice",
        "env": {},
        "profile": "sigterm",
        "token": Secret("a-run-token"),
    }
    return LaunchOrder(**{**defaults, **fields})
