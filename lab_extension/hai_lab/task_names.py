"""Makes the name of a task of a file's name, as `hai_client.names.make_name` does: this server may be without `hai`."""

from __future__ import annotations

import re
import unicodedata

#: The most characters of a name.
NAME_LENGTH = 63
#: Letters and marks that are not seen.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def task_name(stem: str) -> str:
    """Return a valid task name that is as close as possible to a file's name."""
    seen = (letter for letter in stem if unicodedata.category(letter) != "Cf" and not _UNSEEN.match(letter))
    name = "".join(letter if _in_name(letter) else " " for letter in unicodedata.normalize("NFC", "".join(seen)))
    name = re.sub(" +", "-", name)
    while name and (name[0] in "._-" or unicodedata.category(name[0])[0] == "M"):
        name = name[1:]
    name = name[:NAME_LENGTH].rstrip("._-")
    if not name:
        return "task"
    return f"task-{name}"[:NAME_LENGTH] if name.isdigit() else name


def _in_name(letter: str) -> bool:
    if letter.isascii():
        return letter.isalnum() or letter in "._-"
    category = unicodedata.category(letter)
    return category[0] in "LM" or category == "Nd"
