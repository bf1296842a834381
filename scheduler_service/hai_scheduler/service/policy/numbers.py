"""The policy numbers as a table: what each is called, how it is written, which rule it belongs to.

Settings, the REST interface, the `hai` command and the reference page are all made from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from math import isfinite
from types import MappingProxyType
from typing import Any, Final

from hai_client.durations import parse_duration
from hai_client.errors import Invalid
from hai_scheduler.core.model.policy import Policy, PolicyError


class Kind(StrEnum):
    """How a number is written."""

    #: A length of time: a text such as `15m`, or seconds.
    DURATION = "duration"
    FLOAT = "float"
    INT = "int"
    #: User name to number.
    WEIGHTS = "weights"


@dataclass(frozen=True, slots=True)
class Number:
    """One number that the rules leave to an admin. `name` is that of the field of `Policy`."""

    name: str
    kind: Kind
    #: The rule that it belongs to (docs/scheduling.md).
    rule: str
    #: One sentence.
    help: str

    @property
    def default(self) -> Any:
        """The value that is used when nobody writes one, as `written` gives it."""
        return written(getattr(Policy(), self.name))


NUMBERS: Final = (
    Number("min_run", Kind.DURATION, "P2", "A turn is never ended for an equal before it has lasted this long."),
    Number("slice", Kind.DURATION, "O2, P2", "A first turn that has lasted this long may be ended for an equal."),
    Number("slice_growth", Kind.FLOAT, "P2", "Turns at each further level may last this many times longer."),
    Number("long_after", Kind.DURATION, "O2", "Service of this length takes a task to the last level."),
    Number("starve_after", Kind.DURATION, "O2", "A task that has waited longer goes before others of its priority."),
    Number("half_life", Kind.DURATION, "O3", "After this time what a user has held counts half."),
    Number("weights", Kind.WEIGHTS, "O3", "Users whose use counts less (above 1) or more (below 1) than others'."),
    Number("demote_after", Kind.DURATION, "O4", "ABOVE_NORMAL counts as NORMAL in turns that have lasted this long."),
    Number("worth", Kind.FLOAT, "P6", "A turn lasts at least this many times what suspending and resuming costs."),
    Number("max_rotations", Kind.INT, "P7", "A task is told to leave for equals at most this many times an hour."),
    Number(
        "max_unsaved", Kind.INT, "P8", "Interrupted so often unsaved, a task leaves for no equal; 0 switches it off."
    ),
    Number("max_cross_zone", Kind.INT, "F2", "So many tasks of a node group may span zones at a time."),
    Number("strikes", Kind.INT, "H3", "So many failed runs, not by their users' fault, quarantine a node."),
    Number("strike_tasks", Kind.INT, "H3", "The failures that quarantine a node are of at least so many tasks."),
    Number("strike_users", Kind.INT, "H3", "The failures that quarantine a node are of at least so many users."),
    Number("strike_window", Kind.DURATION, "H3", "The failures that quarantine a node lie within this time."),
    Number("quarantine_share", Kind.FLOAT, "H3", "At most this share of a node group is quarantined automatically."),
    Number("default_grace", Kind.DURATION, "", "How long a task has to save, unless it says otherwise."),
    Number("patience", Kind.DURATION, "", "How long a job that can only be ended may go on after a notice, to save."),
    Number("max_grace", Kind.DURATION, "", "The longest that a task may ask for, extensions included."),
    Number("max_failed_starts", Kind.INT, "", "Starts in a row that come to nothing before a task is given up."),
)

BY_NAME: Final[Mapping[str, Number]] = MappingProxyType({number.name: number for number in NUMBERS})

#: Ten years: anything longer is a slip of the pen.
_LONGEST_S: Final = 315_360_000.0


def number_of(name: str) -> Number:
    """The number of that name. Raises PolicyError."""
    found = BY_NAME.get(name)
    if found is None:
        raise PolicyError(name, f"{name!r} is not a policy number: use {', '.join(BY_NAME)}")
    return found


def read(name: str, given: object) -> Any:
    """A value as `Policy` takes it, from how people, JSON or a configuration file write it. Raises PolicyError.

    Lengths of time are texts such as `15m` or seconds; other numbers may be written as texts too; weights are a
    mapping of users to numbers or a text such as `alice:2,bob:0.5`. Ranges are checked by `Policy` itself.
    """
    match number_of(name).kind:
        case Kind.DURATION:
            return _duration(name, given)
        case Kind.FLOAT:
            return _float(name, given)
        case Kind.INT:
            return _int(name, given)
        case Kind.WEIGHTS:
            return MappingProxyType(dict(_weights(name, given)))


def written(value: object) -> Any:
    """A value of `Policy` in the form in which JSON carries it and `read` takes it."""
    if isinstance(value, timedelta):
        return _length_text(value)
    if isinstance(value, Mapping):
        return dict(sorted(value.items()))
    return value


def changed(policy: Policy, changes: Mapping[str, object]) -> Policy:
    """The policy with other values for some numbers, each as `read` takes it. Raises PolicyError."""
    values = {name: getattr(policy, name) for name in BY_NAME}
    return Policy(**{**values, **{name: read(name, given) for name, given in changes.items()}})


def _duration(name: str, given: object) -> timedelta:
    try:
        seconds = parse_duration(given, field=name) if isinstance(given, str) else _float(name, given)
    except Invalid as error:
        raise PolicyError(name, error.message) from None
    if not 0 <= seconds <= _LONGEST_S:
        raise PolicyError(name, f"{name} is {seconds:g} seconds: write a length of time such as 90s, 15m or 4h")
    return timedelta(seconds=seconds)


def _float(name: str, given: object) -> float:
    try:
        value = float(given) if isinstance(given, int | float | str) and not isinstance(given, bool) else None
    except (ValueError, OverflowError):
        value = None
    if value is None or not isfinite(value):
        raise PolicyError(name, f"{name} is {_short(given)}: write a number such as 2 or 0.5")
    return value


def _int(name: str, given: object) -> int:
    value = _float(name, given)
    if value != int(value):
        raise PolicyError(name, f"{name} is {_short(given)}: write a whole number")
    return int(value)


def _weights(name: str, given: object) -> Iterator[tuple[str, float]]:
    if isinstance(given, str):
        pairs = [part.strip().rpartition(":")[::2] for part in given.split(",") if part.strip()]
    elif isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        raise PolicyError(name, f"{name} is {_short(given)}: write users and numbers, such as alice:2,bob:0.5")
    for user, weight in pairs:
        if not isinstance(user, str) or not user.strip():
            raise PolicyError(name, f"{name} names no user for {_short(weight)}: write for example alice:2")
        try:
            yield user.strip(), _float(name, weight)
        except PolicyError:
            raise PolicyError(
                name, f"{name}: the weight of {user} is {_short(weight)}: write a number such as 2 or 0.5"
            ) from None


def _short(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _length_text(length: timedelta) -> str:
    """A length of time without loss, to the millisecond: `1h30m`."""
    left = round(length.total_seconds() * 1000)
    parts = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
