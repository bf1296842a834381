"""What is wrong with a trace."""

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
    """A value as it is shown: its beginning will do, and control characters are not let through."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
