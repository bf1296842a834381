"""Verdicts, notices and states as sentences for users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from hai_scheduler.core.model import Notice, Task, TaskState
from hai_scheduler.core.reasons import Reason, sentence_of
from hai_scheduler.core.verdicts import Holder, Verdict, VerdictKind


def span(length: timedelta) -> str:
    """A length of time in its two largest units: `1 h 5 min`, `12 s`."""
    seconds = max(0, round(length.total_seconds()))
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def nodes(count: int) -> str:
    """`1 node`, `3 nodes`."""
    return "1 node" if count == 1 else f"{count} nodes"


def _who(holders: tuple[Holder, ...]) -> str:
    names = [f"task {h.task_id} of {h.user} ({h.priority.name}, {nodes(h.nodes)})" for h in holders[:3]]
    if len(holders) > 3:
        names.append(f"{len(holders) - 3} more")
    return ", ".join(names)


def why(verdict: Verdict, now: datetime) -> str:
    """Why the task waits: one sentence with a capital and a full stop."""
    return _SENTENCES[verdict.kind](verdict, now)


def _quota(verdict: Verdict, _now: datetime) -> str:
    data = verdict.data
    return (
        f"Needs {nodes(int(str(data['needs'])))} but {data['used']} of the {data['limit']} nodes that the quota of "
        f"{data['subject']} allows at {verdict.priority.name} are in use."
    )


def _needs_but(verdict: Verdict) -> str:
    free = verdict.data["free"]
    return f"Needs {nodes(int(str(verdict.data['needs'])))} but {free or 'none'} {'is' if free == 1 else 'are'} free"


def _capacity(verdict: Verdict, _now: datetime) -> str:
    held = f"; held by {_who(verdict.holders)}" if verdict.holders else ", the others cannot be used now"
    return f"{_needs_but(verdict)}{held}."


def _turn(verdict: Verdict, now: datetime) -> str:
    until = verdict.data["until"]
    assert isinstance(until, datetime)
    return (
        f"{_needs_but(verdict)}; {_who(verdict.holders)} of equal priority can keep them until "
        f"{until:%H:%M:%S} UTC, in {span(until - now)}."
    )


def _draining(verdict: Verdict, now: datetime) -> str:
    deadline = verdict.data["deadline"]
    by = f" by {deadline:%H:%M:%S} UTC, in {span(deadline - now)}" if isinstance(deadline, datetime) else ""
    who = _who(verdict.holders)
    return f"Starts when its nodes are free{by}" + (f": {who} saving and leaving." if who else ".")


def _never(verdict: Verdict, _now: datetime) -> str:
    data = verdict.data
    needs = f"Cannot start: it needs {nodes(int(str(data['needs'])))}"
    if data["cause"] == "group":
        return f"{needs} but its node group has {data['cap']}; submit it with fewer nodes."
    if data["cause"] == "none":
        return f"{needs} but there is no quota for it at {verdict.priority.name}; ask an admin for some."
    return (
        f"{needs} but the quota of {data['cause']} allows {data['cap']} at {verdict.priority.name}; "
        "submit it with fewer nodes or at another priority."
    )


_SENTENCES: Mapping[VerdictKind, Callable[[Verdict, datetime], str]] = {
    VerdictKind.QUOTA: _quota,
    VerdictKind.CAPACITY: _capacity,
    VerdictKind.TURN: _turn,
    VerdictKind.DRAINING: _draining,
    VerdictKind.NEVER: _never,
    VerdictKind.HELD: lambda _v, _n: "Held by its owner; resume it to let it have its turn.",
    VerdictKind.PAUSED: lambda _v, _n: "The platform is paused; it goes on when an admin resumes it.",
    VerdictKind.NEXT: lambda _v, _n: "Will be looked at in a moment.",
}


def notice_of(notice: Notice, beneficiary: Task | None) -> str:
    """Why a run is told to leave, as the rank reads it."""
    if beneficiary is None or notice.reason not in (Reason.PREEMPTED, Reason.TURN_OVER):
        return sentence_of(notice.reason)
    asked = beneficiary.priority.name if beneficiary.priority is not None else "AUTO"
    return (
        f"{sentence_of(notice.reason)} (task {beneficiary.id} of "
        f"{beneficiary.user}, {asked}, {nodes(beneficiary.nodes)})"
    )


def message_of(task: Task, verdict: Verdict | None, now: datetime) -> str:
    """What the task does now, or why it ended: one sentence."""
    if task.state.waiting:
        return why(verdict, now) if verdict else "Will be looked at in a moment."
    if task.state.ended:
        because = sentence_of(task.reason) if task.reason else "it ended"
        return f"{task.state.value.capitalize()}: {because}{_codes(task)}."
    run = task.live_run
    assert run is not None
    where = ", ".join(run.nodes[:4]) + (f" and {len(run.nodes) - 4} more" if len(run.nodes) > 4 else "")
    if run.notice is None:
        up = f" for {span(now - run.running_at)}" if run.running_at else ""
        return f"{'Running' if task.state is TaskState.RUNNING else 'Starting'} on {where}{up}."
    left = span(run.notice.deadline - now)
    verb = "Stopping" if task.state is TaskState.STOPPING else "Making room"
    return f"{verb} on {where}: {sentence_of(run.notice.reason)}; {left} left to save."


def _codes(task: Task) -> str:
    if task.reason is not Reason.FAILED or task.run is None:
        return ""
    failed = [f"rank {r.rank} with status {r.exit_code}" for r in task.run.ranks if r.exit_code]
    return f" ({', '.join(failed[:4])})" if failed else ""
