"""What notifications tell, from the id of their sentence and its parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from hai_scheduler.core.notifying.values import Notification, NotificationKind
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.sentences.words import because, duration

#: Notifications that a digest names at most.
MOST_NAMED: Final = 20

Params = Mapping[str, Any]


def text_of(say: Language, notification: Notification) -> str:
    """Return the text of a notification."""
    return told(say, notification.sentence, notification.params)


def told(say: Language, sentence: str, params: Params) -> str:
    """Return the text of a sentence; its id if this version does not know it."""
    values = _VALUES.get(sentence)
    if values is None:
        return sentence
    subject = say("told.subject", task=params.get("task"), name=params.get("name"))
    return say(f"told.{_key(sentence)}", subject=subject, **values(say, params))


def digest_of(say: Language, count: int, kinds: Sequence[str]) -> str:
    """Return the text of a digest of a number of notifications: how many of each kind, in the order of kinds."""
    counts = Counter(kinds)
    parts = [say(f"told.count.{kind.value}", n=counts[kind]) for kind in NotificationKind if counts[kind]]
    return say("told.digest", n=count, kinds=say("words.comma").join(parts))


def digest_lines(say: Language, notifications: Sequence[Notification]) -> tuple[str, ...]:
    """Return the texts of the first notifications of a digest, and how many more there are."""
    named = [text_of(say, one) for one in notifications[:MOST_NAMED]]
    more = len(notifications) - len(named)
    return (*named, *((say("told.and_more", n=more),) if more else ()))


def _key(sentence: str) -> str:
    return sentence.removeprefix("task.").replace("environment.", "environment_")


def _nothing(_say: Language, _params: Params) -> Params:
    return {}


def _reason(say: Language, params: Params) -> Params:
    return {"because": because(say, params.get("reason"))}


def _deadline(say: Language, params: Params) -> Params:
    at = f"{datetime.fromisoformat(str(params['deadline'])):%Y-%m-%d %H:%M:%S} UTC"
    return {"clock": at, **_reason(say, params)}


def _failed(say: Language, params: Params) -> Params:
    codes = ", ".join(str(code) for code in params.get("exit_codes") or ())
    words = say("told.words", message=params["message"]) if params.get("message") else ""
    return {"status": say("told.status", codes=codes, words=words) if codes else "", **_reason(say, params)}


def _waiting(say: Language, params: Params) -> Params:
    # Whole minutes, and one at least: it waits for a rule that counts minutes.
    minutes = max(1, round(float(params.get("waited_s", 0)) / 60))
    return {"length": duration(say, timedelta(minutes=minutes)), "task": params.get("task")}


def _idle(say: Language, params: Params) -> Params:
    ranks: Sequence[int] = params.get("ranks") or []
    if len(ranks) == params.get("of_ranks", 0):
        where = say("told.all_ranks")
    else:
        where = say("told.rank", rank=ranks[0]) if len(ranks) == 1 else say("count.rank", n=len(ranks))
    return {"ranks": where, "minutes": params.get("minutes")}


def _built(_say: Language, params: Params) -> Params:
    return {"environment": params.get("environment", params.get("name")), "task": params.get("task")}


#: By the id of a sentence: its values, besides the task.
_VALUES: Final[Mapping[str, Callable[[Language, Params], Params]]] = {
    "task.started": _nothing,
    "task.resumed": lambda _say, params: {"run": params.get("run")},
    "task.interrupted": _deadline,
    "task.ending": _deadline,
    "task.broke": _reason,
    "task.succeeded": _nothing,
    "task.stopped": _reason,
    "task.failed": _failed,
    "task.waiting": _waiting,
    "task.idle_gpus": _idle,
    "environment.built": _built,
    "test": lambda _say, params: {"user": params.get("user")},
}
#: The ids of all sentences.
TOLD: Final = tuple(_VALUES)
