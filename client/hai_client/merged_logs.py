"""The logs of all ranks of a task as one, by the time of their lines.

Each rank is read page by page, and not further than the others need: what is held is one page a rank. Times are those
of the ranks' nodes; the lines of one rank keep their order whatever its clock does. The platform's own lines, which
every rank's log has, come once: the one at the end of a run comes behind all that its ranks have written.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Callable, Optional, Tuple

from hai_client.wire.schema import LogLine, LogPage

#: Lines that are held of all ranks together, about, and of each rank at least.
HELD_LINES = 4000
LEAST_LINES = 20
#: Pages that are asked for in a second, at most, when nothing is new.
PAGES_A_SECOND = 10.0
#: Seconds between two looks, at least.
LOOK_EVERY_S = 1.0

#: Reads a page: of this rank, behind this cursor, the last so many lines, at most so many lines.
Read = Callable[[int, Optional[str], Optional[int], Optional[int]], LogPage]
#: Where a line belongs: its run, whether it begins it (0), is of a rank (1) or ends it (2), and its time.
_Key = Tuple[int, int, float]


class _Rank:
    """One rank's log, as far as it is read."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.cursor: str | None = None
        self.lines: deque[tuple[_Key, LogLine]] = deque()
        #: Nothing more was there at the last look; nothing ever will be.
        self.dry = False
        self.final = False
        #: Where the latest line that was read belongs.
        self.reached: _Key = (0, 0, 0.0)

    def take(self, page: LogPage) -> None:
        """Take what comes behind the cursor."""
        for line in page.lines:
            self.reached = self._key(line)
            self.lines.append((self.reached, line))
        self.cursor, self.final, self.dry = page.next_cursor, page.final, not page.lines

    def _key(self, line: LogLine) -> _Key:
        run, _, latest = self.reached
        at = latest if line.at is None else line.at.timestamp()
        part = 1
        if line.rank is None and line.at is not None:
            part = 0 if line.text.startswith(f"-- run {line.run} started ") else 2
        return line.run, part, max(at, latest) if line.run == run else at

    def may_pass(self, key: _Key) -> bool:
        """Whether a line that belongs there may be shown although this rank is not known to have come so far."""
        run, part, _ = self.reached
        return key[:2] <= (run, max(part, 1)) and run > 0


class MergedLog:
    """The logs of ranks 0 to `ranks` - 1.

    Args:
        read: Reads a page.
        ranks: How many there are.
        tail: Only so many lines of what is there now.
    """

    def __init__(self, read: Read, ranks: int, *, tail: int | None = None) -> None:
        self._read = read
        self._ranks = [_Rank(number) for number in range(ranks)]
        self._limit = max(LEAST_LINES, HELD_LINES // max(1, ranks))
        self._tail = tail
        #: Lines of the platform that were shown: of which run, and where in it.
        self._told: set[tuple[int, int]] = set()

    @property
    def final(self) -> bool:
        """Whether nothing will ever be added to what was shown."""
        return all(rank.final and not rank.lines for rank in self._ranks)

    def lines(self, *, more: bool = False) -> Iterator[LogLine]:
        """What is there now, behind what was shown.

        Args:
            more: Whether what follows is read afterwards: then the end of a run waits for all its ranks.
        """
        if self._tail is not None:
            kept: deque[LogLine] = deque(self._merged(more), maxlen=self._tail)
            self._tail = None
            yield from kept
        else:
            yield from self._merged(more)

    def follow(self, sleep: Callable[[float], None]) -> Iterator[LogLine]:
        """What is there, and what comes, to the end of the task."""
        while True:
            yield from self.lines(more=True)
            if self.final:
                return
            sleep(max(LOOK_EVERY_S, len(self._ranks) / PAGES_A_SECOND))

    def _merged(self, more: bool) -> Iterator[LogLine]:
        heads: list[tuple[_Key, int]] = []
        for rank in self._ranks:
            rank.dry = False
            self._offer(rank, heads)
        while heads:
            key, number = heads[0]
            if more and any(not one.lines and not one.final and not one.may_pass(key) for one in self._ranks):
                return
            heapq.heappop(heads)
            rank = self._ranks[number]
            _, line = rank.lines.popleft()
            # Before the line is handed out: a reader that is interrupted there goes on behind it.
            shown = self._shown(key, line, number)
            if shown is not None:
                yield shown
            self._offer(rank, heads)

    def _offer(self, rank: _Rank, heads: list[tuple[_Key, int]]) -> None:
        """Let the next line of a rank take part."""
        if not rank.lines and not rank.dry and not rank.final:
            tail = self._tail if rank.cursor is None else None
            rank.take(self._read(rank.number, rank.cursor, tail, None if tail is not None else self._limit))
        if rank.lines:
            heapq.heappush(heads, (rank.lines[0][0], rank.number))

    def _shown(self, key: _Key, line: LogLine, number: int) -> LogLine | None:
        if line.rank is not None:
            return line
        if line.at is None:
            # What is missing in the log of one rank.
            return replace(line, text=f"rank {number}: {line.text}")
        if key[:2] in self._told:
            return None
        self._told.add(key[:2])
        return line
