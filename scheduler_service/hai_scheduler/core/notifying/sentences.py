"""The English texts of notifications. Clients write the same in other languages, from `sentence` and `params`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from hai_scheduler.core.model.reasons import Reason, sentence_of
from hai_scheduler.core.notifying.values import Notification, NotificationKind

#: Notifications that a digest names at most.
MOST_NAMED: Final = 20


def text_of(notification: Notification) -> str:
    """Return the text of a notification; its id for a sentence that this version does not know."""
    write = SENTENCES.get(notification.sentence)
    return notification.sentence if write is None else write(notification.params)


def digest_of(notifications: Sequence[Notification]) -> str:
    """Return the text of a digest: how many of each kind, in the order of kinds."""
    counts = Counter(one.kind for one in notifications)
    parts = [f"{counts[kind]} {_NOUNS[kind]}" for kind in NotificationKind if counts[kind]]
    return f"{len(notifications)} more notifications: {', '.join(parts)}."


def digest_lines(notifications: Sequence[Notification]) -> tuple[str, ...]:
    """Return the texts of the first notifications of a digest, and how many more there are."""
    named = [text_of(one) for one in notifications[:MOST_NAMED]]
    more = len(notifications) - len(named)
    return (*named, *((f"and {more} more",) if more else ()))


def _task(params: Mapping[str, Any]) -> str:
    return f"Task {params.get('task')} ({params.get('name')})"


def _because(params: Mapping[str, Any]) -> str:
    word = params.get("reason")
    if word is None:
        return "no reason was kept"
    return sentence_of(Reason(word)) if word in set(Reason) else str(word)


def _length(seconds: Any) -> str:
    minutes = max(1, round(float(seconds) / 60))
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def _deadline(params: Mapping[str, Any]) -> str:
    return f"{datetime.fromisoformat(str(params['deadline'])):%Y-%m-%d %H:%M:%S} UTC"


def _failed(params: Mapping[str, Any]) -> str:
    codes = ", ".join(str(code) for code in params.get("exit_codes") or ())
    said = f": {params['message']}" if params.get("message") else ""
    return f"{_task(params)} has failed: {_because(params)}" + (f" (status {codes}{said})." if codes else ".")


def _idle(params: Mapping[str, Any]) -> str:
    ranks: Sequence[int] = params.get("ranks") or []
    of = params.get("of_ranks", 0)
    where = "all ranks" if len(ranks) == of else f"rank {ranks[0]}" if len(ranks) == 1 else f"{len(ranks)} ranks"
    return (
        f"{_task(params)}: GPUs of {where} have been idle for {params.get('minutes')} min. "
        "Stop or suspend the task if it hangs."
    )


SENTENCES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "task.started": lambda params: f"{_task(params)} has started.",
    "task.resumed": lambda params: f"{_task(params)} goes on: run {params.get('run')} has started.",
    "task.interrupted": lambda params: (
        f"{_task(params)} must leave its nodes by {_deadline(params)} and goes on later: {_because(params)}."
    ),
    "task.ending": lambda params: f"{_task(params)} must end by {_deadline(params)}: {_because(params)}.",
    "task.broke": lambda params: f"{_task(params)} was interrupted and goes on later: {_because(params)}.",
    "task.succeeded": lambda params: f"{_task(params)} has ended well.",
    "task.stopped": lambda params: f"{_task(params)} has been stopped: {_because(params)}.",
    "task.failed": _failed,
    "task.waiting": lambda params: (
        f"{_task(params)} has waited for {_length(params.get('waited_s', 0))}. "
        f"`hai explain {params.get('task')}` says why."
    ),
    "task.idle_gpus": _idle,
    "environment.built": lambda params: (
        f"The environment {params.get('environment', params.get('name'))} is built (task {params.get('task')})."
    ),
    "test": lambda params: f"This is a test of notifications, asked for by {params.get('user')}.",
}

_NOUNS: Final[Mapping[NotificationKind, str]] = {
    NotificationKind.STARTED: "started",
    NotificationKind.RESUMED: "resumed",
    NotificationKind.INTERRUPTED: "interrupted",
    NotificationKind.ENDED: "ended",
    NotificationKind.FAILED: "failed",
    NotificationKind.WAITING: "waiting for long",
    NotificationKind.GPUS_IDLE: "with idle GPUs",
    NotificationKind.ENVIRONMENT_BUILT: "environments built",
    NotificationKind.TEST: "tests",
}
