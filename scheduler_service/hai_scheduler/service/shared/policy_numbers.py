"""The table of policy numbers: the name of each, its form, and the rule that it belongs to.

Settings, the REST interface, the `hai` command and the reference page are made from this table.
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

#: The most users that have a weight of their own: each tick, and each reader of the numbers, goes through all of them.
MOST_WEIGHTS: Final = 1000


class NumberKind(StrEnum):
    """The form of a policy number."""

    #: A length of time: a text such as `15m`, or seconds.
    DURATION = "duration"
    FLOAT = "float"
    INT = "int"
    #: A mapping of user names to numbers.
    WEIGHTS = "weights"
    #: One of a few words.
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class NumberWord:
    """One of the words that a policy number of kind CHOICE may be."""

    word: str
    #: What happens then, in a few words.
    meaning: str


@dataclass(frozen=True, slots=True)
class Number:
    """One policy number. `name` is the name of the field of `Policy`."""

    name: str
    kind: NumberKind
    #: The rules that the number belongs to (docs/scheduling.md).
    rule: str
    #: The meaning, in one sentence.
    about: str
    #: Of kind CHOICE: all its words.
    choices: tuple[NumberWord, ...] = ()

    @property
    def help(self) -> str:
        """The meaning in one sentence, which also names the words of a choice."""
        if not self.choices:
            return self.about
        *others, last = (f"{choice.word} ({choice.meaning})" for choice in self.choices)
        return f"{self.about.removesuffix('.')}: {', '.join(others)} or {last}."

    @property
    def default(self) -> Any:
        """The default value, in the form that `written` gives."""
        return written(getattr(Policy(), self.name))


NUMBERS: Final = (
    Number("min_run", NumberKind.DURATION, "P2", "A turn is never ended for an equal before it has lasted this long."),
    Number("slice", NumberKind.DURATION, "O2, P2", "A first turn that has lasted this long may be ended for an equal."),
    Number("slice_growth", NumberKind.FLOAT, "P2", "Turns at each further level may last this many times longer."),
    Number("long_after", NumberKind.DURATION, "O2", "Service of this length takes a task to the last level."),
    Number(
        "starve_after", NumberKind.DURATION, "O2", "A task that has waited longer goes before others of its priority."
    ),
    Number("half_life", NumberKind.DURATION, "O3", "After this time, a user's past use counts half."),
    Number(
        "weights", NumberKind.WEIGHTS, "O3", "Users whose use counts less (above 1) or more (below 1) than others'."
    ),
    Number(
        "demote_after", NumberKind.DURATION, "O4", "ABOVE_NORMAL counts as NORMAL in turns that have lasted this long."
    ),
    Number(
        "min_run_per_switch",
        NumberKind.FLOAT,
        "P6",
        "A turn lasts at least this many times as long as suspending and resuming takes.",
    ),
    Number(
        "max_rotations", NumberKind.INT, "P7", "A task is told to leave for equals at most this many times an hour."
    ),
    Number(
        "max_unsaved",
        NumberKind.INT,
        "P8",
        "Interruptions without a save after which a task keeps its nodes from equals; 0 is off.",
    ),
    Number("max_cross_zone", NumberKind.INT, "F2", "At most this many tasks of a node group may span zones at a time."),
    Number("strikes", NumberKind.INT, "H3", "This many failed runs, not by their users' fault, quarantine a node."),
    Number(
        "strike_tasks", NumberKind.INT, "H3", "The failures that quarantine a node are of at least this many tasks."
    ),
    Number(
        "strike_users", NumberKind.INT, "H3", "The failures that quarantine a node are of at least this many users."
    ),
    Number("strike_window", NumberKind.DURATION, "H3", "The failures that quarantine a node lie within this time."),
    Number(
        "quarantine_share", NumberKind.FLOAT, "H3", "At most this share of a node group is quarantined automatically."
    ),
    Number(
        "default_grace",
        NumberKind.DURATION,
        "",
        "How long a task has to save after a notice, unless it asks for another time.",
    ),
    Number(
        "patience", NumberKind.DURATION, "", "How long a job that can only be ended may go on after a notice, to save."
    ),
    Number("max_grace", NumberKind.DURATION, "", "The longest grace that a task may ask for, including extensions."),
    Number("max_failed_starts", NumberKind.INT, "", "Failed starts in a row after which a task fails."),
    Number("idle_after", NumberKind.DURATION, "I1", "GPUs that have done nothing for this long are idle."),
    Number("idle_use", NumberKind.FLOAT, "I1", "Use of a GPU below this, in per cent, is nothing ..."),
    Number(
        "idle_power",
        NumberKind.FLOAT,
        "I1",
        "... where it takes less than this share of the power that it may take, or no process is on it.",
    ),
    Number(
        "idle_action",
        NumberKind.CHOICE,
        "I1",
        "What becomes of a task whose GPUs are idle.",
        (
            NumberWord("notify", "its owner is told"),
            NumberWord("yield", "its turn ends as well, when another task waits"),
        ),
    ),
    Number(
        "snapshots",
        NumberKind.CHOICE,
        "",
        "Whether tasks start in a snapshot of their code.",
        (
            NumberWord("off", "none does"),
            NumberWord("offered", "users choose"),
            NumberWord("required", "each does"),
        ),
    ),
    Number(
        "keep_snapshots",
        NumberKind.DURATION,
        "",
        "How long a snapshot of code stays after the end of the last task that has it.",
    ),
    Number(
        "keep_audit",
        NumberKind.DURATION,
        "",
        "How long entries of the audit are kept; the number for all node groups counts.",
    ),
)

BY_NAME: Final[Mapping[str, Number]] = MappingProxyType({number.name: number for number in NUMBERS})

#: Ten years, in seconds: a longer time is certainly a mistake.
_LONGEST_S: Final = 315_360_000.0


def number_of(name: str) -> Number:
    """The row of the table for that name. Raises PolicyError."""
    found = BY_NAME.get(name)
    if found is None:
        raise PolicyError(name, f"{name!r} is not a policy number: use {', '.join(BY_NAME)}")
    return found


def read(name: str, given: object) -> Any:
    """Read a value from a user, JSON or a configuration file, in the form that `Policy` takes. Raises PolicyError.

    Lengths of time are texts such as `15m`, or seconds; other numbers may be texts too; weights are a mapping of users
    to numbers, or a text such as `alice:2,bob:0.5`. `Policy` itself checks the ranges.
    """
    match number_of(name).kind:
        case NumberKind.DURATION:
            return _duration(name, given)
        case NumberKind.FLOAT:
            return _float(name, given)
        case NumberKind.INT:
            return _int(name, given)
        case NumberKind.WEIGHTS:
            return MappingProxyType(dict(_weights(name, given)))
        case NumberKind.CHOICE:
            return _choice(name, given)


def written(value: object) -> Any:
    """A value of `Policy` in a form for JSON, which `read` takes again."""
    if isinstance(value, timedelta):
        return _length_text(value)
    if isinstance(value, Mapping):
        return dict(sorted(value.items()))
    return value


def changed(policy: Policy, changes: Mapping[str, object]) -> Policy:
    """A copy of the policy with these changes, each as `read` takes it. Raises PolicyError."""
    values = {name: getattr(policy, name) for name in BY_NAME}
    return Policy(**{**values, **{name: read(name, value) for name, value in changes.items()}})


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


def _choice(name: str, given: object) -> str:
    if not isinstance(given, str):
        raise PolicyError(name, f"{name} is {_short(given)}: write one word, such as {getattr(Policy(), name)}")
    # `Policy` itself checks which words there are.
    return given.strip().lower()


def _weights(name: str, given: object) -> Iterator[tuple[str, float]]:
    if isinstance(given, str):
        pairs = [part.strip().rpartition(":")[::2] for part in given.split(",") if part.strip()]
    elif isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        raise PolicyError(name, f"{name} is {_short(given)}: write users and numbers, such as alice:2,bob:0.5")
    if len(pairs) > MOST_WEIGHTS:
        raise PolicyError(name, f"{name} names {len(pairs)} users: name {MOST_WEIGHTS} at most, all others weigh 1")
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
    """A length of time as text, exact to the millisecond: `1h30m`."""
    left = round(length.total_seconds() * 1000)
    parts = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
