"""Why a task waits in a few words, for lines of lists: a stable id, its data, and English."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final

from hai_scheduler.core.explaining.explain import amount, gang
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Value, Verdict, VerdictKind

#: The id of a task that waits for quota, for readers who may not know the rows of quota that count for it.
QUOTA_OF_OTHERS: Final = "quota_of_others"

#: Where the data of a verdict say until when it holds, by kind; for other kinds the earliest start does.
_UNTIL: Final[Mapping[VerdictKind, str]] = MappingProxyType(
    {
        VerdictKind.TURN: "until",
        VerdictKind.RESERVED: "until",
        VerdictKind.DRAINING: "deadline",
        VerdictKind.RETRY: "until",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortWait:
    """Why a task waits, in a few words without capital and full stop."""

    #: The kind of the verdict in small letters, or `QUOTA_OF_OTHERS`. The words of an id do not change.
    id: str
    #: What the words need: `nodes`, `gpus` and `group` of the task; of some ids more.
    data: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    #: When that is over, as far as it can be said; the words then end with it.
    until: datetime | None = None
    #: The words in English.
    text: str


def short_of(task: Task, verdict: Verdict, now: datetime, *, private: bool) -> ShortWait:
    """Return why the task waits, in a few words.

    Args:
        task: The task, which waits.
        verdict: Its verdict.
        now: The present time.
        private: Whether the reader may see the whole task. Other readers learn what it waits for, and neither the
            quota that it may use nor what its runs said.
    """
    kind = verdict.kind
    id_ = QUOTA_OF_OTHERS if kind is VerdictKind.QUOTA and not private else kind.value.lower()
    data: dict[str, Value] = {"nodes": task.nodes, "gpus": task.gpus, "group": task.group}
    if id_ == "quota":
        data |= {"used": verdict.data.get("used"), "limit": verdict.data.get("limit"), "level": verdict.priority.name}
    if kind is VerdictKind.RESERVED and verdict.holders:
        data["first"] = verdict.holders[0].task_id
    if private and kind is VerdictKind.RETRY and "why" not in verdict.data and "broken" not in verdict.data:
        data |= {"retry": verdict.data.get("retries"), "of": verdict.data.get("of")}
    until = _until(verdict, now)
    text = _WORDS[id_](data)
    if until is not None:
        text += f", about {_about(until, now)}"
    return ShortWait(id=id_, data=MappingProxyType(data), until=until, text=text)


def _until(verdict: Verdict, now: datetime) -> datetime | None:
    if verdict.kind in (VerdictKind.HELD, VerdictKind.PAUSED, VerdictKind.NEVER, VerdictKind.NEXT):
        return None
    told = verdict.data.get(_UNTIL.get(verdict.kind, ""))
    when = told if isinstance(told, datetime) else verdict.earliest_start
    # A time that has passed helps nobody: the next look says another one.
    return when if when is not None and when > now else None


def _about(when: datetime, now: datetime) -> str:
    """Return a time without seconds: `14:20 UTC`, or with its day if that is not today."""
    return f"{when:%H:%M} UTC" if when.date() == now.date() else f"{when:%b %d} {when:%H:%M} UTC"


def _gang(data: Mapping[str, Value]) -> str:
    nodes, gpus = data["nodes"], data["gpus"]
    assert isinstance(nodes, int), f"nodes is {nodes!r}"
    return f"{gang(nodes, gpus if isinstance(gpus, int) else None)} of {data['group']}"


def _quota(data: Mapping[str, Value]) -> str:
    used, limit = data["used"], data["limit"]
    if not (isinstance(used, int | float) and isinstance(limit, int | float)):
        return "waits for quota"
    return f"waits for quota: {amount(used)} of {amount(limit)} nodes are in use at {data['level']}"


def _retry(data: Mapping[str, Value]) -> str:
    return f"waits for retry {data['retry']} of {data['of']}" if "retry" in data else "waits for its next start"


def _reserved(data: Mapping[str, Value]) -> str:
    first = f"task {data['first']}" if "first" in data else "a task that goes first"
    return f"waits for {_gang(data)}, after {first}"


_WORDS: Final[Mapping[str, Callable[[Mapping[str, Value]], str]]] = {
    "quota": _quota,
    QUOTA_OF_OTHERS: lambda _data: "waits for quota",
    "capacity": lambda data: f"waits for {_gang(data)}",
    "turn": lambda data: f"waits for its turn on {_gang(data)}",
    "reserved": _reserved,
    "draining": lambda data: (
        f"starts when {_gang(data)} are free" if data["nodes"] != 1 else f"starts when {_gang(data)} is free"
    ),
    "topology": lambda data: f"waits for {_gang(data)} close together",
    "retry": _retry,
    "held": lambda _data: "held by its owner",
    "paused": lambda _data: "waits: the platform is paused",
    "never": lambda data: f"can never start with {_gang(data)}",
    "next": lambda _data: "will be looked at in a moment",
}
