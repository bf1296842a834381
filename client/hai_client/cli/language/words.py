"""Numbers of things, times, states and reasons in the user's language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from hai_client.backports import UTC
from hai_client.cli.language.catalogue import is_english, say, say_in
from hai_client.cli.shared.output import plural
from hai_client.constants import ENDED_STATES

#: Names that are listed at most.
_NAMES = 4


def nodes(number: float) -> str:
    """Return a number of nodes, with at most two decimals."""
    if is_english():
        return f"{amount(number)} node{'' if number == 1 else 's'}"
    return say("%2 node", number, amount(number))


def gpus(number: int) -> str:
    """Return a number of GPUs."""
    return plural(number, "GPU") if is_english() else say("%2 GPU", number, number)


def runs(number: int) -> str:
    """Return a number of runs."""
    return plural(number, "run") if is_english() else say("%2 run", number, number)


def files(number: int) -> str:
    """Return a number of files."""
    return plural(number, "file") if is_english() else say("%2 file", number, number)


def size(count: int, each: int | None) -> str:
    """Return what a task takes: `2 nodes`, or nodes and GPUs of each: `1 node x 2 GPUs`."""
    return nodes(count) if each is None else f"{nodes(count)} {'x' if is_english() else '×'} {gpus(each)}"


def amount(number: float) -> str:
    """Return a number with at most two decimals: `1.25`."""
    return f"{number:,.2f}".rstrip("0").rstrip(".")


def duration(seconds: float) -> str:
    """Return a length of time with its two largest units."""
    whole = max(0, round(seconds))
    parts = [
        (whole // 86_400, say_in("unit", "d")),
        (whole % 86_400 // 3_600, say_in("unit", "h")),
        (whole % 3_600 // 60, say_in("unit", "min")),
        (whole % 60, say_in("unit", "s")),
    ]
    first = next((at for at, (number, _) in enumerate(parts) if number), len(parts) - 1)
    shown = [part for part in parts[first : first + 2] if part[0]] or parts[-1:]
    return " ".join(f"{number} {unit}" for number, unit in shown)


def ago(at: datetime, now: datetime | None = None) -> str:
    """Return how long ago, or how far ahead, a time is."""
    seconds = ((now or datetime.now(UTC)) - at).total_seconds()
    return say("%1 ago", duration(seconds)) if seconds >= 0 else say("in %1", duration(-seconds))


def moment(at: datetime, now: datetime) -> str:
    """Return a moment in the reader's time zone: the time, and the day if it is another one than that of `now`."""
    here = at.astimezone()
    return f"{here:%H:%M:%S}" if here.date() == now.astimezone().date() else f"{here:%Y-%m-%d %H:%M:%S}"


def time_of(value: object) -> datetime | None:
    """Return a time of the data of a verdict, which is a text; None: there is none."""
    if isinstance(value, datetime):
        return value
    try:
        found = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def when(at: object, now: datetime) -> str | None:
    """Return a moment, and how far ahead it is; None: the time is not known."""
    found = time_of(at)
    if found is None:
        return None
    return say("%1, in %2", moment(found, now), duration(max(found - now, timedelta()).total_seconds()))


def listed(names: Sequence[str], total: int | None = None) -> str:
    """Return some of `total` names."""
    more = (len(names) if total is None else total) - len(names)
    return say("%1 and %2 more", ", ".join(names), more) if more > 0 else ", ".join(names)


def node_list(names: Sequence[str]) -> str:
    """Return the names of nodes; of many only the first."""
    return listed(names[:_NAMES], len(names))


#: By state of a task: its word.
_STATES: Mapping[str, Callable[[], str]] = {
    "queued": lambda: say_in("state", "queued"),
    "starting": lambda: say_in("state", "starting"),
    "running": lambda: say_in("state", "running"),
    "suspending": lambda: say_in("state", "suspending"),
    "suspended": lambda: say_in("state", "suspended"),
    "stopping": lambda: say_in("state", "stopping"),
    "succeeded": lambda: say_in("state", "succeeded"),
    "failed": lambda: say_in("state", "failed"),
    "stopped": lambda: say_in("state", "stopped"),
}
#: Why runs end. The names are `Reason`'s of the scheduler.
REASONS: Mapping[str, Callable[[], str]] = {
    "succeeded": lambda: say("every rank exited with status 0"),
    "failed": lambda: say("its command failed"),
    "time_limit": lambda: say("it reached its time limit"),
    "preempted": lambda: say("a task of higher priority needed its nodes"),
    "turn_over": lambda: say("its turn was over and an equal waited"),
    "drained": lambda: say("a node was being drained"),
    "paused": lambda: say("the platform was paused"),
    "user_suspended": lambda: say("it was suspended by hand"),
    "user_stopped": lambda: say("it was stopped by hand"),
    "owner_archived": lambda: say("its owner was archived by an admin"),
    "yielded": lambda: say("it gave its nodes back"),
    "gpus_idle": lambda: say("its GPUs were idle and another task waited"),
    "node_lost": lambda: say("a node was lost"),
    "supervisor_killed": lambda: say("the supervisor of a rank was killed"),
    "evicted": lambda: say("the cluster took a node of it away"),
    "restored": lambda: say("the database was restored"),
    "start_failed": lambda: say("it could not be started on its nodes"),
}


def state_word(state: str) -> str:
    """Return the word for the state of a task; an unknown one as it is."""
    word = _STATES.get(state)
    return state if word is None else word()


def ended(state: str) -> str | None:
    """Return the word for a state in which a task has ended; None: it has not."""
    return state_word(state) if state in ENDED_STATES else None


def reason_word(name: str) -> str:
    """Return why a run ended, for a column: in English the service's own word."""
    return name.replace("_", " ") if is_english() else reason(name)


def reason(name: str) -> str:
    """Return why a run ended, as a part of a sentence; an unknown reason as it is."""
    known = REASONS.get(name)
    return name.replace("_", " ") if known is None else known()
