"""Verdicts, notices and states as sentences for users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import pairwise

from hai_scheduler.core.explaining.alternatives import ChangeKind, WhatIf
from hai_scheduler.core.model.reasons import Reason, sentence_of
from hai_scheduler.core.model.run import Notice, RankState, Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.verdicts import Holder, Verdict, VerdictKind
from hai_scheduler.core.ordering.shares import UserShare

#: Units of lengths of time, in seconds.
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def human_duration(length: timedelta) -> str:
    """Return a length of time in its two largest units, as client and panel write it: `1 h 5 min`, `12 s`."""
    left = max(0, round(length.total_seconds()))
    for (unit, size), (below, part) in pairwise(_UNITS):
        if left >= size:
            more = left % size // part
            return f"{left // size} {unit}" + (f" {more} {below}" if more else "")
    return f"{left} s"


def clock(when: datetime, now: datetime) -> str:
    """Return a time of day, with the date if it is not today: `08:12:00 UTC`, `2026-01-07 08:12 UTC`."""
    return f"{when:%H:%M:%S} UTC" if when.date() == now.date() else f"{when:%Y-%m-%d %H:%M} UTC"


def nodes(count: int) -> str:
    """Return a number of nodes in words: `1 node`, `3 nodes`."""
    return "1 node" if count == 1 else f"{count} nodes"


def gang(count: int, gpus: int | None) -> str:
    """Return what a task asks for (U2): `3 nodes`, `1 GPU on 1 node`, `2 GPUs on each of 3 nodes`."""
    if gpus is None:
        return nodes(count)
    each = "1 node" if count == 1 else f"each of {count} nodes"
    return f"{'1 GPU' if gpus == 1 else f'{gpus} GPUs'} on {each}"


def amount(value: float) -> str:
    """Return a number of nodes, with at most two decimals for parts of nodes (Q1): `2`, `1.25`."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def who(holders: tuple[Holder, ...]) -> str:
    """Return the first three holders by id and user: `task 41 of bob (HIGH, 2 nodes)`; names of tasks are private."""
    names = [f"task {h.task_id} of {h.user} ({h.priority.name}, {gang(h.nodes, h.gpus)})" for h in holders[:3]]
    if len(holders) > 3:
        names.append(f"{len(holders) - 3} more")
    return ", ".join(names)


def quota_of(subject: object) -> str:
    """Return whose quota a row is, in words: `the quota of user:ann`, `the quota of group ml as a whole` (Q2)."""
    whole = str(subject).removeprefix("total:")
    return f"the quota of group {whole} as a whole" if whole != str(subject) else f"the quota of {subject}"


def why(verdict: Verdict, now: datetime) -> str:
    """Return why the task waits: one sentence with a capital and a full stop."""
    return _SENTENCES[verdict.kind](verdict, now)


def _number(verdict: Verdict, name: str) -> int:
    value = verdict.data[name]
    assert isinstance(value, int), f"{verdict.kind}: {name} is {value!r}"
    return value


def _needs(verdict: Verdict) -> str:
    gpus = verdict.data.get("gpus")
    return gang(_number(verdict, "needs"), gpus if isinstance(gpus, int) else None)


def _free(verdict: Verdict) -> str:
    free = _number(verdict, "free")
    if verdict.data.get("gpus") is None:
        return f"{free or 'none'} {'is' if free <= 1 else 'are'} free"
    return f"{nodes(free) if free else 'no node'} {'have' if free > 1 else 'has'} as many free"


def _needs_but(verdict: Verdict) -> str:
    return f"Needs {_needs(verdict)} but {_free(verdict)}{_orphaned(verdict)}"


def _orphaned(verdict: Verdict) -> str:
    """Return how many nodes orphaned runs hold, in words, or "": only an admin can end them (decision 0016)."""
    count = verdict.data.get("orphaned")
    if not isinstance(count, int):
        return ""
    return f" ({nodes(count)} {'is' if count == 1 else 'are'} held by runs that belong to no task any more)"


def _until(verdict: Verdict, name: str, now: datetime) -> str:
    """Return ` until 08:12:00 UTC, in 12 min`, or "" if the time is not known."""
    when = verdict.data.get(name)
    return f" until {clock(when, now)}, in {human_duration(when - now)}" if isinstance(when, datetime) else ""


def _quota(verdict: Verdict, _now: datetime) -> str:
    used, limit = verdict.data["used"], verdict.data["limit"]
    assert isinstance(used, int | float), f"QUOTA: used is {used!r}"
    assert isinstance(limit, int | float), f"QUOTA: limit is {limit!r}"
    by = f" by {who(verdict.holders)}" if verdict.holders else ""
    return (
        f"Needs {_needs(verdict)} but {amount(used)} of the {amount(limit)} nodes that "
        f"{quota_of(verdict.data['subject'])} allows at {verdict.priority.name} are in use{by}."
    )


def _capacity(verdict: Verdict, _now: datetime) -> str:
    held = f"; held by {who(verdict.holders)}" if verdict.holders else ", the others cannot be used now"
    return f"{_needs_but(verdict)}{held}.{_unsaved(verdict)}"


def _unsaved(verdict: Verdict) -> str:
    """Return a sentence about a task that is not interrupted for equals because it does not save (P8), or ""."""
    if "unsaved" not in verdict.data:
        return ""
    times = _number(verdict, "unsaved_runs")
    return (
        f" Task {_number(verdict, 'unsaved')} keeps its nodes until it saves:"
        f" it was interrupted {times} times in a row without a checkpoint."
    )


def _turn(verdict: Verdict, now: datetime) -> str:
    equals = f"{who(verdict.holders)} of equal priority" if verdict.holders else "tasks of equal priority"
    until = _until(verdict, "until", now) or " until their turns are over"
    return f"{_needs_but(verdict)}; {equals} can keep them{until}."


def _reserved(verdict: Verdict, now: datetime) -> str:
    first = who(verdict.holders) or "a task that goes first"
    return f"Needs {_needs(verdict)}; what is free is kept for {first}{_until(verdict, 'until', now)}."


def _draining(verdict: Verdict, now: datetime) -> str:
    deadline = verdict.data["deadline"]
    by = f" by {clock(deadline, now)}, in {human_duration(deadline - now)}" if isinstance(deadline, datetime) else ""
    leaving = who(verdict.holders)
    return f"Starts when its nodes are free{by}" + (f": {leaving} saving and leaving." if leaving else ".")


def _topology(verdict: Verdict, _now: datetime) -> str:
    return (
        f"Needs {_needs(verdict)} close together; {_free(verdict)}, but at most {_number(verdict, 'together')} of them "
        "within one zone, and as many tasks as may span zones do."
    )


def _retry(verdict: Verdict, now: datetime) -> str:
    if "broken" in verdict.data:
        number = f"start {_number(verdict, 'starts') + 1} of {_number(verdict, 'of')}"
        return f"Its last run broke: {verdict.data['broken']}; {number} waits{_until(verdict, 'until', now)}."
    if "why" in verdict.data:
        number = f"start {_number(verdict, 'starts') + 1} of {_number(verdict, 'of')}"
        unstarted = str(verdict.data["why"]).rstrip(".")
        return f"Could not be started: {unstarted}; {number} waits{_until(verdict, 'until', now)}."
    number = f"retry {_number(verdict, 'retries')} of {_number(verdict, 'of')}"
    return f"Its command failed; {number} waits{_until(verdict, 'until', now) or ' for its turn'}."


def _never(verdict: Verdict, _now: datetime) -> str:
    data = verdict.data
    needs = f"Cannot start: it needs {_needs(verdict)}"
    if data["cause"] == "group":
        return f"{needs} but its node group has {data['cap']}; submit it with fewer nodes."
    if data["cause"] == "gpus":
        return f"{needs} but the nodes of its group have {data['cap']} each; submit it with fewer GPUs."
    if data["cause"] == "none":
        level = verdict.priority.name
        return (
            f"{needs} but there is no quota for it at {level}; ask an admin for some, who gives it with "
            f"`hai admin quota set user:NAME {level} {data['needs']}`."
        )
    return (
        f"{needs} but {quota_of(data['cause'])} allows {data['cap']} at {verdict.priority.name}; "
        "submit it with fewer nodes or at another priority."
    )


_SENTENCES: Mapping[VerdictKind, Callable[[Verdict, datetime], str]] = {
    VerdictKind.QUOTA: _quota,
    VerdictKind.CAPACITY: _capacity,
    VerdictKind.TURN: _turn,
    VerdictKind.RESERVED: _reserved,
    VerdictKind.DRAINING: _draining,
    VerdictKind.TOPOLOGY: _topology,
    VerdictKind.RETRY: _retry,
    VerdictKind.NEVER: _never,
    VerdictKind.HELD: lambda _v, _n: "Held by its owner; resume it to let it have its turn.",
    VerdictKind.PAUSED: lambda _v, _n: "The platform is paused; it goes on when an admin resumes it.",
    VerdictKind.NEXT: lambda _v, _n: "Will be looked at in a moment.",
}


def share_sentence(share: UserShare) -> str:
    """Return what the user has had of the node group, and what follows from it: one sentence (O3)."""
    if share.given is None:
        return (
            f"No user with tasks in node group {share.node_group} has used it lately, "
            "so shares do not decide who goes first."
        )
    order = "no other user with tasks there has had less for their weight"
    if share.users_before:
        others = "1 other user has" if share.users_before == 1 else f"{share.users_before} other users have"
        order = f"{others} had less for their weight, and of tasks of equal priority and level theirs go first"
    weights = f"weight {amount(share.weight)} of {amount(share.weights)}"
    return (
        f"{share.user} has had {percent(share.given)} of the recent use of node group {share.node_group} "
        f"and is entitled to {percent(share.entitled)} ({weights}); {order}."
    )


def percent(part: float) -> str:
    """Return a part of a whole: `62 %`, `0.4 %`."""
    return f"{part * 100:.1f} %" if 0 < part < 0.01 else f"{part * 100:.0f} %"


def what_would(change: WhatIf, task: Task, now: datetime) -> str:
    """Return what would happen to the task with a change: one sentence with a capital and a full stop."""
    return f"{_CHANGES[change.kind](change, task)} {_effect(change, now)}."


def _level_change(change: WhatIf, _task: Task) -> str:
    return f"At {change.priority.name if change.priority is not None else 'AUTO'}"


def _nodes_change(change: WhatIf, task: Task) -> str:
    return f"With {nodes(change.nodes or 0)} instead of {task.nodes}"


def _gpus_change(change: WhatIf, task: Task) -> str:
    count = "1 GPU" if change.gpus == 1 else f"{change.gpus} GPUs"
    return f"With {count} of each node instead of {task.gpus}"


def _limit_change(change: WhatIf, _task: Task) -> str:
    level = change.priority.name if change.priority is not None else "AUTO"
    if str(change.subject).startswith("total:"):
        return f"If {quota_of(change.subject)} were {nodes(change.limit or 0)} at {level}"
    return f"With a quota of {nodes(change.limit or 0)} at {level}"


_CHANGES: Mapping[ChangeKind, Callable[[WhatIf, Task], str]] = {
    ChangeKind.PRIORITY: _level_change,
    ChangeKind.NODES: _nodes_change,
    ChangeKind.GPUS: _gpus_change,
    ChangeKind.LIMIT: _limit_change,
}


def _effect(change: WhatIf, now: datetime) -> str:
    if change.starts_now:
        return "it would start now"
    by = f", by {clock(change.starts_by, now)} at the latest" if change.starts_by is not None else ""
    if not change.suspends:
        return f"it would start when nodes that are being freed are free{by}"
    return f"it would have {who(change.suspends)} suspended and start when they have saved{by}"


def notice_of(notice: Notice, beneficiary: Task | None) -> str:
    """Return why a run is told to leave, as its ranks read it: a sentence without capital and full stop."""
    if beneficiary is None or notice.reason not in (Reason.PREEMPTED, Reason.TURN_OVER, Reason.GPUS_IDLE):
        return sentence_of(notice.reason)
    asked = beneficiary.priority.name if beneficiary.priority is not None else "AUTO"
    return (
        f"{sentence_of(notice.reason)} (task {beneficiary.id} of "
        f"{beneficiary.user}, {asked}, {gang(beneficiary.nodes, beneficiary.gpus)})"
    )


def message_of(task: Task, verdict: Verdict | None, now: datetime) -> str:
    """Return what the task does now, or why it ended: one sentence."""
    if task.state.waiting:
        return why(verdict, now) if verdict else "Will be looked at in a moment."
    if task.state.ended:
        because = sentence_of(task.reason) if task.reason else "it ended"
        return f"{task.state.value.capitalize()}: {because}{_codes(task)}."
    run = task.live_run
    assert run is not None
    where = node_names(run.nodes)
    if run.notice is None:
        if task.state is not TaskState.RUNNING:
            return f"Starting on {where}{_waits(run)}."
        return f"Running on {where}{f' since {clock(run.running_at, now)}' if run.running_at else ''}."
    left = human_duration(run.notice.deadline - now)
    verb = "Stopping" if task.state is TaskState.STOPPING else "Making room"
    return f"{verb} on {where}: {sentence_of(run.notice.reason)}; {left} left to save."


def _waits(run: Run) -> str:
    """Return `: rank 1 on node-2 waits: ImagePullBackOff: ...`, in the cluster's words, or "" without a problem."""
    waiting = [rank for rank in run.ranks if rank.state is RankState.PENDING and rank.message]
    if not waiting:
        return ""
    first = waiting[0]
    more = f" ({len(waiting) - 1} more wait too)" if len(waiting) > 1 else ""
    return f": rank {first.rank} on {first.node}{more} waits: {(first.message or '').rstrip('. ')}"


def node_names(names: tuple[str, ...]) -> str:
    """Return the first four names: `node-1, node-2`, `a, b, c, d and 3 more`."""
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _codes(task: Task) -> str:
    if task.run is None:
        return ""
    if task.reason is Reason.START_FAILED:
        return next((f" ({rank.message})" for rank in task.run.ranks if rank.message), "")
    told = failures_of(task.run) if task.reason is Reason.FAILED else ""
    return f" ({told})" if told else ""


def failures_of(run: Run) -> str:
    """Return how the ranks that broke the run failed: `rank 0 with status 1, rank 2 with status 137: out of memory`."""
    failed = [f"rank {rank.rank} with {rank.failed_with}" for rank in run.failures if rank.exit_code]
    more = f" and {len(failed) - 4} more" if len(failed) > 4 else ""
    return f"{', '.join(failed[:4])}{more}"
