"""The command's output: lines, tables sized to the terminal, JSON; colours only on a terminal that wants them."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TextIO

from hai_client.backports import UTC, dataclass
from hai_client.cli.shared.terminal import harmless, harmless_json, harmless_line, plain
from hai_client.codec import encode
from hai_client.constants import HIDDEN_PATTERN
from hai_client.durations import format_duration

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
STATE_STYLES = {
    "queued": "yellow",
    "starting": "cyan",
    "running": "green",
    "suspending": "yellow",
    "suspended": "yellow",
    "stopping": "yellow",
    "succeeded": "blue",
    "failed": "red",
    "stopped": "dim",
}
_HIDDEN = re.compile(f"{HIDDEN_PATTERN}+")


#: Times in sentences of the service.
_UTC_TIME = re.compile(r"(?:(\d{4}-\d\d-\d\d) )?\b(\d\d:\d\d(?::\d\d)?) UTC\b")
#: Parts of a text that stay together: a word, or a wide character, with the marks after it.
_UNBROKEN = re.compile(r"(?:[\x21-\u2fff]+|[^\x21-\u2fff])[\u3001\u3002\uff01\uff09\uff0c\uff1a\uff1b\uff1f\u201d ]*")
#: Width of a table's last column, characters.
_TELLING = 36


def clean(text: str) -> str:
    """Return one line without control characters, so that a user's text cannot control another user's terminal."""
    return _HIDDEN.sub(" ", text).strip()


def columns_of(text: str) -> int:
    """Return the width of a text on a terminal, columns."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int) -> str:
    """Return the text, shortened to this width."""
    if columns_of(text) <= width:
        return text
    kept = ""
    for char in text:
        if columns_of(kept + char) > max(0, width - 3):
            break
        kept += char
    return kept + "..."[: max(0, width)]


def wrapped(text: str, width: int) -> list[str]:
    """Return a text in lines of at most this width, columns; at least one line.

    Chinese has no spaces, and its characters are two columns wide: such a text is broken anywhere but within a word of
    Latin letters, and before no mark that ends something.
    """
    if columns_of(text) == len(text):
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    lines = [""]
    for part in _UNBROKEN.findall(text):
        if lines[-1] and columns_of(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part if lines[-1] else part.lstrip()
    return [line.rstrip() for line in lines]


#: Columns of a text of a table before its last one, at most; names of tasks and nodes are shorter.
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    right: bool = False  #: Whether the column is aligned right, as for numbers.
    optional: bool = False  #: Whether the column is left out on a narrow terminal, to keep room for the last one.
    #: Whether the last column goes on in further lines, in place of being shortened: for sentences that say why.
    whole: bool = False


def titled(titles: str) -> list[Column]:
    """Return columns by their titles, which have two spaces between them.

    With `>` before its title a column is aligned right; with `?` after it, it is `optional`, and with `...` `whole`.
    """
    return [
        Column(title.strip(">?."), right=title[0] == ">", optional=title[-1] == "?", whole=title[-1] == ".")
        for title in titles.split("  ")
    ]


@dataclass(frozen=True, slots=True)
class Cell:
    """A text with a style."""

    text: str
    style: str | None = None


@dataclass(slots=True)
class Output:
    """The output of a verb. Answers go to `stdout`, messages about them to `stderr`."""

    stdout: TextIO
    stderr: TextIO
    color: bool = False
    width: int | None = None  #: Width of the terminal, columns; None: no limit.
    watched: bool = False  #: Whether stderr is a terminal, so that messages on progress are useful.
    terminal: bool = False  #: Whether stdout is a terminal, which would obey control sequences in other users' texts.

    @classmethod
    def of_process(cls) -> Output:
        """Return the output to the process's own streams."""
        for stream in (sys.stdout, sys.stderr):
            # A character that the terminal cannot show must not end the command.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        terminal = sys.stdout.isatty()
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(
            sys.stdout,
            sys.stderr,
            color=terminal and not plain,
            width=max(40, shutil.get_terminal_size().columns) if terminal else None,
            watched=sys.stderr.isatty(),
            terminal=terminal,
        )

    def style(self, text: str, style: str | None) -> str:
        """Return the text in a style, if colours are on; else the text."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.color and style and text else text

    def line(self, text: str = "") -> None:
        """Write a line, without control sequences."""
        self.stdout.write(harmless(text) + "\n")

    def printed(self, text: str, *, before: str = "", raw: bool = False) -> None:
        """Write a line that a task has printed: unchanged to a file or a pipe, without control sequences to a terminal.

        Args:
            text: The line.
            before: A text of the command's own before the line.
            raw: Whether to write the line unchanged to a terminal too.
        """
        self.stdout.write(f"{before}{text if raw or not self.terminal else harmless_line(text)}\n")

    def state(self, text: str, *, before: str = "") -> None:
        """Show on a terminal the state of a line that a task is writing again; `clear_state` takes it away."""
        room = (self.width or 80) - columns_of(plain(before)) - 1
        self.stdout.write(before + cut(clean(plain(text)), room))
        self.stdout.flush()

    def clear_state(self) -> None:
        """Take away what `state` has shown."""
        self.stdout.write("\r\x1b[K")

    def note(self, *texts: str) -> None:
        """Write messages to stderr, a line each."""
        self.stderr.writelines(f"hai: {clean(text)}\n" for text in texts)
        self.stderr.flush()

    def json(self, value: Any, *, compact: bool = False) -> None:
        """Write a value, which may hold dataclasses and times, as JSON."""
        self.line(harmless_json(json.dumps(encode(value), ensure_ascii=False, indent=None if compact else 2)))

    def table(self, columns: Sequence[Column] | str, rows: Iterable[Sequence[Cell | str]]) -> None:
        """Write a table. Its last column is shortened to fit the terminal, or goes on in further lines.

        Args:
            columns: The columns, or their titles as for `titled`.
            rows: The cells of each row.
        """
        columns = titled(columns) if isinstance(columns, str) else columns
        cells = [
            [Cell(clean(cell.text), cell.style) if isinstance(cell, Cell) else Cell(clean(cell)) for cell in row]
            for row in rows
        ]
        titles = [Cell(column.title, "bold") for column in columns]
        last = len(columns) - 1
        widths = [
            # One text that is very long, such as the name of a user, makes no other row wider.
            max(width for row in [titles, *cells] if (width := columns_of(row[at].text)) <= _LONGEST or at == last)
            for at in range(len(columns))
        ]
        shown = self._fitting(columns, widths)
        for row in [titles, *cells]:
            kept = [(columns[at], widths[at], row[at]) for at in shown]
            for line in self._row(*zip(*kept)):
                self.line(line)

    def _fitting(self, columns: Sequence[Column], widths: Sequence[int]) -> list[int]:
        """Return the numbers of the columns to show: all of them, or fewer on a narrow terminal."""
        shown = list(range(len(columns)))
        for at in reversed(range(len(columns) - 1)):
            left = (self.width or 10_000) - sum(widths[place] + 2 for place in shown[:-1])
            if columns[at].optional and left < min(_TELLING, widths[-1]):
                shown.remove(at)
        return shown

    def _row(self, columns: Sequence[Column], widths: Sequence[int], row: Sequence[Cell]) -> list[str]:
        parts: list[str] = []
        more: list[str] = []
        used = 0
        for at, (column, width, cell) in enumerate(zip(columns, widths, row)):
            last = at == len(columns) - 1
            text = cell.text
            if last and self.width is not None:
                room = max(8, self.width - used)
                text, *rest = wrapped(text, room) if column.whole else [cut(text, room)]
                more = [" " * used + self.style(line, cell.style) for line in rest]
            elif self.width is not None:
                text = cut(text, max(width, _LONGEST))
            padding = " " * (width - columns_of(text))
            shown = self.style(text, cell.style)
            parts.append(padding + shown if column.right else shown if last else shown + padding)
            used += width + 2
        return ["  ".join(parts).rstrip(), *more]


def local(time: datetime) -> str:
    """Return a time as text, in local time."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def local_times(sentence: str, *, now: datetime | None = None) -> str:
    """Return a sentence of the service with its times in local time, as `local` shows times.

    Args:
        sentence: It has times such as `08:12:00 UTC`, which is today, or `2026-01-07 08:12 UTC`.
        now: The present time.
    """
    today = now or datetime.now(UTC)

    def shown(found: re.Match[str]) -> str:
        try:
            time = datetime.fromisoformat(f"{found[1] or today.astimezone(UTC).date()} {found[2]}+00:00").astimezone()
        except ValueError:
            return found[0]
        clock = time.strftime("%H:%M:%S" if found[2].count(":") == 2 else "%H:%M")
        return f"{time:%Y-%m-%d} {clock}" if found[1] or time.date() != today.astimezone().date() else clock

    return _UTC_TIME.sub(shown, sentence)


def ago(time: datetime, *, now: datetime | None = None) -> str:
    """Return how long ago, or how far ahead, a time is, as text."""
    seconds = ((now or datetime.now(UTC)) - time).total_seconds()
    return f"{format_duration(seconds)} ago" if seconds >= 0 else f"in {format_duration(-seconds)}"


def plural(number: int, word: str) -> str:
    """Return a number with a noun, such as `1 node` or `2 nodes`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
