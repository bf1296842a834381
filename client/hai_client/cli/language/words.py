"""Numbers of things, times, states and reasons in the user's language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from hai_client.backports import UTC
from hai_client.cli.language.catalogue import is_english, say, say_in
from hai_client.cli.shared.output import plural

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


def state_word(state: str) -> str:
    """Return the word for the state of a task; an unknown one as it is."""
    word = _STATES.get(state)
    return state if word is None else word()
