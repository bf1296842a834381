"""Makes text safe for a terminal: other users' text must not control it.

A terminal obeys control sequences: they can change its title or the clipboard (OSC 52), or make it type text. So
control sequences in the text of tasks are removed; colours, tabs and the carriage returns of progress bars stay.
"""

from __future__ import annotations

import re

#: Sequences of colours and weights, with a bounded number of digits.
_STYLE = r"\x1b\[[0-9;:]{0,40}m"
#: Sequences that contain a text, up to its end: titles, the clipboard, hyperlinks, device control.
_TEXTS = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
#: Other sequences: cursor, screen, modes, character sets.
_ORDERS = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?"
#: Control characters, and characters that change the direction of text.
_CONTROLS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
_SPLIT = re.compile(f"({_STYLE})|{_TEXTS}|{_ORDERS}|{_CONTROLS}")
_IN_JSON = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_RESET = "\x1b[0m"


def harmless(text: str) -> str:
    """Return the text without control sequences. Line breaks, tabs, carriage returns and colours stay."""
    return _SPLIT.sub(lambda found: found[1] or "", text)


def plain(text: str) -> str:
    """Return the text without control sequences and without colours."""
    return _SPLIT.sub("", text)


def harmless_line(text: str) -> str:
    """Return one line of a user's text, made safe by `harmless`, with its colours reset at the end."""
    shown = harmless(text.replace("\n", " "))
    return shown + _RESET if "\x1b" in shown and not shown.endswith(_RESET) else shown


def harmless_json(text: str) -> str:
    """Return equal JSON in which characters that control a terminal are escaped."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
