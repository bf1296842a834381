"""Words, numbers and patterns of the wire that are not fields of models, with their names in client and panel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

from hai_scheduler import __version__
from hai_scheduler.api.bindings.typescript import WIDTH, comment, quoted, union
from hai_scheduler.api.wire.base import PriorityChoice, PriorityName, ProfileName, TaskStateName
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.limits import (
    HIDDEN_PATTERN,
    JOB_NUMBER_PATTERN,
    LEAST_REDACTED,
    MAX_JOB_NUMBER,
    MAX_JOB_NUMBERS,
    MAX_RANKS_PER_NODE,
    MAX_RETRIES,
    MAX_SECRET_BYTES,
    MAX_STEP,
    NAME_LENGTH,
    NAME_PATTERN,
    SPOT,
    TASK_NAME_PATTERN,
)
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import VerdictKind

Reader = Literal["client", "panel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A value under a name."""

    name: str
    value: int | str | tuple[str, ...] | dict[str, int]
    #: What it means, in one sentence.
    meaning: str
    #: The panel's name of the type of one of the words.
    type_name: str | None = None
    #: Who has it.
    readers: frozenset[Reader] = frozenset({"client", "panel"})


CONSTANTS: Final = (
    Constant(
        name="PRIORITIES",
        value={level.name: level.value for level in Priority},
        meaning="The levels, the lowest first, with the numbers that the original command line used for them.",
        readers=frozenset({"client"}),
    ),
    Constant(
        name="PRIORITIES",
        value=tuple(level.name for level in sorted(Priority, reverse=True)),
        meaning="The levels, the highest first, as menus show them.",
        type_name="PriorityName",
        readers=frozenset({"panel"}),
    ),
    Constant(name="AUTO", value="AUTO", meaning="Asks for the highest level that still has quota."),
    Constant(
        name="TASK_STATES",
        value=tuple(state.value for state in TaskState),
        meaning="The states of a task.",
        type_name="TaskState",
    ),
    Constant(
        name="ENDED_STATES",
        value=tuple(state.value for state in TaskState if state.ended),
        meaning="States that nothing follows.",
    ),
    Constant(
        name="PROFILES",
        value=tuple(profile.value for profile in Profile),
        meaning="How a task can be told to leave, the default first.",
        type_name="ProfileName",
    ),
    Constant(
        name="VERDICT_KINDS",
        value=tuple(kind.value for kind in VerdictKind),
        meaning="What a task can wait for.",
        type_name="VerdictKind",
    ),
    Constant(
        name="VERSION",
        value=__version__,
        meaning="The version that this was written for.",
        readers=frozenset({"panel"}),
    ),
    Constant(name="NAME_LENGTH", value=NAME_LENGTH, meaning="The most characters of a name."),
    Constant(
        name="TASK_NAME_PATTERN",
        value=TASK_NAME_PATTERN,
        meaning="The name of a task matches it as a whole, with the flag `u`.",
        readers=frozenset({"panel"}),
    ),
    Constant(
        name="HIDDEN_PATTERN",
        value=HIDDEN_PATTERN,
        meaning="A character that controls, ends a line, or changes the direction of text: no name may have one.",
        readers=frozenset({"client"}),
    ),
    Constant(name="MAX_RETRIES", value=MAX_RETRIES, meaning="How often a task may be started again when it fails."),
    Constant(
        name="MAX_RANKS_PER_NODE", value=MAX_RANKS_PER_NODE, meaning="How often a command may run on each node at most."
    ),
    Constant(
        name="NAME_PATTERN",
        value=NAME_PATTERN,
        meaning="The name of a secret, as a regular expression.",
        readers=frozenset({"client"}),
    ),
    Constant(
        name="MAX_SECRET_BYTES",
        value=MAX_SECRET_BYTES,
        meaning="The most bytes of a user's secret.",
        readers=frozenset({"client"}),
    ),
    Constant(
        name="LEAST_REDACTED",
        value=LEAST_REDACTED,
        meaning="Bytes of the shortest secret that is looked for in logs: shorter ones would be found in words.",
        readers=frozenset({"client"}),
    ),
    Constant(
        name="SPOT",
        value=SPOT,
        meaning="The tag of a task that is a user's spot container, and the beginning of its name.",
        readers=frozenset({"client"}),
    ),
    Constant(
        name="MAX_JOB_NUMBERS",
        value=MAX_JOB_NUMBERS,
        meaning="Names of numbers that a job may report, by process and by run.",
        readers=frozenset({"client"}),
    ),
    Constant(
        name="JOB_NUMBER_PATTERN",
        value=JOB_NUMBER_PATTERN,
        meaning="The name of such a number matches it as a whole.",
        readers=frozenset({"client"}),
    ),
    Constant(
        name="MAX_JOB_NUMBER",
        value=MAX_JOB_NUMBER,
        meaning="The greatest of these numbers, whatever the sign.",
        readers=frozenset({"client"}),
    ),
    Constant(
        name="MAX_STEP", value=MAX_STEP, meaning="The most steps that a job may report.", readers=frozenset({"client"})
    ),
)

#: Types of the panel that stand for words, by these words.
WORDS: Final[dict[tuple[str, ...], str]] = {
    get_args(PriorityName): "PriorityName",
    get_args(PriorityChoice): "PriorityChoice",
    get_args(TaskStateName): "TaskState",
    get_args(ProfileName): "ProfileName",
    tuple(kind.value for kind in VerdictKind): "VerdictKind",
}


def in_python(doc: str) -> str:
    """Write the client's module of constants."""
    lines = [f'"""{doc}\n"""', "", "from __future__ import annotations", ""]
    for one in (one for one in CONSTANTS if "client" in one.readers):
        lines += [f"#: {one.meaning}", *_python_value(one)]
    lines += [
        "",
        "",
        "class EventKind:",
        '    """What an event tells of. A service of another version may send other kinds."""',
        "",
    ]
    for kind in EventKind:
        lines += [f"    #: {kind.meaning}", f'    {kind.name} = "{kind.value}"']
    return "\n".join([*lines, ""])


def _python_value(constant: Constant) -> Iterator[str]:
    match constant.value:
        case dict() as numbers:
            yield f"{constant.name}: dict[str, int] = {{"
            yield from (f'    "{word}": {number},' for word, number in numbers.items())
            yield "}"
        case tuple() as words:
            yield f"{constant.name} = ("
            yield from (f'    "{word}",' for word in words)
            yield ")"
        case str() as text:
            yield f'{constant.name} = r"{text}"' if "\\" in text else f'{constant.name} = "{text}"'
        case number:
            yield f"{constant.name} = {number}"


def in_typescript(doc: str) -> str:
    """Write the panel's module of constants."""
    lines = [f"/** {doc} */"]
    for one in (one for one in CONSTANTS if "panel" in one.readers):
        lines += ["", *comment(one.meaning, ""), *_typescript_value(one)]
    lines += ["", "/** What an event tells of. A service of another version may send other kinds. */"]
    lines += ["export const EventKind = {"]
    for place, kind in enumerate(EventKind, 1):
        comma = "," if place < len(EventKind) else ""
        lines += [*comment(kind.meaning, "  "), f"  {kind.name}: {quoted(kind.value)}{comma}"]
    return "\n".join([*lines, "} as const;", ""])


def types_in_typescript() -> str:
    """Write the panel's types of the words among the constants."""
    named = {one.type_name: one.name for one in CONSTANTS if one.type_name}
    needed = sorted({"AUTO", *named.values()})
    lines = [f"import type {{ {', '.join(needed)} }} from './constants';", ""]
    lines += [f"export type {name} = (typeof {words})[number];" for name, words in named.items()]
    return "\n".join([*lines, *union("export type PriorityChoice =", ["typeof AUTO", "PriorityName"], "")])


def _typescript_value(constant: Constant) -> Iterator[str]:
    match constant.value:
        case int() as number:
            yield f"export const {constant.name} = {number};"
        case str() as text:
            yield f"export const {constant.name} = {quoted(text)};"
        case words:
            yield from _array(constant.name, list(words))


def _array(name: str, words: list[str]) -> Iterator[str]:
    line = f"export const {name} = [{', '.join(map(quoted, words))}] as const;"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"export const {name} = ["
    yield from (f"  {quoted(word)}," for word in words[:-1])
    yield f"  {quoted(words[-1])}"
    yield "] as const;"
