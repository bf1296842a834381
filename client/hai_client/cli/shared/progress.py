"""One line of a terminal that says how far something is, written again and again, and gone at its end."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Callable

from hai_client.cli.shared.output import Output, clean, columns_of, cut

#: What takes less time shows nothing, seconds.
AFTER_S = 1.0
#: The least time between two writings, seconds.
EVERY_S = 0.1


class ProgressLine:
    """Shows progress on stderr, if that is a terminal; else nothing. As a context manager it wipes its line at the end.

    Args:
        out: The output of the command.
        clock: Returns seconds.
    """

    def __init__(self, out: Output, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._next = clock() + AFTER_S
        self._columns = 0

    def __enter__(self) -> Callable[[str], None]:
        return self.show

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write("")
        if self._columns:
            self._out.stderr.write("\r")
            self._out.stderr.flush()

    def show(self, text: str) -> None:
        """Let the line say this, if it is time."""
        if not self._out.watched or self._clock() < self._next:
            return
        self._next = self._clock() + EVERY_S
        # A line that fills the terminal would go on in the next one, and stay.
        self._write(cut(f"hai: {clean(text)}", (self._out.width or 80) - 1))

    def _write(self, line: str) -> None:
        if line or self._columns:
            wide = columns_of(line)
            self._out.stderr.write(f"\r{line}{' ' * (self._columns - wide)}")
            self._out.stderr.flush()
            self._columns = max(self._columns, wide)
