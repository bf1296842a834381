"""Clusters as the planner meets them, made from a seed: nodes, quota, users and a long queue of tasks.

Nothing runs yet: `busy_cluster.World` lets the planner itself fill the cluster, so every state is one that can happen.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.node import Node, NodeMark, Strike
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Checkpoint, Rank, RankState, Run
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Retry, Task, TaskState

#: A Monday morning.
NOW = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
GROUP = "training"
GPUS = 8
LEAF = 20
#: Leaves in a zone: 600 nodes, as in the paper on the original's cluster; small clusters get two zones all the same.
ZONE_LEAVES = 30
TEAMS = 20
#: By number of nodes, how many of 1,000 tasks ask for that number: 3.9 on average, most of them 1 to 4.
SIZES = {1: 400, 2: 200, 3: 80, 4: 150, 6: 30, 8: 80, 16: 40, 32: 15, 64: 5}
#: The level asked for, of 1,000 tasks; None is AUTO. A user without quota at the level asks for NORMAL.
LEVELS: dict[Priority | None, int] = {
    Priority.LOW: 50,
    Priority.BELOW_NORMAL: 30,
    Priority.NORMAL: 690,
    Priority.ABOVE_NORMAL: 60,
    Priority.HIGH: 40,
    Priority.VERY_HIGH: 20,
    Priority.EXTREME_HIGH: 10,
    None: 100,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a cluster is, and how long its queue (running tasks count)."""

    nodes: int
    tasks: int
    users: int = 400

    def __str__(self) -> str:
        return f"{self.nodes:,} nodes x {self.tasks:,} tasks"


class Maker:
    """Makes the parts of a cluster. Equal seeds make equal parts."""

    def __init__(self, shape: Shape, seed: int = 0) -> None:
        self.shape = shape
        self.rng = random.Random(f"{seed}/{shape.nodes}/{shape.tasks}")  # text: the same on every machine
        self._ids = iter(range(1, 2**31))
        self.users = [f"user-{n:03}" for n in range(shape.users)]
        #: Zipf: the n-th user sends 1/n as many tasks as the first.
        self._zipf = list(accumulate(1 / (n + 1) for n in range(shape.users)))
        #: Users who drag their tasks into an order of their own: one in ten, and half of their tasks.
        self._orders = frozenset(self.rng.sample(self.users, shape.users // 10))
        self.groups_of = {user: self._teams() for user in self.users}
        self._caps: dict[tuple[str, Priority], int] = {}
        self.quotas = tuple(self._quotas())

    def _teams(self) -> frozenset[str]:
        return frozenset(f"team-{self.rng.randrange(TEAMS)}" for _ in range(self.rng.choice((1, 1, 2))))

    def snapshot(self) -> Snapshot:
        """The cluster, empty, and all tasks waiting: some for their first turn, some for a further one."""
        nodes = tuple(self.nodes())
        names = [node.name for node in nodes]
        return Snapshot(
            now=NOW,
            nodes=nodes,
            tasks=tuple(self.waiting(NOW, names) for _ in range(self.shape.tasks)),
            quotas=self.quotas,
            uses=tuple(self._uses()),
            strikes=tuple(
                Strike(node=name, task_id=TaskId(0), user="user-0", at=NOW - timedelta(minutes=self.rng.uniform(0, 60)))
                for name in self.rng.sample(names, len(names) // 200)
            ),
            groups_of=self.groups_of,
        )

    # -- nodes, quota, use ------------------------------------------------------------------------

    def nodes(self) -> Iterator[Node]:
        """Leaves of 20, zones of 600 nodes but at least two; one in 200 nodes is cordoned, one in 200 is away."""
        leaves = -(-self.shape.nodes // LEAF)
        zones = max(2, round(leaves / ZONE_LEAVES))
        for number in range(self.shape.nodes):
            leaf, chance = number // LEAF, self.rng.random()
            zone = leaf * zones // leaves
            yield Node(
                name=f"node-{number:05}",
                group=GROUP,
                leaf=f"leaf-{leaf:03}",
                zone=f"zone-{zone}",
                gpus=GPUS,
                ready=chance >= 0.005,
                mark=NodeMark.CORDONED if chance > 0.995 else NodeMark.NONE,
            )

    def _quotas(self) -> Iterator[Quota]:
        """Rows for all users, for teams, for some users, and caps for whole teams."""
        size = self.shape.nodes
        yield self._row("public", Priority.LOW, None)
        yield self._row("public", Priority.BELOW_NORMAL, max(64, size // 4))
        yield self._row("public", Priority.NORMAL, max(64, size // 10))
        for n in range(TEAMS):
            yield self._row(f"group:team-{n}", Priority.ABOVE_NORMAL, max(32, size // 20))
            if n % 2:
                yield self._row(f"group:team-{n}", Priority.HIGH, max(16, size // 40))
            if n % 4 == 1:
                yield self._row(f"group:team-{n}", Priority.VERY_HIGH, max(8, size // 100))
            if n % 5 == 0:
                yield self._row(f"total:team-{n}", Priority.NORMAL, max(128, size // 3))
        for user in self.users:
            if self.rng.random() < 0.1:
                yield self._row(f"user:{user}", Priority.NORMAL, max(64, size // 5))
            if self.rng.random() < 0.1:
                yield self._row(f"user:{user}", Priority.VERY_HIGH, max(8, size // 100))
            if self.rng.random() < 0.03:
                yield self._row(f"user:{user}", Priority.EXTREME_HIGH, max(4, size // 200))

    def _row(self, subject: str, priority: Priority, limit: int | None) -> Quota:
        self._caps[subject, priority] = 2**31 if limit is None else limit
        return Quota(subject=subject, group=GROUP, priority=priority, limit=limit)

    def cap(self, user: str, priority: Priority) -> int:
        """Nodes that `user` may hold at `priority`: by the user's own row, else the largest of a team, else all's."""
        own = self._caps.get((f"user:{user}", priority))
        if own is not None:
            return own
        teams = [self._caps[key] for team in self.groups_of[user] if (key := (f"group:{team}", priority)) in self._caps]
        return max(teams) if teams else self._caps.get(("public", priority), 0)

    def _uses(self) -> Iterator[Usage]:
        for rank, user in enumerate(self.users):
            if self.rng.random() < 0.8:
                held = self.rng.expovariate(1) * self.shape.nodes * 360 / (rank + 1)
                yield Usage(
                    user=user, group=GROUP, node_seconds=held, at=NOW - timedelta(minutes=self.rng.uniform(0, 90))
                )

    # -- tasks ------------------------------------------------------------------------------------

    def arriving(self, now: datetime) -> Task:
        """A task that is submitted at `now`."""
        rng, number = self.rng, TaskId(next(self._ids))
        user = rng.choices(self.users, cum_weights=self._zipf)[0]
        gpus = rng.randint(1, 4) if rng.random() < 0.15 else None
        nodes = rng.choices(list(SIZES), list(SIZES.values()))[0] if gpus is None else rng.choice((1,) * 9 + (2,))
        priority = rng.choices(list(LEVELS), list(LEVELS.values()))[0]
        if priority is not None and self.cap(user, priority) < nodes:
            priority = Priority.NORMAL
        return Task(
            id=number,
            name=f"task-{number}",
            user=user,
            group=GROUP,
            priority=priority,
            nodes=nodes,
            gpus=gpus,
            submitted_at=now,
            waiting_since=now,
            time_limit=timedelta(hours=rng.uniform(8, 72)) if rng.random() < 0.2 else None,
            retry=Retry(count=2, backoff=timedelta(minutes=1)) if rng.random() < 0.2 else None,
            custom_rank=rng.uniform(0, 100) if user in self._orders and rng.random() < 0.5 else None,
        )

    def waiting(self, now: datetime, names: list[str]) -> Task:
        """A task that has been waiting; two of five have had turns before: all levels of service."""
        rng = self.rng
        submitted = now - timedelta(hours=rng.expovariate(1 / 4))
        task = self.arriving(submitted)
        if rng.random() >= 0.4:
            return task
        since = now - (now - submitted) * rng.random()
        served = (since - submitted) * rng.uniform(0.2, 0.9)
        ended = _past_run(task, rng.sample(names, task.nodes), since - min(served, timedelta(minutes=40)), since)
        return _suspended(task, ended, served, rng)


def _past_run(task: Task, names: list[str], began: datetime, ended: datetime) -> Run:
    ranks = tuple(
        Rank(rank=n, node=name, gpus=tuple(range(task.gpus or 0)), state=RankState.EXITED, exit_code=143)
        for n, name in enumerate(names)
    )
    return Run(
        id=task.run_id(1),
        number=1,
        ranks=ranks,
        priority=task.priority or Priority.NORMAL,
        started_at=began,
        running_at=began,
        ended_at=ended,
        reason=Reason.TURN_OVER,
        left=Left.SAVED,
        lost=timedelta(0),
    )


def _suspended(task: Task, run: Run, served: timedelta, rng: random.Random) -> Task:
    assert run.ended_at is not None
    return replace(
        task,
        state=TaskState.SUSPENDED,
        run=run,
        served=served,
        waiting_since=run.ended_at,
        suspensions=rng.randint(1, 6),
        avoid=frozenset({rng.choice(run.nodes)}) if rng.random() < 0.02 else frozenset(),
        rotations=(run.ended_at,),
        leaving_took=timedelta(seconds=rng.uniform(5, 60)),
        starting_took=timedelta(seconds=rng.uniform(5, 60)),
        checkpoint=Checkpoint(at=run.ended_at, step=100) if rng.random() < 0.8 else None,
        reason=Reason.TURN_OVER,
    )
