"""Writes docs/reference/cli.md from the parsers: `python -m hai_client.cli.reference > docs/reference/cli.md`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from hai_client.cli import verbs
from hai_client.cli.app import find
from hai_client.cli.shared.parser import Command, build

_INTRODUCTION = """\
# The `hai` command

<!-- Made by `python -m hai_client.cli.reference` from the parsers of the command: change those, not this. -->

Every verb takes `--help`, `--json` (print JSON) and `--url ADDRESS` (the Hub's address; also `HAI_URL`, or what
`hai login` has kept). Tasks are named by id or by name.

| exit status | meaning |
|---|---|
| 0 | fine |
| 1 | the task failed, or the platform had trouble |
| 2 | wrong input |
| 3 | not logged in, or not allowed |
| 4 | the platform cannot be reached, also after half a minute of trying |
| 130 | interrupted with Ctrl-C |

## Verbs
"""

_COMMON = ("--help", "--json", "--url")
#: The pages that describe verbs of other packages.
_ELSEWHERE = {
    "backup": "Described in [operations.md](../operations.md#backups).\n",
    "cluster": "Its verbs and options are in [install.md](../install.md#hai-cluster).\n",
    "restore": "Described in [operations.md](../operations.md#backups).\n",
    "slurm": "Its commands are in [users.md](../users.md#coming-from-slurm).\n",
    "sim": "Its verbs and options are in [simulator.md](../simulator.md).\n",
    "upgrade": "Described in [operations.md](../operations.md#upgrades).\n",
    "up": "Its options are in [operations.md](../operations.md#starting-and-stopping).\n",
}


def reference() -> str:
    """Return the whole page."""
    parts = [_INTRODUCTION, "| verb | what it does |", "|---|---|"]
    parts += [f"| [`hai {verb.name}`](#hai-{verb.name}) | {_cell(verb.summary)} |" for verb in verbs.VERBS]
    parts.append("")
    for verb in verbs.VERBS:
        parts.append(f"## hai {verb.name}\n")
        command = find(verb.name)
        parts += _elsewhere(verb) if command is None else _verb(command)
    return "\n".join(parts).rstrip() + "\n"


def _elsewhere(verb: verbs.Verb) -> list[str]:
    return [f"{verb.summary[0].upper()}{verb.summary[1:]}.\n", _ELSEWHERE[verb.name]]


def _verb(command: Command) -> Iterator[str]:
    parser = build(command)
    yield f"{command.about}\n"
    yield from _rows(parser, command.usage)
    for name, leaf in _leaves(parser, command.name):
        yield f"### hai {name}\n"
        yield f"{(leaf.description or '').capitalize()}.\n"
        yield from _rows(leaf, None)
    if command.examples:
        yield f"```text\n{command.examples}\n```\n"


def _leaves(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Return all leaf verbs below a verb."""
    for group in _groups(parser):
        for word, below in group.choices.items():
            if _groups(below):
                yield from _leaves(below, f"{name} {word}")
            else:
                yield f"{name} {word}", below


def _groups(parser: argparse.ArgumentParser) -> list[argparse._SubParsersAction[argparse.ArgumentParser]]:
    return [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]


def _rows(parser: argparse.ArgumentParser, usage: str | None) -> Iterator[str]:
    shown = [
        action
        for action in parser._actions
        if action.help != argparse.SUPPRESS and not set(_COMMON) & set(action.option_strings)
    ]
    words = [action for action in shown if not action.option_strings]
    options = [action for action in shown if action.option_strings]
    if _groups(parser):
        return
    yield f"```text\n{usage or _usage(parser.prog, words, options)}\n```\n"
    if shown:
        yield from ["| word or option | meaning |", "|---|---|"]
        yield from (f"| {_spelled(action)} | {_cell(str(action.help))}{_choices(action)} |" for action in shown)
        yield ""


def _usage(prog: str, words: list[argparse.Action], options: list[argparse.Action]) -> str:
    parts = [prog, *(["[OPTIONS]"] if options else [])]
    return " ".join([*parts, *(f"{_word(word)}{' ...' if word.nargs == '+' else ''}" for word in words)])


def _word(action: argparse.Action) -> str:
    return str(action.metavar or action.dest.upper())


def _spelled(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_word(action)}`"
    names = ", ".join(f"`{name}`" for name in action.option_strings)
    return names if action.nargs == 0 else f"{names} `{_word(action)}`"


def _choices(action: argparse.Action) -> str:
    return f": {', '.join(f'`{choice}`' for choice in action.choices)}" if action.choices else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    """Print the page."""
    sys.stdout.write(reference())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
