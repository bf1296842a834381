"""Keeps the rows of an output that moves the cursor up to write them again: several progress bars, one below the other.

What is understood is what tqdm, rich and their like print: cursor up and down, carriage return, erasing. A text that is
written after the cursor has moved takes the place of the whole row. Colours and all else stay in the text.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: Most rows that can be written again; a program that moves further up begins at the first of them.
MOST_ROWS = 64
_UP = re.compile(rb"\x1b\[\d*[AF]")
_MOVE = re.compile(rb"\n|\r|\x1b\[(\d*)([ABEFJK])")
#: The beginning of an order to the terminal whose end has not arrived.
_HALF = re.compile(rb"\x1b(?:\[\d{0,8})?\Z")


def goes_up(data: bytes) -> bool:
    """Return whether an output moves the cursor up."""
    return _UP.search(data) is not None


class Screen:
    """The last rows of an output, as far as they can still be written again.

    `last` is the row that was written last, `goes_up` whether the cursor was moved up since that was set to False.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        #: None: the row was handed out before the cursor came back to it, and was not written again.
        self._rows: list[bytes | None] = [b""]
        self._at = 0
        #: Whether the next text takes the place of the row.
        self._anew = False
        self._height = 1
        self._half = b""
        self.last = b""
        self.goes_up = False

    def feed(self, data: bytes) -> list[bytes]:
        """Take more output; return the rows that can no longer be written again, without line ends."""
        data = self._half + data
        half = _HALF.search(data)
        self._half = data[half.start() :] if half else b""
        data = data[: half.start()] if half else data
        begin = 0
        for move in _MOVE.finditer(data):
            self._put(data[begin : move.start()])
            begin = move.end()
            if move[0] == b"\n":
                self._down()
            elif move[0] == b"\r":
                self._anew = True
            else:
                self._order(move[2], int(move[1][:4] or 0))
        self._put(data[begin:])
        over = min(self._at, max(0, len(self._rows) - self._height))
        rows, self._rows = self._rows[:over], self._rows[over:]
        self._at -= over
        return list(_written(rows))

    @property
    def settled(self) -> bool:
        """Whether the cursor is in the last row, where it stays when the bars are over."""
        return self._at == len(self._rows) - 1

    def finish(self) -> list[bytes]:
        """Return all rows that are left."""
        self._put(self._half)
        rows, self._rows, self._at, self._half = self._rows, [b""], 0, b""
        return list(_written(rows))

    def _put(self, text: bytes) -> None:
        if not text:
            return
        row = b"" if self._anew else self._rows[self._at] or b""
        self._rows[self._at] = (row + text)[: self._most_bytes]
        self._anew = False
        if text.strip():
            self.last = self._rows[self._at] or b""

    def _order(self, letter: bytes, number: int) -> None:
        if letter in b"AF":
            self._up(number or 1)
        elif letter in b"BE":
            for _ in range(min(number or 1, MOST_ROWS)):
                self._down()
        elif letter == b"K":
            if self._anew or number:
                self._rows[self._at] = b""
        else:
            self._rows[self._at + 1 :] = [b""] * (len(self._rows) - self._at - 1)

    def _up(self, number: int) -> None:
        above = min(number - self._at, MOST_ROWS - len(self._rows))
        if above > 0:
            self._rows[:0] = [None] * above
            self._at += above
        self._at = max(0, self._at - number)
        self._height = min(MOST_ROWS, max(self._height, len(self._rows) - self._at))
        self._anew = self.goes_up = True

    def _down(self) -> None:
        self._at += 1
        self._anew = self._at < len(self._rows)
        if not self._anew:
            self._rows.append(b"")


def _written(rows: list[bytes | None]) -> Iterator[bytes]:
    """Yield the rows in which something stands: a bar that is cleared at its end leaves none."""
    return (row for row in rows if row is not None and row.strip())
