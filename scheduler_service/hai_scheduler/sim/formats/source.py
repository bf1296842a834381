"""Reads files line by line, with errors that name the line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hai_scheduler.sim.formats.errors import TraceError

#: The begin of time for traces that have only offsets: a Monday.
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
#: The longest time that is accepted; longer ones are probably a mistake.
LONGEST = timedelta(days=3650)
_LONGEST_S = LONGEST.total_seconds()
#: The most nodes or GPUs that are accepted.
MOST = 1_000_000


class TraceSource:
    """A file and the line that is being read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.line: int | None = None

    def wrong(self, field: str | None, value: object, message: str) -> TraceError:
        """Return the error for a field of the current line; `message` has the remedy."""
        return TraceError(self.path, self.line, field, value, message)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.line = None
            raise self.wrong(None, None, f"cannot be read: {error.strerror or error}; name another file") from None
        except UnicodeDecodeError:
            raise self.wrong(None, None, "is not UTF-8 text; convert it, or name another file") from None
        except csv.Error as error:
            raise self.wrong(None, None, f"is not CSV ({error}); repair the line") from None

    def lines(self) -> Iterator[str]:
        """Yield the lines that are not blank."""
        with self._reading(), Path(self.path).open(encoding="utf-8-sig") as file:
            for self.line, text in enumerate(file, 1):
                if text.strip():
                    yield text

    def rows(self, columns: Sequence[str]) -> Iterator[list[str]]:
        """Yield the values of these columns, in this order, of each line of a CSV file with a header."""
        lines = self._csv()
        titles = next(lines)
        self._require(columns, titles)
        places = [titles.index(name) for name in columns]
        for row in lines:
            yield [row[place] for place in places]

    def objects(self, needed: Sequence[str]) -> Iterator[dict[str, str]]:
        """Yield the values of each line of a CSV file with a header, by column, without empty values."""
        lines = self._csv()
        titles = next(lines)
        self._require(needed, titles)
        for row in lines:
            yield {name: value for name, value in zip(titles, row, strict=True) if value}

    def _csv(self) -> Iterator[list[str]]:
        """Yield the header of a CSV file, then its lines. Raises TraceError if a line has another number of fields."""
        with self._reading(), Path(self.path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            titles = [title.strip() for title in next(reader, [])]
            self.line = 1
            yield titles
            for row in reader:
                self.line = reader.line_num
                if not row:
                    continue
                if len(row) != len(titles):
                    raise self.wrong(None, None, f"has {len(row)} fields, not {len(titles)}; repair the line")
                yield row

    def _require(self, columns: Sequence[str], titles: Sequence[str]) -> None:
        missing = [name for name in columns if name not in titles]
        if missing:
            raise self.wrong(
                "columns",
                ", ".join(titles),
                f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; "
                f"the first line must name {', '.join(columns)}, or try another --format",
            )

    # -- fields -----------------------------------------------------------------------------------

    def count(self, field: str, value: str | float, *, least: int = 1) -> int:
        """Return a whole number from `least` to `MOST`. Raises TraceError."""
        try:
            number = float(value)
            found = int(number)
        except (ValueError, OverflowError):
            found, number = -1, 0.0
        if found != number or not least <= found <= MOST:
            raise self.wrong(field, value, f"write a whole number from {least} to {MOST}")
        return found

    def seconds(self, field: str, value: str | float, *, unit: float = 1.0) -> timedelta:
        """Return a length of time that is given in units of `unit` seconds. Raises TraceError."""
        try:
            number = float(value) * unit
        except ValueError:
            number = math.nan
        if not 0 <= number <= _LONGEST_S:
            raise self.wrong(field, value, "write a length of time of 0 or more, at most ten years")
        return timedelta(seconds=number)

    def time(self, field: str, value: str) -> datetime:
        """Return a time; one without a zone is UTC. Raises TraceError."""
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            found = None
        if found is None or not 1970 <= found.year <= 2200:
            raise self.wrong(field, value, "write a time like 2026-01-05T08:00:00Z, from 1970 to 2200")
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
