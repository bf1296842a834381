"""The error for a trace that cannot be used."""

from __future__ import annotations


class TraceError(ValueError):
    """A trace cannot be used; the message names file, line, field, value and remedy."""

    def __init__(self, file: str, line: int | None, field: str | None, value: object, message: str) -> None:
        where = file if line is None else f"{file}, line {line}"
        what = "" if field is None else f"{field} is {_shown(value)}: " if value is not None else f"{field}: "
        super().__init__(f"{where}: {what}{message}")
        self.file = file
        self.line = line
        self.field = field


def _shown(value: object) -> str:
    """Return a value for a message: at most 60 characters, with control characters escaped."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
