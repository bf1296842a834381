"""Parses the command line: argparse with errors of one line, and types of values that verbs share."""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any, Callable, NoReturn, Optional

from hai_client import constants, names
from hai_client.backports import dataclass, without_prefix
from hai_client.cli.shared.context import Context
from hai_client.durations import parse_duration
from hai_client.errors import Invalid
from hai_client.launching.provide import KINDS

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DASHES = ("--", "++")

#: Runs a verb, and returns its exit status; None: it has succeeded.
Handler = Callable[[argparse.Namespace, Context], Optional[int]]


@dataclass(frozen=True, slots=True)
class Command:
    """A verb: its arguments, its help, and the function that runs it."""

    name: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Handler
    about: str = ""
    examples: str = ""
    usage: str | None = None
    #: The verb reads its words itself; `configure` then only serves the help and completion.
    raw: Callable[[Sequence[str], Context], int | None] | None = None


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises errors as `Invalid`, in one line with a remedy."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # `-1s` is a wrong value, not an option: the reader of the value reports it by name.
        self._negative_number_matcher = re.compile(r"-\d[\w.]*$")

    def error(self, message: str) -> NoReturn:
        """Raise `Invalid`."""
        help_ = f"`{self.prog} --help` shows what it takes"
        text = without_prefix(message, "argument ")
        if unknown := re.match(r"unrecognized arguments: (\S+)", text):
            word = unknown[1]
            hint = meant(word, self._option_string_actions)
            what = "not an option of" if word.startswith("-") else "one word too many for"
            raise Invalid(f"{word}: {what} `{self.prog}`; {hint}{help_}")
        if missing := re.match(r"the following arguments are required: (.*)", text):
            verbs = next((action.choices for action in self._actions if action.metavar == missing[1] == "VERB"), None)
            choices = f"one of {', '.join(verbs)} is expected; " if verbs else ""
            raise Invalid(f"{missing[1].lower() if verbs else missing[1]}: missing; {choices}{help_}")
        raise Invalid(f"{text}; {help_}")


def meant(word: str, known: Iterable[str], form: str = "{}") -> str:
    """Return `did you mean ...? ` for a word that is nearly one of the known ones, which `form` shows; else nothing."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {form.format(near[0])}? " if near else ""


def build(command: Command) -> Parser:
    """Return the parser of a command."""
    parser = Parser(
        prog=f"hai {command.name}",
        usage=command.usage,
        description=command.about,
        epilog=command.examples or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.configure(parser)
    if not any(isinstance(action, argparse._SubParsersAction) for action in parser._actions):
        add_common(parser)
    return parser


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options of every verb, without defaults, which would overwrite options given before the verb."""
    shown = parser.add_argument_group("everywhere")
    shown.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    shown.add_argument("--url", metavar="ADDRESS", default=argparse.SUPPRESS, help="the Hub's address")


def leaf(verbs: Any, name: str, about: str, handler: Handler) -> argparse.ArgumentParser:
    """Add a verb below another one, which `run_leaf` runs, and return its parser.

    Args:
        verbs: What `add_subparsers` has returned; argparse gives its kind no public name.
        name: The verb.
        about: What its help says.
        handler: Runs it.
    """
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=about, description=about, allow_abbrev=False)
    parser.set_defaults(handler=handler)
    add_common(parser)
    return parser


def run_leaf(args: argparse.Namespace, ctx: Context) -> int | None:
    """Run the verb that `leaf` has added."""
    handler: Handler = args.handler
    return handler(args, ctx)


def option(parser: Any, written: str, about: str, kind: Callable[[str], Any] | None = None, **more: Any) -> None:
    """Add an option, or a word of the command line.

    Args:
        parser: The parser, or a group of it.
        written: How it is written: `-n, --nodes N` is an option with a value, `--tag TAG ...` one that can be repeated,
            `--hold` one without a value, and `nodes NODE` a word, after its name in the parsed options.
        about: What its help says.
        kind: Reads the value.
        more: Further arguments of `add_argument`.
    """
    words = written.split()
    flags = [word.rstrip(",") for word in words if word.startswith("-")] or words[:1]
    value = [word for word in words[len(flags) :] if word != "..."]
    if value:
        more["metavar"] = value[0]
    elif flags[0].startswith("-") and not {"action", "choices"} & set(more):
        more["action"] = "store_true"
    if words[-1] == "...":
        more.update(action="append", default=[])
    if kind is not None:
        more["type"] = kind
    parser.add_argument(*flags, help=about, **more)


def split_last(words: Sequence[str]) -> tuple[list[str], str | None, list[str]]:
    """Split at the last `--` or `++`; return the words before, the separator (None: no separator), the words after."""
    for at in range(len(words) - 1, -1, -1):
        if words[at] in _DASHES:
            return list(words[:at]), words[at], list(words[at + 1 :])
    return list(words), None, []


def count(field: str, *, least: int = 1) -> Callable[[str], int]:
    """Return a reader of whole numbers of at least `least`."""

    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < least:
            raise Invalid(f"{field}: {text!r} is not a whole number of {least} or more")
        return int(text)

    return read


def rank_or_all(text: str) -> int | str:
    """Read the number of a rank, or `all`."""
    if text.lower() == "all":
        return "all"
    try:
        return count("rank", least=0)(text)
    except Invalid:
        raise Invalid(
            f"rank: {text!r} is neither the number of a rank, from 0 on, nor `all`; write for example -r 1, or -r all"
            " for all ranks by time"
        ) from None


def ranks_per_node(text: str) -> int | str:
    """Read a number of processes on each node, or `gpu`."""
    if text.lower() in ("gpu", "gpus"):
        return "gpu"
    if not re.fullmatch(r"[0-9]{1,4}", text) or int(text) < 1:
        raise Invalid(
            f"ranks-per-node: {text!r} is neither a whole number of 1 or more nor 'gpu'; write for example"
            " --ranks-per-node 4, or --ranks-per-node gpu for one process a GPU; leave it out for one process a node"
        )
    return int(text)


def provided(text: str) -> str:
    """Read the names of the settings that `--provide` offers, separated by commas."""
    words = [word.strip().lower() for word in text.split(",")]
    for word in words:
        if word not in KINDS:
            raise Invalid(f"provide: {word!r} is not known; it is one of {', '.join(KINDS)}, or both with a comma")
    return ",".join(words)


def duration(field: str, *, least_s: float = 0.0) -> Callable[[str], float]:
    """Return a reader of lengths of time; it returns seconds."""

    def read(text: str) -> float:
        seconds = parse_duration(text, field=field)
        if seconds < least_s:
            raise Invalid(f"{field}: {text!r} is too short; write for example 10m or 4h")
        return seconds

    return read


def statuses(field: str) -> Callable[[str], tuple[int, ...]]:
    """Return a reader of exit statuses, separated by commas."""

    def read(text: str) -> tuple[int, ...]:
        words = [word.strip() for word in text.split(",")]
        for word in words:
            if not re.fullmatch(r"[0-9]{1,3}", word) or not 1 <= int(word) <= 255:
                raise Invalid(f"{field}: {word!r} is not an exit status from 1 to 255; write for example 1,137")
        return tuple(sorted({int(word) for word in words}))

    return read


def variable(text: str) -> tuple[str, str]:
    """Read `NAME=VALUE`; `NAME` alone takes the value from this shell."""
    name, given, value = text.partition("=")
    if _VARIABLE.fullmatch(name) is None:
        raise Invalid(f"env: {text!r} is not NAME=VALUE; write for example -e LR=0.1")
    if given:
        return name, value
    if name not in os.environ:
        raise Invalid(f"env: {name} is not set here; write -e {name}=VALUE")
    return name, os.environ[name]


def task(text: str) -> str:
    """Read the id, the name, or `user/name` of a task."""
    if not text.strip(".") or not text.isprintable():
        raise Invalid(f"task: {text!r} is not an id or a name; `hai list` shows both")
    return without_prefix(text, "#")


def name_in(text: str) -> str:
    """Return the name to show in an error about a wrong subject: the word itself if it could be a name, else `NAME`."""
    return text if re.fullmatch(r"[\w.@-]+", text) else "NAME"


def level(text: str) -> str:
    """Read a priority other than AUTO."""
    found = names.parse_priority(text)
    if found == constants.AUTO:
        raise Invalid(f"priority: AUTO has no quota of its own; use one of {', '.join(constants.PRIORITIES)}")
    return found


def add_tasks(parser: argparse.ArgumentParser, *, many: bool = False) -> None:
    """Add the argument with the task, or the tasks, of a verb."""
    about = "id or name" + (", one or more" if many else "")
    if many:
        parser.add_argument("tasks", metavar="TASK", nargs="*", type=task, help=about)
    else:
        parser.add_argument("task", metavar="TASK", type=task, help=about)


def add_priority(parser: Any, *flags: str, help_: str, **options: Any) -> None:
    """Add a priority, as an option or as a positional argument."""
    parser.add_argument(*flags, metavar="PRIORITY", type=names.parse_priority, help=help_, **options)
