"""A trace in memory, and the jobs for a simulated cluster that are made from it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task
from hai_scheduler.sim.formats.errors import TraceError
from hai_scheduler.sim.scenario import Manner, SimulatedJob

#: The node group of jobs without one.
GROUP = "training"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReading:
    """Options for reading a trace."""

    #: How many GPUs make a whole node, for formats that give only GPUs.
    gpus_per_node: int = 8
    #: Seed for what a trace may leave out: which user submitted which job.
    seed: int = 0
    #: How many users are made up in each user group of a trace without users.
    users_per_group: int = 20
    #: Only jobs submitted from `begin` on and before `end`: a time, or an offset from the first submission.
    begin: datetime | timedelta | None = None
    end: datetime | timedelta | None = None
    #: Only jobs of these user groups (virtual clusters); empty: of all user groups.
    only: frozenset[str] = frozenset()
    #: Only jobs for this node group.
    group: str | None = None


class Traced(NamedTuple):
    """One job of a trace."""

    #: The line of the file.
    line: int
    submitted_at: datetime
    work: timedelta
    nodes: int
    #: How many GPUs of each node; None is whole nodes.
    gpus: int | None = None
    user: str = ""
    #: The user group; "" is none.
    user_group: str = ""
    priority: Priority | None = Priority.NORMAL
    group: str = GROUP
    name: str = ""
    time_limit: timedelta | None = None
    saves_in: timedelta = timedelta(0)
    saves_every: timedelta | None = None
    manner: Manner = Manner.CATCHES
    idle_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The jobs of a file in order of submission, and what was assumed about them."""

    file: str
    jobs: tuple[Traced, ...]
    #: Sentences on the assumptions, for readers of the figures.
    notes: tuple[str, ...] = ()
    #: Rows of quota; None: the file has none.
    quotas: tuple[Quota, ...] | None = None
    #: The user groups of each user.
    groups_of: Mapping[str, frozenset[str]] = field(default_factory=dict)


def parts_of(gpus: int, gpus_per_node: int) -> tuple[int, int | None]:
    """Return the nodes, and the GPUs of each (None: whole nodes), for a number of GPUs."""
    if gpus < gpus_per_node:
        return 1, gpus
    return -(-gpus // gpus_per_node), None


def finished(
    file: str,
    jobs: Sequence[Traced],
    reading: TraceReading,
    *,
    notes: Sequence[str] = (),
    quotas: tuple[Quota, ...] | None = None,
    groups_of: Mapping[str, frozenset[str]] | None = None,
) -> Trace:
    """Return the trace with the jobs that `reading` chooses, in order, with users made up where it has none.

    Args:
        file: The name of the file, for messages.
        jobs: All jobs of the file.
        reading: Which jobs are chosen, and how users are made up.
        notes: Assumptions of the format.
        quotas: Rows of quota; None: the file has none.
        groups_of: The user groups of each user.

    Raises:
        TraceError: No job is chosen, or the jobs are for several node groups.
    """
    chosen = _chosen(file, sorted(jobs, key=lambda job: job.submitted_at), reading)
    told = list(notes)
    if any(not job.user for job in chosen):
        chosen = _with_users(chosen, reading)
        told.append(
            f"the trace names no users: they are made up, {reading.users_per_group} in each user group, "
            f"some busier than others (seed {reading.seed})"
        )
    known = dict(groups_of or {})
    for job in chosen:
        if job.user_group:
            known[job.user] = known.get(job.user, frozenset()) | {job.user_group}
    return Trace(file=file, jobs=tuple(chosen), notes=tuple(told), quotas=quotas, groups_of=known)


def _chosen(file: str, jobs: list[Traced], reading: TraceReading) -> list[Traced]:
    """Return the jobs of the chosen time, user groups and node group. Raises TraceError."""
    if not jobs:
        raise TraceError(file, None, None, None, "has no jobs; name a file with some")
    first = jobs[0].submitted_at
    begin, end = (first + at if isinstance(at, timedelta) else at for at in (reading.begin, reading.end))
    chosen = [
        job
        for job in jobs
        if (begin is None or job.submitted_at >= begin)
        and (end is None or job.submitted_at < end)
        and (not reading.only or job.user_group in reading.only)
        and (reading.group is None or job.group == reading.group)
    ]
    if not chosen:
        groups = ", ".join(sorted({job.user_group for job in jobs} - {""})[:20]) or "none"
        raise TraceError(
            file,
            None,
            None,
            None,
            f"none of its {len(jobs)} jobs is chosen; they are submitted from {first:%Y-%m-%d %H:%M:%S} to "
            f"{jobs[-1].submitted_at:%Y-%m-%d %H:%M:%S} UTC, user groups: {groups}; "
            "change --from, --to, --vc or --group",
        )
    several = sorted({job.group for job in chosen})
    if len(several) > 1:
        raise TraceError(
            file,
            None,
            "group",
            None,
            f"has jobs for several node groups ({', '.join(several)}); choose one with --group",
        )
    return chosen


def _with_users(jobs: Sequence[Traced], reading: TraceReading) -> list[Traced]:
    """Return the jobs with users: those of a user group are spread so that user n has 1/n as many as the first."""
    chances: dict[str, random.Random] = {}
    ranks = range(reading.users_per_group)
    weights = [1 / (rank + 1) for rank in ranks]
    sums = [sum(weights[: rank + 1]) for rank in ranks]
    found = []
    for job in jobs:
        if job.user:
            found.append(job)
            continue
        group = job.user_group or "users"
        chance = chances.get(group)
        if chance is None:
            chance = chances[group] = random.Random(f"{reading.seed}/{group}")  # noqa: S311  # nothing secret
        rank = chance.choices(ranks, cum_weights=sums)[0]
        found.append(job._replace(user=f"{group}-{rank + 1:02d}"))
    return found


def jobs_of(
    trace: Trace, nodes: Sequence[Node], *, skip_too_large: bool = False
) -> tuple[list[SimulatedJob], list[str]]:
    """Return the trace's jobs for a cluster, and sentences about jobs that were left out.

    Args:
        trace: The trace.
        nodes: The nodes of the cluster, of one node group.
        skip_too_large: Whether jobs that are larger than the cluster are left out.

    Raises:
        TraceError: A job is larger than the cluster and is not left out, or no job is left.
    """
    widest = max((node.gpus for node in nodes), default=0)
    jobs: list[SimulatedJob] = []
    skipped: Counter[int] = Counter()
    for traced in trace.jobs:
        if traced.nodes > len(nodes) or (traced.gpus or 0) > widest:
            if not skip_too_large:
                raise _too_large(trace, traced, len(nodes), widest)
            skipped[traced.nodes] += 1
            continue
        jobs.append(_job(TaskId(len(jobs) + 1), traced, nodes[0].group, widest))
    if not jobs:
        raise TraceError(trace.file, None, None, None, "every job is too large for the cluster; raise --nodes")
    notes = []
    if skipped:
        notes.append(
            f"{skipped.total()} jobs of up to {max(skipped)} nodes were left out: the cluster has {len(nodes)}"
        )
    return jobs, notes


def _job(task_id: TaskId, traced: Traced, group: str, widest: int) -> SimulatedJob:
    task = Task(
        id=task_id,
        name=traced.name or f"job-{task_id}",
        user=traced.user,
        group=group,
        priority=traced.priority,
        nodes=traced.nodes,
        gpus=None if traced.gpus is not None and traced.gpus >= widest else traced.gpus,
        submitted_at=traced.submitted_at,
        waiting_since=traced.submitted_at,
        time_limit=traced.time_limit,
    )
    return SimulatedJob(
        task=task,
        work=traced.work,
        manner=traced.manner,
        saves_in=traced.saves_in,
        saves_every=traced.saves_every,
        idle_share=traced.idle_share,
    )


def _too_large(trace: Trace, traced: Traced, nodes: int, widest: int) -> TraceError:
    if traced.nodes > nodes:
        needs, has, option = f"{traced.nodes} nodes", f"{nodes} nodes", f"--nodes {traced.nodes}"
    else:
        needs, has = f"{traced.gpus} GPUs of a node", f"{widest}"
        option = f"--gpus-per-node {traced.gpus}"
    return TraceError(
        trace.file,
        traced.line,
        "nodes" if traced.nodes > nodes else "gpus",
        None,
        f"the job needs {needs} and the cluster has {has}; use {option} or more, or --skip-too-large",
    )
