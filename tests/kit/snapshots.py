"""Random but consistent snapshots for property tests, weighted towards the corners of the rules.

A snapshot follows from a seed and the numbers of its nodes and tasks; each node and task follows from the seed and
its own number. So when Hypothesis removes one, the others stay as they were, and making a snapshot takes no time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from random import Random

from hypothesis import strategies as st

from hai_scheduler.core.lifecycle.events import AskedToStop, AskedToSuspend, Promised, Started
from hai_scheduler.core.lifecycle.transitions import advance
from hai_scheduler.core.model.decisions import Keep, Plan, Quarantine, Start, Stop, Suspend
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import Node, NodeMark, Strike
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.core.model.run import Rank, RankState, Run
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.planning.plan import plan
from kit.builders import a_checkpoint, a_notice, a_quota, a_task, at

NOW = at(hours=100)
USERS = ("ann", "bob", "cy")
#: Most tasks are at one level, so that equals meet.
LEVELS = (*[Priority.NORMAL] * 4, Priority.LOW, Priority.ABOVE_NORMAL, Priority.HIGH)
#: Turns around the corners of P2, O2, O4 and P6.
MINUTES = (0, 5, 14, 15, 16, 29, 30, 31, 60, 61, 240, 241)
GPUS = 4


def snapshots() -> st.SearchStrategy[Snapshot]:
    """A consistent cluster of up to 8 nodes in two zones with running and waiting tasks of three users.

    Pods from outside of HAI may be on some of the nodes (F5), also beside runs that were there first.
    """
    shots = st.builds(
        random_snapshot,
        seed=st.integers(0, 1 << 32),
        nodes=st.sets(st.integers(0, 7), min_size=1),
        tasks=st.sets(st.integers(1, 10), min_size=1),
    )
    return st.builds(_crowded, shots, st.dictionaries(st.integers(0, 7), st.integers(0, GPUS), max_size=3))


def _crowded(shot: Snapshot, rooms: Mapping[int, int]) -> Snapshot:
    """The snapshot with no more room than that on the nodes of these numbers."""
    nodes = tuple(replace(node, room=rooms.get(number)) for number, node in enumerate(shot.nodes))
    return replace(shot, nodes=nodes)


def random_snapshot(seed: int, nodes: Collection[int], tasks: Collection[int]) -> Snapshot:
    """The snapshot of that seed with the nodes and tasks of these numbers.

    Some snapshots are calm: nothing is broken, held or forbidden, and all tasks are equals that only wait for others.
    """
    calm = Random(f"{seed} calm").random() < 0.4
    named = tuple(_node(number, Random(f"{seed} node {number}"), calm=calm) for number in sorted(nodes))
    free = {node.name: list(range(node.gpus)) for node in named}
    whole = Random(f"{seed}")
    subjects = ["public", *whole.choice([(), (), ("user:ann",), ("group:lab",), ("total:lab",)])]
    shot = Snapshot(
        now=NOW,
        nodes=named,
        tasks=tuple(_task(number, free, Random(f"{seed} task {number}"), calm=calm) for number in sorted(tasks)),
        quotas=tuple(
            _quota(subject, level, Random(f"{seed} {subject} {level}"), calm=calm)
            for subject in subjects
            for level in Priority
        ),
        groups_of={"ann": frozenset({"lab"}), "bob": frozenset({"lab"})},
        uses=tuple(
            Usage(user=user, group="training", node_seconds=whole.choice([0.0, 10.0, 9000.0]), at=NOW) for user in USERS
        ),
        strikes=tuple(
            Strike(
                node=node.name,
                task_id=TaskId(number),
                at=NOW - timedelta(minutes=number),
                user=USERS[number % len(USERS)],
            )
            for node in named
            for number in range(Random(f"{seed} strikes {node.name}").choice([0, 0, 0, 0, 2, 3]))
        ),
    )
    shot.check()
    return _begun(shot, whole) if whole.random() < 0.3 else shot


def _begun(shot: Snapshot, random: Random) -> Snapshot:
    """The snapshot in the middle of a plan's effects: nodes are promised, and some of the victims have left."""
    shot = carried_out(shot, plan(shot, Policy()))
    gone = frozenset(task.id for task in shot.tasks if random.random() < 0.5)
    return emptied(shot, gone)


def _node(number: int, random: Random, *, calm: bool) -> Node:
    return Node(
        name=f"node-{number}",
        gpus=GPUS,
        zone=f"zone-{number // 2 % 3}" if calm else f"zone-{number % 2}",
        leaf=f"leaf-{number % 3}",
        ready=calm or random.random() < 0.9,
        mark=NodeMark.NONE if calm else random.choice([NodeMark.NONE] * 8 + list(NodeMark)),
    )


def _task(number: int, free: dict[str, list[int]], random: Random, *, calm: bool) -> Task:
    gpus = random.choice([None, None, 1, 2, 3])
    size = random.randint(1, 2 if gpus else 4)
    fields = {
        "nodes": size,
        "gpus": gpus,
        "user": random.choice(USERS),
        "priority": Priority.NORMAL if calm else random.choice([*LEVELS, *LEVELS, None, None, None]),
        "submitted_at": at(random.randint(0, 5)),
        "waiting_since": NOW - timedelta(minutes=random.choice(MINUTES)),
        "served": timedelta(minutes=random.choice(MINUTES)),
        "custom_rank": random.choice([None, None, 0.0, 1.0]),
        "time_limit": random.choice([None, None, timedelta(hours=9), timedelta(minutes=20)]),
        "starting_took": random.choice([None, timedelta(seconds=60), timedelta(minutes=3)]),
        "avoid": random.choice([frozenset(), frozenset(), frozenset({"node-0"})]),
        "rotations": tuple(NOW - timedelta(minutes=m) for m in random.choice([(), (), (50,), (70, 55, 40, 31)])),
    }
    names = [name for name, left in free.items() if (len(left) == GPUS if gpus is None else len(left) >= gpus)][:size]
    if random.random() < 0.6 and len(names) == size:
        run = _run(number, names, gpus, free, random, fields["priority"])
        state = TaskState.RUNNING if run.notice is None else TaskState.SUSPENDING
        return a_task(number, state=state, run=run, **fields)
    if fields["time_limit"] is not None:  # a task that has used up its time does not wait any more
        fields["time_limit"] += fields["served"]
    more = {
        "held": not calm and random.random() < 0.1,
        "not_before": None if calm else random.choice([None] * 8 + [NOW + timedelta(minutes=1)]),
    }
    return a_task(number, **{**fields, **more})


def _run(
    number: int,
    names: list[str],
    gpus: int | None,
    free: dict[str, list[int]],
    random: Random,
    priority: Priority | None,
) -> Run:
    ranks = []
    for rank, name in enumerate(names):
        taken = tuple(free[name][: gpus or GPUS])
        free[name] = free[name][len(taken) :]
        ranks.append(Rank(rank=rank, node=name, gpus=taken if gpus else (), state=RankState.RUNNING))
    begun = NOW - timedelta(minutes=random.choice(MINUTES))
    return Run(
        id=RunId(f"{number}.1"),
        number=1,
        ranks=tuple(ranks),
        # A task that asks for LOW now may have asked for any level when it started.
        priority=random.choice(LEVELS) if priority in (None, Priority.LOW) else priority,
        started_at=begun,
        running_at=begun,
        checkpoint=random.choice([None, a_checkpoint(at=NOW - timedelta(minutes=1))]),
        notice=a_notice(at=NOW - timedelta(seconds=30)) if random.random() < 0.1 else None,
    )


def _quota(subject: str, level: Priority, random: Random, *, calm: bool) -> Quota:
    return a_quota(subject, priority=level, limit=None if calm else random.choice([None, None, None, 0, 1, 3, 8]))


def carried_out(shot: Snapshot, made: Plan) -> Snapshot:
    """The snapshot after the decisions of the plan have been written."""
    tasks = {task.id: task for task in shot.tasks}
    nodes = {node.name: node for node in shot.nodes}
    now = shot.now
    for decision in made.decisions:
        match decision:
            case Start():
                event = Started(at=now, nodes=decision.nodes, priority=decision.priority, gpus=decision.gpus)
            case Suspend():
                event = AskedToSuspend(at=now, reason=decision.reason, beneficiary=decision.beneficiary)
            case Keep():
                event = Promised(at=now, nodes=decision.nodes)
            case Stop():
                event = AskedToStop(at=now, reason=decision.reason)
            case Quarantine():
                nodes[decision.node] = replace(nodes[decision.node], mark=NodeMark.QUARANTINED)
                continue
        tasks[decision.task_id] = advance(tasks[decision.task_id], event)[0]
    after = replace(shot, tasks=tuple(tasks.values()), nodes=tuple(nodes.values()))
    after.check()
    return after


def emptied(shot: Snapshot, gone: Collection[TaskId] | None = None) -> Snapshot:
    """The snapshot after the told tasks among `gone` have left and do not start again at once; None: all told tasks."""
    tasks = []
    for task in shot.tasks:
        run = task.live_run
        if run is not None and run.notice is not None and (gone is None or task.id in gone):
            task = replace(task, state=TaskState.SUSPENDED, run=replace(run, ended_at=shot.now), held=True)
        tasks.append(task)
    return replace(shot, tasks=tuple(tasks))
