"""Names of tasks and priorities: what is allowed, and what is meant."""

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
        Invalid: It is not a valid name.
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
    """Make a valid name out of any text, keeping as much of it as can be."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text).lstrip("._-")[:NAME_LENGTH].rstrip("._-")
    if not name:
        return "task"
    return f"task-{name}"[:NAME_LENGTH] if name.isdigit() else name


def name_for(command: Sequence[str]) -> str:
    """The name that a command gets when none is given.

    It is the file name, without suffix, of the first script in it (`python -u train/digits.py` is `digits`),
    else of the module (`python -m pkg.train` is `train`), else of the program.
    """
    for before, word in zip(("", *command), command):
        # What runs a notebook is a module of ours: the notebook, which follows, is what the user means.
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
