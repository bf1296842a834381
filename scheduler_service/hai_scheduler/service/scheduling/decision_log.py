"""The decision log: a line of a task's history whenever the reason why it waits changes (`task.verdict`).

The lines are ordinary events: kept as long as others, and shown by `GET /tasks/{id}/decisions` among the other
decisions on a task. The feed leaves them out: there are many of them, and the task itself has not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.limits import MAX_HOLDERS
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Value, Verdict, VerdictKind, Verdicts
from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.verdicts import why
from hai_scheduler.service.shared.changes import SCHEDULER
from hai_scheduler.service.shared.gc_paused import gc_paused

#: Lines that are written in one tick; the next ticks write the others.
MOST_LINES: Final = 200
#: If more tasks than this wait, each tick looks at this number of them, in rotation, ...
MOST_WAITING: Final = 500
#: ... then pauses for this time per waiting task, since it must walk through all of them, ...
REST: Final = timedelta(microseconds=200)
#: ... and writes at most this number of lines in a second: the history must not grow without limit.
LINES_PER_S: Final = 10.0
#: Tasks in one tick whose whole verdict is compared although its kind is unchanged.
LOOKS: Final = 50
#: A task gets no two lines within this time, ...
PACE: Final = timedelta(seconds=10)
#: ... nor within this time multiplied by the number of waiting tasks.
PACE_EACH: Final = timedelta(milliseconds=20)
#: A time in a verdict counts as changed if it moved by more than this and by more than a tenth of the wait.
MOVED: Final = timedelta(minutes=1)

#: Kinds of verdicts of which a change of a number is written too.
_DATED = frozenset({VerdictKind.TURN, VerdictKind.DRAINING, VerdictKind.RESERVED, VerdictKind.QUOTA})


@dataclass(frozen=True, slots=True)
class _Said:
    """The last line that was written about a task."""

    at: datetime
    kind: VerdictKind
    #: What the task waits for, beside the time: the task that nodes are reserved for, or the row of quota.
    about: tuple[object, ...]
    until: datetime | None


@dataclass(slots=True)
class DecisionLog:
    """Writes the lines. After a restart each waiting task may get the same line once more.

    The leader's process remembers the last lines; a tick whose transaction fails does not change them.
    """

    _said: dict[TaskId, _Said] = field(default_factory=dict)
    _next: dict[TaskId, _Said] = field(default_factory=dict)
    #: The index of the first waiting task to look at; it moves on, so that each task has its turn.
    _first: int = 0
    #: When tasks were last looked at while many waited.
    _looked: datetime | None = None

    async def write(self, tx: Tx, now: datetime, tasks: Iterable[Task], verdicts: Verdicts) -> None:
        """Write the lines of one tick in its transaction; `settle` must follow its commit."""
        self._next, many = self._said, len(verdicts) > MOST_WAITING
        if many and self._rests(now, REST * len(verdicts)):
            return
        with gc_paused():
            lines = self._lines(now, tasks, verdicts, many=many)
        await tx.events.add_all(lines)

    def _lines(self, now: datetime, tasks: Iterable[Task], verdicts: Verdicts, *, many: bool) -> list[HistoryEvent]:
        most = self._most_lines(now) if many else MOST_LINES
        self._looked = now if many else None
        waiting = [task for task in tasks if task.state.waiting]
        first = self._first % max(1, len(waiting))
        self._first = first + (MOST_WAITING if many else LOOKS)
        self._next = {task.id: said for task in waiting if (said := self._said.get(task.id)) is not None}
        some = (*waiting[first:], *waiting[:first])[:MOST_WAITING]
        pace = max(PACE, PACE_EACH * len(waiting))
        lines: list[HistoryEvent] = []
        for task in self._to_look_at(some, verdicts, now - pace):
            verdict = verdicts[task.id]
            said, fresh = self._said.get(task.id), _said_of(verdict, now)
            if said is None or _differs(said, fresh, now):
                lines.append(_line(task, verdict, now))
                self._next[task.id] = fresh
            if len(lines) >= most:
                if many:
                    self._first = first + some.index(task) + 1
                break
        return lines

    def _rests(self, now: datetime, rest: timedelta) -> bool:
        return self._looked is not None and self._looked <= now < self._looked + rest

    def _most_lines(self, now: datetime) -> int:
        if self._looked is None or now < self._looked:
            return MOST_LINES
        return min(MOST_LINES, max(1, int(LINES_PER_S * (now - self._looked).total_seconds())))

    def _to_look_at(self, waiting: Iterable[Task], verdicts: Verdicts, before: datetime) -> Iterator[Task]:
        """Tasks whose kind of verdict has changed, and some of those whose numbers may have changed.

        Tasks with a line later than `before` are left out.
        """
        looks = 0
        for task in waiting:
            kind, said = verdicts.kind_of(task.id), self._said.get(task.id)
            if kind is None or kind is VerdictKind.NEXT:
                continue
            if said is None or (said.kind is not kind and said.at <= before):
                yield task
            elif kind in _DATED and said.kind is kind and said.at <= before and looks < LOOKS:
                looks += 1
                yield task

    def settle(self) -> None:
        """Take over the lines of the latest `write`: its transaction has been committed."""
        self._said = self._next


def _said_of(verdict: Verdict, now: datetime) -> _Said:
    about: tuple[object, ...] = ()
    if verdict.kind is VerdictKind.RESERVED:
        about = tuple(holder.task_id for holder in verdict.holders[:1])
    elif verdict.kind is VerdictKind.QUOTA:
        about = (verdict.data["subject"], verdict.data["limit"])
    until = verdict.data.get("until", verdict.data.get("deadline"))
    return _Said(now, verdict.kind, about, until if isinstance(until, datetime) else None)


def _differs(said: _Said, fresh: _Said, now: datetime) -> bool:
    if (said.kind, said.about) != (fresh.kind, fresh.about):
        return True
    if said.until is None or fresh.until is None:
        return said.until is not fresh.until
    return abs(fresh.until - said.until) > max(MOVED, (fresh.until - now) / 10)


def _line(task: Task, verdict: Verdict, now: datetime) -> HistoryEvent:
    data: dict[str, Any] = {
        "kind": verdict.kind.value,
        "sentence": why(ENGLISH, verdict, now),
        "priority": verdict.priority.name,
        "position": verdict.position,
        "earliest_start": _json(verdict.earliest_start),
        "data": {name: _json(value) for name, value in verdict.data.items()},
        # Names of other users' tasks are theirs: only ids are kept.
        "holders": [holder.task_id for holder in verdict.holders[:MAX_HOLDERS]],
    }
    return HistoryEvent(
        at=now, kind=EventKind.TASK_VERDICT, actor=SCHEDULER, user=task.user, task_id=task.id, data=data
    )


def _json(value: Value) -> Value:
    return value.isoformat() if isinstance(value, datetime) else value
