"""The decisions on a task, in order: lines of its history, and their sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.sentences.catalogue import ENGLISH, Language
from hai_scheduler.sentences.verdicts import VerdictFacts, why_of
from hai_scheduler.sentences.words import because, clock, duration, node_names, task_list
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.lookup import find
from hai_scheduler.service.shared.world import UseCase

#: Events read from the store at once.
PAGE: Final = 500


class Decisions(UseCase):
    """Reads the decision log."""

    async def of_task(self, caller: Caller, ref: str, *, after: int, limit: int) -> Sequence[HistoryEvent]:
        """At most `limit` decisions on the task with a seq greater than `after`, in order. Raises NotFound."""
        found: list[HistoryEvent] = []
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            while len(found) < limit:
                page = await tx.events.page(after=after, limit=PAGE, task_id=task.id)
                found += [event for event in page if is_decision(event)]
                if len(page) < PAGE:
                    break
                after = page[-1].seq
        return found[:limit]


def is_decision(event: HistoryEvent) -> bool:
    """Whether a line of history is a decision. Other changes of a state are none, or a notice tells them."""
    return event.kind in _SENTENCES and (event.kind != EventKind.TASK_STATE or event.data.get("to") in _STATES)


def sentence_of_event(say: Language, event: HistoryEvent) -> str:
    """The sentence about a decision."""
    return _SENTENCES[event.kind](say, event)


def _verdict(say: Language, event: HistoryEvent) -> str:
    """Why the task waited: as it was said then, or in another language of the data, where holders are ids."""
    data = event.data
    said = str(data.get("sentence", ""))
    if say is ENGLISH:
        return said
    try:
        return why_of(
            VerdictFacts(
                say=say,
                kind=VerdictKind(data["kind"]),
                priority=Priority[data["priority"]],
                data={name: _time(value) if name in _TIMES else value for name, value in data["data"].items()},
                who=task_list(say, data["holders"]),
                now=event.at,
            )
        )
    except (KeyError, TypeError, ValueError):
        return said  # another version has written it


def _time(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


def _state(say: Language, event: HistoryEvent) -> str:
    data = event.data
    after, run = data.get("to"), data.get("run")
    if after == TaskState.STARTING:
        return say("decision.starts", run=run, nodes=node_names(say, data.get("nodes", ())))
    told = because(say, data.get("reason"))
    details = say("message.details", details=data["message"]) if data.get("message") else ""
    if after == TaskState.SUSPENDED:
        return say("decision.left", run=run, saved=_saved(say, data), because=told, details=details)
    return say("message.ended", state=say(f"ended.{after}"), because=told, details=details)


def _saved(say: Language, data: Mapping[str, Any]) -> str:
    """A part of a sentence that says whether the run saved its work; empty for a run that was not told to leave."""
    key, lost = _LEFT.get(data.get("left", "")), data.get("lost_s")
    if key is None:
        return ""
    if not isinstance(lost, int | float) or lost < 1:
        return say(key, lost="")
    return say(key, lost=say("decision.lost", length=duration(say, timedelta(seconds=lost))))


def _notice(say: Language, event: HistoryEvent) -> str:
    data = event.data
    told, other = because(say, data.get("reason")), data.get("beneficiary")
    if other is not None:
        told = say("message.beneficiary_id", because=told, id=other)
    key = "decision.told" if data.get("revision") == 1 else "decision.told_again"
    by = clock(datetime.fromisoformat(data["deadline"]), event.at)
    return say(key, run=data.get("run"), clock=by, because=told)


def _priority(say: Language, event: HistoryEvent) -> str:
    name = event.data.get("priority")
    level = say(f"level.{name}") if f"level.{name}" in say.texts else str(name)
    return say("decision.priority", level=level, actor=event.actor)


_LEFT: Final[Mapping[str, str]] = {
    Left.SAVED: "decision.saved",
    Left.UNKNOWN: "decision.unknown",
    Left.ENDED: "decision.unsaved",
}
#: The states whose beginning is a decision.
_STATES: Final = frozenset(
    {TaskState.STARTING, TaskState.SUSPENDED, TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED}
)
#: The times in the data of verdicts.
_TIMES: Final = frozenset({"until", "deadline"})
_SENTENCES: Final[Mapping[str, Callable[[Language, HistoryEvent], str]]] = {
    EventKind.TASK_VERDICT: _verdict,
    EventKind.TASK_STATE: _state,
    EventKind.RUN_NOTICE: _notice,
    EventKind.TASK_HELD: lambda say, event: say(
        "decision.held" if event.data.get("held") else "decision.released", actor=event.actor
    ),
    EventKind.TASK_PRIORITY: _priority,
    EventKind.TASK_ORDER: lambda say, event: say("decision.moved", actor=event.actor),
    # The store has it in English.
    EventKind.TASK_ALARM: lambda _say, event: str(event.data.get("message", "")),
}
