"""A trace in memory, and how it becomes jobs for a cluster."""

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
from hai_scheduler.sim.scenario import Job, Manner

#: The node group of jobs that name none.
GROUP = "training"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a trace is read."""

    #: How many GPUs make a whole node, in formats that count GPUs alone.
    gpus_per_node: int = 8
    #: Seed of what a trace does not say: who submitted what.
    seed: int = 0
    #: Users that are made up in each user group of a trace that names none.
    users_per_group: int = 20
    #: Only jobs submitted from then on, and before then: a time, or an offset from the first submission.
    begin: datetime | timedelta | None = None
    end: datetime | timedelta | None = None
    #: Only jobs of these user groups (virtual clusters); none at all pools all of them.
    only: frozenset[str] = frozenset()
    #: Only jobs for this node group.
    group: str | None = None


class Traced(NamedTuple):
    """One job of a trace."""

    #: The line that it stands in.
    line: int
    submitted_at: datetime
    work: timedelta
    nodes: int
    #: GPUs of each of its nodes; None is whole nodes.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The jobs of a file in order of submission, and what was assumed about them."""

    file: str
    jobs: tuple[Traced, ...]
    #: Sentences for whoever reads a figure.
    notes: tuple[str, ...] = ()
    #: Rows of quota, if the file says any.
    quotas: tuple[Quota, ...] | None = None
    #: The user groups of each user.
    groups_of: Mapping[str, frozenset[str]] = field(default_factory=dict)


def parts_of(gpus: int, gpus_per_node: int) -> tuple[int, int | None]:
    """Nodes, and GPUs of each (None: whole nodes), for a number of GPUs."""
    if gpus < gpus_per_node:
        return 1, gpus
    return -(-gpus // gpus_per_node), None


def finished(
    file: str,
    jobs: Sequence[Traced],
    reading: Reading,
    *,
    notes: Sequence[str] = (),
    quotas: tuple[Quota, ...] | None = None,
    groups_of: Mapping[str, frozenset[str]] | None = None,
) -> Trace:
    """The trace: its window, in order, with users made up where it names none."""
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


def _chosen(file: str, jobs: list[Traced], reading: Reading) -> list[Traced]:
    """The jobs of the window and groups that are asked for."""
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


def _with_users(jobs: Sequence[Traced], reading: Reading) -> list[Traced]:
    """Spread the jobs of each user group over its users: user n gets 1/n as many as the first."""
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


def jobs_of(trace: Trace, nodes: Sequence[Node], *, skip_too_large: bool = False) -> tuple[list[Job], list[str]]:
    """The trace's jobs as they are submitted to a cluster, and sentences about what was left out.

    Raises:
        TraceError: A job is larger than the cluster, and such jobs are not to be skipped.
    """
    widest = max((node.gpus for node in nodes), default=0)
    jobs: list[Job] = []
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


def _job(task_id: TaskId, traced: Traced, group: str, widest: int) -> Job:
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
    return Job(
        task=task,
        work=traced.work,
        manner=traced.manner,
        saves_in=traced.saves_in,
        saves_every=traced.saves_every,
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
