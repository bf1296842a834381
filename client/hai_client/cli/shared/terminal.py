"""What may go to a terminal: text of others must not steer it.

A terminal obeys what it is sent: a title, the clipboard (OSC 52), a report that it types back as if the user had. So
the text of tasks goes there without its orders; only colours, tabs and the carriage return of progress bars pass.
"""

from __future__ import annotations

import re

#: Colours and weights; digits, and no more of them than any real one has.
_STYLE = r"\x1b\[[0-9;:]{0,40}m"
#: Orders with a text of their own, up to where that ends: titles, the clipboard, hyperlinks, device control.
_TEXTS = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
#: Other orders: of a cursor, of the screen, of modes, of character sets.
_ORDERS = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?"
#: Characters that are orders themselves, and those that turn the direction of writing.
_CONTROLS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
_SPLIT = re.compile(f"({_STYLE})|{_TEXTS}|{_ORDERS}|{_CONTROLS}")
_IN_JSON = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_RESET = "\x1b[0m"


def harmless(text: str) -> str:
    """The text without what steers a terminal. Line breaks, tabs, carriage returns and colours stay."""
    return _SPLIT.sub(lambda found: found[1] or "", text)


def harmless_line(text: str) -> str:
    """Return one line of a user's text, made safe by `harmless`, with its colours reset at the end."""
    shown = harmless(text.replace("\n", " "))
    return shown + _RESET if "\x1b" in shown and not shown.endswith(_RESET) else shown


def harmless_json(text: str) -> str:
    """JSON that means the same, with the characters escaped that JSON itself allows and a terminal obeys."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
