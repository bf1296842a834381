"""Text that is taken over from the user's machine.

File names, variables and arguments are bytes there, and a request is UTF-8. Python keeps bytes that are not UTF-8 as
lone surrogates, which no JSON can hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hai_client.errors import FieldProblem, Invalid

_SURROGATE = re.compile(r"[\ud800-\udfff]")
#: What to do about a field, by its name.
_REMEDIES = {
    "command": "rename the file that it is, or put it into a file that the program reads",
    "cwd": "rename the folder, or start in another one: --cwd DIR",
    "env": "set it again in UTF-8, or leave it out",
    "checkpoint_dir": "rename the folder",
    "watch": "rename it",
}


def is_text(text: str) -> bool:
    """Return whether a text came from bytes that are UTF-8."""
    return _SURROGATE.search(text) is None


def visible(text: str) -> str:
    r"""Return the text with bytes that are not UTF-8 as Python writes them: `d\xe9`."""
    return _SURROGATE.sub(lambda found: _escape(ord(found[0])), text)


def quoted(text: str) -> str:
    """Return a text in quotes for a message. Characters that cannot be seen are escaped as in Python."""
    return repr(text) if is_text(text) else f"'{visible(text)}'"


def _escape(code: int) -> str:
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def check_texts(body: Mapping[str, Any]) -> None:
    """Check that all of a request is text. Raises Invalid, which names the field, the value and the remedy."""
    for field, value in body.items():
        place = _wrong(value)
        if place is not None:
            what = f"the value of {place[0]}, '{place[1]}'," if place[0] else f"'{place[1]}'"
            why = f"{what} is not UTF-8: {_REMEDIES.get(field, 'write it in UTF-8')}"
            raise Invalid(f"{field}: {why}", fields=(FieldProblem(field, place[1], why),))


def _wrong(value: Any) -> tuple[str, str] | None:
    """Return the key, or an empty text, and the visible form of the first value that is no text."""
    if isinstance(value, str):
        return None if is_text(value) else ("", visible(value))
    if isinstance(value, Mapping):
        for key, item in value.items():
            found = _wrong(key) or _wrong(item)
            if found is not None:
                return visible(str(key)), found[1]
    elif isinstance(value, (list, tuple)):
        return next((found for found in map(_wrong, value) if found is not None), None)
    return None
