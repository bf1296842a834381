"""Searches a plain text in logs, with limits on bytes, time and returned lines. It is not a pattern."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable

from hai_scheduler.ports.errors import Absent
from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.service.logs.lines import Hits, Line, line_of, raws_of
from hai_scheduler.service.shared.orders import RunLog, SearchOrder

#: Bytes that are read at once.
CHUNK = 256 * 1024


class Search:
    """One search, which takes the logs piece by piece."""

    def __init__(self, order: SearchOrder) -> None:
        self._sought = order.text.casefold()
        self._left = order.most_bytes
        self._ends = time.monotonic() + order.most_seconds
        self._most_lines = order.most_lines
        self._counts: Counter[tuple[int, int]] = Counter()
        self._shown: list[Line] = []

    @property
    def goes_on(self) -> bool:
        """True while the limits allow to read more."""
        return self._left > 0 and time.monotonic() < self._ends

    def take(self, run: int, rank: int, chunk: LogChunk) -> None:
        """Search a piece of a rank's log, of whole lines; letter case is ignored."""
        self._left -= len(chunk.data)
        whole = chunk.data.decode("utf-8", "replace").casefold()
        if self._sought not in whole:
            return  # the common case, and fast
        for raw, behind in raws_of(chunk):
            if self._sought not in raw.decode("utf-8", "replace").casefold():
                continue
            line = line_of(run, rank, raw, behind)
            if self._sought in line.text.casefold():  # the text is not only in the time stamp
                self._counts[run, rank] += 1
                if len(self._shown) < self._most_lines:
                    self._shown.append(line)

    def hits(self) -> Hits:
        """The hits so far; `complete` if no limit was reached."""
        return Hits(counts=dict(self._counts), lines=self._shown, complete=self.goes_on)


def search(order: SearchOrder, read: Callable[[RunLog, int, int], LogChunk]) -> Hits:
    """Search logs that can be read without asyncio.

    Args:
        order: The text, the logs, and the limits.
        read: Reads a piece of a log: (log, rank, offset). It may raise NotFound.
    """
    found = Search(order)
    for log, rank in ranks_of(order.logs):
        offset = 0
        while found.goes_on:
            try:
                chunk = read(log, rank, offset)
            except Absent:
                break
            if not chunk.data:
                break
            found.take(log.run, rank, chunk)
            offset = chunk.next
    return found.hits()


def ranks_of(logs: Iterable[RunLog]) -> Iterable[tuple[RunLog, int]]:
    """All ranks of all runs, in order."""
    return ((log, rank) for log in logs for rank in range(log.ranks))
