"""Checks names of tasks and priorities, and makes a name for a command."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import PurePath

from hai_client.constants import AUTO, NAME_LENGTH, PRIORITIES
from hai_client.errors import Invalid
from hai_client.masking import masked
from hai_client.texts import quoted

_SCRIPT = (".py", ".sh", ".bash", ".ipynb", ".pyz", ".pl", ".r", ".jl", ".lua")
#: Letters and marks that are not seen: with them two names would look alike.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
#: Words of code, for the name of a task that is given as one.
_WORDS = re.compile(r"\w+")
_CODE_LENGTH = 24


def fits(text: str) -> bool:
    """Return whether a text has the form of a task's name.

    It has up to NAME_LENGTH letters and digits of any script, `.`, `_` and `-`, with a letter or digit first, and
    Unicode's composed form (NFC): so a name has one spelling, nothing in it is invisible or changes the direction of
    a line, and no shell, path or header takes a part of it for something else.
    """
    return (
        0 < len(text) <= NAME_LENGTH
        and all(map(_in_name, text))
        and _leads(text[0])
        and unicodedata.is_normalized("NFC", text)
    )


def _in_name(letter: str) -> bool:
    if letter.isascii():
        return letter.isalnum() or letter in "._-"
    category = unicodedata.category(letter)
    return (category[0] in "LM" or category == "Nd") and _UNSEEN.match(letter) is None


def _leads(letter: str) -> bool:
    return letter not in "._-" and unicodedata.category(letter)[0] != "M"


def spelled(text: str) -> str:
    """Return a name as it is kept: in Unicode's composed form."""
    return unicodedata.normalize("NFC", text)


def check_name(text: str) -> str:
    """Return the name, as it is kept, if a task may be called that. Raises Invalid: the text is not a valid name."""
    name = spelled(text)
    if not fits(name):
        raise Invalid(
            f"name: {quoted(text)} is not allowed; use up to {NAME_LENGTH} letters and digits of any script, '.', "
            f"'_' and '-', with a letter or digit first, for example {make_name(masked(text))!r}"
        )
    if name.isdigit():
        raise Invalid(f"name: {text!r} would be read as a task number; add a letter, for example 'task-{text}'")
    return name


def make_name(text: str) -> str:
    """Return a valid name made of any text, with as much of the text as possible."""
    # What is not seen is left out, so that the name has no gap where nobody sees one; then letters may join.
    seen = (letter for letter in text if unicodedata.category(letter) != "Cf" and not _UNSEEN.match(letter))
    name = "".join(letter if _in_name(letter) else " " for letter in spelled("".join(seen)))
    name = re.sub(" +", "-", name)
    first = next((place for place, letter in enumerate(name) if _leads(letter)), len(name))
    name = name[first : first + NAME_LENGTH].rstrip("._-")
    if not name:
        return "task"
    return f"task-{name}"[:NAME_LENGTH] if name.isdigit() else name


def name_for(command: Sequence[str]) -> str:
    """Return the name of a task for which the user gives none.

    It is the file name, without suffix, of the first script in the command (`python -u train/digits.py` is `digits`),
    else the last part of the module (`python -m pkg.train` is `train`), or the first words of code after `-c`, else the
    program.
    """
    code = _code(command)
    if code is not None and code[1].strip():
        shell, text = code
        return name_for(text.split()) if shell else make_name(_first_words(text))
    for before, word in zip(("", *command), command):
        # A notebook is run by a module of hai_client: take the name of the notebook, which follows.
        if before == "-m" and not word.startswith(("-", "hai_client.")):
            return make_name(word.rpartition(".")[2])
        if word.lower().endswith(_SCRIPT) and not word.startswith("-"):
            return make_name(PurePath(word).stem)
    return make_name(PurePath(command[0]).stem) if command else "task"


def _code(command: Sequence[str]) -> tuple[bool, str] | None:
    """Return the text after `-c`, and whether a shell or Python reads it; None: there is none."""
    program = PurePath(command[0]).name if command else ""
    shell = program in ("sh", "bash", "dash", "zsh", "ksh")
    if (shell or program.startswith("python")) and "-c" in command[1:-1]:
        return shell, command[command.index("-c") + 1]
    return None


def _first_words(code: str) -> str:
    """Return the first words of code: `import torch; print(1)` is `import torch print 1`."""
    found = ""
    for word in _WORDS.findall(code):
        if found and len(found) + len(word) >= _CODE_LENGTH:
            break
        found = f"{found} {word}".strip()
    return found


def parse_priority(text: str) -> str:
    """Read a priority: a level in any case, `AUTO`, or the level's number. Raises Invalid: there is no such level."""
    word = text.strip().upper().replace("-", "_")
    if word == AUTO or word in PRIORITIES:
        return word
    for level, number in PRIORITIES.items():
        if word == str(number):
            return level
    levels = ", ".join(f"{level} ({number})" for level, number in PRIORITIES.items())
    raise Invalid(f"priority: {text!r} is not a level; use AUTO, {levels}")
