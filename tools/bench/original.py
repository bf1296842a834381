"""The open scheduling algorithm of the original HAI platform, written again from a description of what it does.

What it does, on three data frames (nodes, quota, tasks):

1. Assign: tasks in the order (custom_rank, first_id) draw on the quota of their user, level and group; AUTO takes the
   highest level that has enough left. Those in quota are sorted by level, custom_rank and first_id; as far as the
   running sum of their nodes stays within the group's usable nodes, they may run: a strict prefix.
2. Match: running tasks that may run keep their nodes; queued ones that may run get a random sample of free nodes;
   running ones that may not run any more are suspended.

Where the original goes through rows with `iterrows`, over all tasks for the quota and over those that may run for the
nodes, so does this; what it does with whole columns is done so here. Columns that it carries but does not decide by
are left out, and results are gathered in lists and written once, not row by row: it is rather faster than its model.
`tight=True` goes further: rows as plain tuples, the fastest that a loop over a frame can be.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import TaskState
from kit.seeded_clusters import Maker

AUTO = -1
NO_LIMIT = 2**31


@dataclass(slots=True)
class Frames:
    """The input of the original's scheduler at each tick."""

    nodes: pd.DataFrame
    quota: pd.DataFrame
    tasks: pd.DataFrame


def frames(snapshot: Snapshot, maker: Maker) -> Frames:
    """The snapshot as frames. Building them is not part of what is timed."""
    nodes = pd.DataFrame(
        [{"name": n.name, "group": n.group, "active": n.schedulable, "status": "Ready"} for n in snapshot.nodes]
    )
    quota = pd.DataFrame(
        [
            {"user": user, "group": snapshot.nodes[0].group, "priority": int(level), "nodes": cap}
            for user in maker.users
            for level in Priority
            if (cap := min(maker.cap(user, level), NO_LIMIT))
        ]
    )
    rows = []
    for task in snapshot.tasks:
        if task.held or task.state is TaskState.STOPPING:
            continue
        rows.append(
            {
                "id": task.id,
                "first_id": task.id,
                "user": task.user,
                "group": task.group,
                "priority": AUTO if task.priority is None else int(task.priority),
                "nodes": task.nodes,
                "custom_rank": float(task.id) if task.custom_rank is None else task.custom_rank,
                "queue_status": "scheduled" if task.live_run else "queued",
                "assigned_nodes": list(task.live_run.nodes) if task.live_run else [],
            }
        )
    return Frames(nodes, quota, pd.DataFrame(rows))


def schedule(given: Frames, rng: random.Random, *, quota: bool = True, tight: bool = False) -> pd.DataFrame:
    """One tick: the tasks with `assign_result`, `match_result` and the nodes of those that start."""
    return match(given, assign(given, quota=quota, tight=tight), rng, tight=tight)


def _rows(frame: pd.DataFrame, tight: bool) -> Iterator[Any]:
    if tight:
        yield from frame.itertuples()
    else:
        for _, row in frame.iterrows():
            yield row


def assign(given: Frames, *, quota: bool = True, tight: bool = False) -> pd.DataFrame:
    """The tasks, with the result of the step that assigns quota."""
    tasks = given.tasks.sort_values(["custom_rank", "first_id"])
    tasks["assign_result"] = "CAN_NOT_RUN"
    if quota:
        levels, results = _in_quota(given.quota, tasks, tight)
        tasks["priority"], tasks["assign_result"] = levels, results
    inside = tasks[tasks.assign_result == "CAN_NOT_RUN"]
    inside = inside.sort_values(["priority", "custom_rank", "first_id"], ascending=[False, True, True])
    usable = given.nodes[given.nodes.active & (given.nodes.status == "Ready")].groupby("group").size()
    for group, part in inside.groupby("group"):
        fits = part[part.nodes.cumsum() <= usable.get(group, 0)]
        tasks.loc[fits.index, "assign_result"] = "CAN_RUN"
    return tasks


def _in_quota(rows: pd.DataFrame, tasks: pd.DataFrame, tight: bool) -> tuple[list[int], list[str]]:
    """The level of each task and whether its quota holds it, in the order of the frame."""
    whole = {(user, group, level): n for user, group, level, n in zip(*(rows[c] for c in rows), strict=True)}
    left = dict(whole)
    steps = sorted({level for _, _, level in whole}, reverse=True)
    levels: list[int] = []
    results: list[str] = []
    for task in _rows(tasks, tight):
        user, group, level, need = task.user, task.group, task.priority, task.nodes
        if level == AUTO:
            level = next((step for step in steps if left.get((user, group, step), 0) >= need), steps[-1])
        key = (user, group, level)
        if whole.get(key, 0) < need:
            result = "QUOTA_EXCEEDED"
        elif left[key] < need:
            result = "OUT_OF_QUOTA"
        else:
            left[key] -= need
            result = "CAN_NOT_RUN"
        levels.append(level)
        results.append(result)
    return levels, results


def match(given: Frames, tasks: pd.DataFrame, rng: random.Random, *, tight: bool = False) -> pd.DataFrame:
    """The tasks, with the nodes that the step of matching gives them."""
    may_run = tasks.assign_result == "CAN_RUN"
    runs = tasks.queue_status == "scheduled"
    tasks["match_result"] = np.select([runs & may_run, runs], ["KEEP_RUNNING", "SUSPEND"], "DO_NOTHING")
    usable = given.nodes[given.nodes.active & (given.nodes.status == "Ready")]
    chosen = tasks[may_run].sort_values(["priority", "custom_rank", "first_id"], ascending=[False, True, True])
    started: dict[Any, list[str]] = {}
    for group, part in chosen.groupby("group"):
        free = set(usable.name[usable.group == group])
        for task in _rows(part[part.queue_status == "scheduled"], tight):
            if free.issuperset(task.assigned_nodes):
                free.difference_update(task.assigned_nodes)
        for task in _rows(part[part.queue_status == "queued"], tight):
            if len(free) >= task.nodes:
                sample = rng.sample(sorted(free), task.nodes)
                free.difference_update(sample)
                started[task.Index if tight else task.name] = sample
    where = list(started)
    tasks.loc[where, "match_result"] = "STARTUP"
    tasks.loc[where, "assigned_nodes"] = pd.Series(started, dtype=object)
    return tasks


def carry_out(given: Frames, made: pd.DataFrame) -> Counter[str]:
    """Write the decisions into the frame of tasks, for the next tick; returns how many there are of each result."""
    results = made.match_result.reindex(given.tasks.index)
    starts, leaves = results == "STARTUP", results == "SUSPEND"
    given.tasks.loc[starts, "queue_status"] = "scheduled"
    given.tasks.loc[starts, "assigned_nodes"] = made.assigned_nodes[results.index[starts]]
    given.tasks.loc[leaves, "queue_status"] = "queued"
    return Counter(results)


def end_some(given: Frames, count: int, rng: random.Random) -> None:
    """End `count` running tasks, chosen at random."""
    running = list(given.tasks.index[given.tasks.queue_status == "scheduled"])
    given.tasks = given.tasks.drop(rng.sample(running, min(count, len(running))))
