"""Cuts what a command prints into lines."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hai_client.rank.records.bars import Screen

#: Longer lines are cut into pieces of this size.
MAX_LINE = 64 * 1024
#: The beginning of the platform's lines.
MARK = b"[hai]"


class Splitter:
    r"""Cuts a stream into lines. Of a line that is written again (`\r`, as progress bars do) the last state counts."""

    def __init__(self) -> None:
        self._rest = b""
        self._again = False
        self._screen: Screen | None = None
        self._told = b""
        #: Whether the lines of the last piece may contain the platform's mark.
        self.marked = False

    @property
    def rewriting(self) -> bool:
        """Whether a line is being written again."""
        return self._again or self._screen is not None

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now, without line ends."""
        if self._screen is not None:
            return self._screen.feed(data)
        data = self._rest + data
        if b"\x1b[" in data and self._moves(data):
            return self.feed(data)
        self.marked = MARK in data
        lines = data.split(b"\n")
        self._again = b"\r" in lines[-1] or (self._again and len(lines) == 1)
        if b"\r" in data:
            ends = b"\r" if lines[-1].endswith(b"\r") else b""
            lines = [line.rstrip(b"\r").rpartition(b"\r")[2] for line in lines]
            # What comes after a return takes the place of the line.
            lines[-1] += ends
        self._rest = lines.pop()
        if len(self._rest) > MAX_LINE:
            lines.append(self._rest)
            self._rest, self._again = b"", False
        if any(len(line) > MAX_LINE for line in lines):
            lines = [piece for line in lines for piece in _cut(line)]
        return lines

    def _moves(self, data: bytes) -> bool:
        # Imported here, because few commands move the cursor.
        from hai_client.rank.records.bars import Screen, goes_up

        if not goes_up(data):
            return False
        self._rest, self._again, self.marked = b"", False, True
        self._screen = Screen(MAX_LINE)
        return True

    def state(self) -> bytes | None:
        """Return the state of a line that is being written again; None if the last call returned the same one."""
        state = self._screen.last if self._screen is not None else self._rest.rstrip(b"\r") if self._again else b""
        if state == self._told or not state.strip():
            return None
        self._told = state
        return state

    def has_settled(self) -> bool:
        """Return whether several rows were written again before the last call of this, but not since."""
        screen = self._screen
        if screen is None:
            return False
        over = screen.settled and not screen.goes_up
        screen.goes_up = False
        return over

    def finish(self) -> list[bytes]:
        """Return the last lines if they have no line end; the next text begins a new line."""
        screen, self._screen = self._screen, None
        if screen is not None:
            return screen.finish()
        rest, self._rest = self._rest.rstrip(b"\r"), b""
        cleared = self._again and not rest.strip()
        self._again = False
        return [rest] if rest and not cleared else []


def _cut(line: bytes) -> list[bytes]:
    if len(line) <= MAX_LINE:
        return [line]
    pieces = []
    while len(line) > MAX_LINE:
        end = MAX_LINE
        # Do not cut within a UTF-8 character: its continuation bytes are 10xxxxxx.
        while end > MAX_LINE - 4 and line[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(line[:end])
        line = line[end:]
    return [*pieces, line]
