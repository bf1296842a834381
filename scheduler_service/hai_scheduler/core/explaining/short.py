"""Why a task waits, for lines of lists: a stable id and its data, of which a few words are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final

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
    """Why a task waits, as far as a few words tell it."""

    #: The kind of the verdict in small letters, or `QUOTA_OF_OTHERS`. The words of an id do not change.
    id: str
    #: What the words need: `nodes`, `gpus` and `group` of the task; of some ids more.
    data: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    #: When that is over, as far as it can be said; the words then end with it.
    until: datetime | None = None


def short_of(task: Task, verdict: Verdict, now: datetime, *, private: bool) -> ShortWait:
    """Return why the task waits, as far as a few words tell it.

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
    return ShortWait(id=id_, data=MappingProxyType(data), until=_until(verdict, now))


def _until(verdict: Verdict, now: datetime) -> datetime | None:
    if verdict.kind in (VerdictKind.HELD, VerdictKind.PAUSED, VerdictKind.NEVER, VerdictKind.NEXT):
        return None
    told = verdict.data.get(_UNTIL.get(verdict.kind, ""))
    when = told if isinstance(told, datetime) else verdict.earliest_start
    # A time that has passed helps nobody: the next look says another one.
    return when if when is not None and when > now else None
