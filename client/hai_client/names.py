"""Checks names of tasks and priorities, and makes a name for a command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from hai_client.constants import AUTO, NAME_LENGTH, NAME_PATTERN, PRIORITIES
from hai_client.errors import Invalid

NAME = re.compile(NAME_PATTERN)

_SCRIPT = (".py", ".sh", ".bash", ".ipynb", ".pyz", ".pl", ".r", ".jl", ".lua")


def check_name(text: str) -> str:
    """Return the name if a task may be called that.

    Raises:
        Invalid: The text is not a valid name.
    """
    if NAME.fullmatch(text) is None:
        raise Invalid(
            f"name: {text!r} is not allowed; use up to {NAME_LENGTH} letters, digits, '.', '_' and '-', "
            "with a letter or digit first"
        )
    if text.isdigit():
        raise Invalid(f"name: {text!r} would be read as a task number; add a letter, for example 'task-{text}'")
    return text


def make_name(text: str) -> str:
    """Return a valid name made of any text, with as much of the text as possible."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text).lstrip("._-")[:NAME_LENGTH].rstrip("._-")
    if not name:
        return "task"
    return f"task-{name}"[:NAME_LENGTH] if name.isdigit() else name


def name_for(command: Sequence[str]) -> str:
    """Return the name of a task for which the user gives none.

    It is the file name, without suffix, of the first script in the command (`python -u train/digits.py` is `digits`),
    else the last part of the module (`python -m pkg.train` is `train`), else the program.
    """
    for before, word in zip(("", *command), command):
        # A notebook is run by a module of hai_client: take the name of the notebook, which follows.
        if before == "-m" and not word.startswith(("-", "hai_client.")):
            return make_name(word.rpartition(".")[2])
        if word.lower().endswith(_SCRIPT) and not word.startswith("-"):
            return make_name(PurePath(word).stem)
    return make_name(PurePath(command[0]).stem) if command else "task"


def parse_priority(text: str) -> str:
    """Read a priority: a level in any case, `AUTO`, or the level's number.

    Raises:
        Invalid: There is no such level.
    """
    word = text.strip().upper().replace("-", "_")
    if word == AUTO or word in PRIORITIES:
        return word
    for level, number in PRIORITIES.items():
        if word == str(number):
            return level
    levels = ", ".join(f"{level} ({number})" for level, number in PRIORITIES.items())
    raise Invalid(f"priority: {text!r} is not a level; use AUTO, {levels}")
