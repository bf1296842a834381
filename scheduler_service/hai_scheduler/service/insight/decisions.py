"""The decisions on a task, in order: lines of its history as sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from hai_scheduler.core.explaining.explain import clock, human_duration, node_names
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.reasons import Reason, sentence_of
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.lookup import find
from hai_scheduler.service.shared.world import UseCase

#: Events read from the store at once.
PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLine:
    """A line of history, and its text."""

    event: HistoryEvent
    #: The text of the line, with a capital and a full stop.
    sentence: str


class Decisions(UseCase):
    """Reads the decision log."""

    async def of_task(self, caller: Caller, ref: str, *, after: int, limit: int) -> Sequence[DecisionLine]:
        """At most `limit` decisions on the task with a seq greater than `after`, in order. Raises NotFound."""
        found: list[DecisionLine] = []
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            while len(found) < limit:
                page = await tx.events.page(after=after, limit=PAGE, task_id=task.id)
                found += [
                    DecisionLine(event=event, sentence=sentence)
                    for event in page
                    if (sentence := sentence_of_event(event)) is not None
                ]
                if len(page) < PAGE:
                    break
                after = page[-1].seq
        return found[:limit]


def sentence_of_event(event: HistoryEvent) -> str | None:
    """The sentence about the decision in a line of history; None if the line is not a decision."""
    write = _SENTENCES.get(event.kind)
    return None if write is None else write(event)


def _because(data: Mapping[str, Any]) -> str:
    """The reason as a part of a sentence; unknown words of other versions are shown unchanged."""
    word = data.get("reason")
    if word is None:
        return "no reason was kept"
    return sentence_of(Reason(word)) if word in set(Reason) else str(word)


def _state(event: HistoryEvent) -> str | None:
    """The sentence about a start or an end; None for other changes, which a notice tells or which are no decisions."""
    data = event.data
    after = data.get("to")
    if after == TaskState.STARTING:
        return f"Run {data.get('run')} starts on {node_names(tuple(data.get('nodes', ())))}."
    message = f" ({data['message']})" if data.get("message") else ""
    if after == TaskState.SUSPENDED:
        return f"Run {data.get('run')} has left its nodes{_saved(data)}: {_because(data)}{message}."
    if after in (TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED):
        return f"{str(after).capitalize()}: {_because(data)}{message}."
    return None


def _saved(data: Mapping[str, Any]) -> str:
    """A part of a sentence that says whether the run saved its work; empty for a run that was not told to leave."""
    left, lost = data.get("left"), data.get("lost_s")
    back = (
        f" ({human_duration(timedelta(seconds=lost))} of work lost)"
        if isinstance(lost, int | float) and lost >= 1
        else ""
    )
    match left:
        case Left.SAVED:
            return f", with its work saved{back}"
        case Left.UNKNOWN:
            return f" by itself, and nothing shows that it saved when it was told{back}"
        case Left.ENDED:
            return f" before it had saved{back}"
        case _:
            return ""


def _notice(event: HistoryEvent) -> str:
    data = event.data
    deadline = clock(datetime.fromisoformat(data["deadline"]), event.at)
    told = "is told to leave by" if data.get("revision") == 1 else "now has to leave by"
    other = f" (task {data['beneficiary']})" if data.get("beneficiary") is not None else ""
    return f"Run {data.get('run')} {told} {deadline}: {_because(data)}{other}."


def _held(event: HistoryEvent) -> str:
    return f"Held by {event.actor}." if event.data.get("held") else f"Released by {event.actor}."


_SENTENCES: Final[Mapping[str, Callable[[HistoryEvent], str | None]]] = {
    EventKind.TASK_VERDICT: lambda event: str(event.data.get("sentence", "")),
    EventKind.TASK_STATE: _state,
    EventKind.RUN_NOTICE: _notice,
    EventKind.TASK_HELD: _held,
    EventKind.TASK_PRIORITY: lambda event: f"Given the priority {event.data.get('priority')} by {event.actor}.",
    EventKind.TASK_ORDER: lambda event: f"Moved among the waiting tasks of its owner by {event.actor}.",
    EventKind.TASK_ALARM: lambda event: str(event.data.get("message", "")),
}
