"""Merges the logs of all ranks of a task into one, in the order of their lines' times.

The log of each rank is read page by page, and only as far as needed: one page per rank is held in memory. Times are
those of the ranks' nodes; the lines of one rank keep their order even if its clock is wrong. The platform's own lines,
which are in every rank's log, are shown once: the line at the end of a run comes after all lines of its ranks.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Callable, Optional, Tuple

from hai_client.wire.schema import LogLine, LogPage

#: About how many lines are held of all ranks together, and at least how many of each rank.
HELD_LINES = 4000
LEAST_LINES = 20
#: Most pages that are fetched in a second while there are no new lines.
PAGES_A_SECOND = 10.0
#: Least time between two looks for new lines, seconds.
LOOK_EVERY_S = 1.0

#: Reads a page of a log; the arguments are the rank, the cursor to read on from, `tail` and `limit`.
Read = Callable[[int, Optional[str], Optional[int], Optional[int]], LogPage]
#: Sort key of a line: its run; 0 for the line that begins the run, 1 for a rank's line, 2 for its end; its time.
_Key = Tuple[int, int, float]


def replaces(line: LogLine, state: LogLine) -> bool:
    """Return whether a line takes the place of a state of a line that is being written again."""
    return state.rewritten and line.rank is not None and (line.run, line.rank) == (state.run, state.rank)


class _Rank:
    """One rank's log, as far as it has been read."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.cursor: str | None = None
        self.lines: deque[tuple[_Key, LogLine]] = deque()
        #: `dry`: the last page had no lines. `final`: the log is complete.
        self.dry = False
        self.final = False
        #: The state of a line that is being written again: it is kept until it is known what follows it.
        self.state: LogLine | None = None
        #: Sort key of the latest line that was read.
        self.reached: _Key = (0, 0, 0.0)

    def take(self, page: LogPage, *, more: bool) -> None:
        """Add the lines of the next page; `more`: whether later ones will be read."""
        for line in page.lines:
            if self.state is not None and not replaces(line, self.state):
                self._keep(self.state)
            self.state = line if line.rewritten else None
            if not line.rewritten:
                self._keep(line)
        if self.state is not None and (page.final or not (more or page.lines)):
            self._keep(self.state)
            self.state = None
        self.cursor, self.final, self.dry = page.next_cursor, page.final, not page.lines

    def _keep(self, line: LogLine) -> None:
        self.reached = self._key(line)
        self.lines.append((self.reached, line))

    def _key(self, line: LogLine) -> _Key:
        run, _, latest = self.reached
        at = latest if line.at is None else line.at.timestamp()
        part = 1
        if line.rank is None and line.at is not None:
            part = 0 if line.text.startswith(f"-- run {line.run} started ") else 2
        return line.run, part, max(at, latest) if line.run == run else at

    def may_pass(self, key: _Key) -> bool:
        """Return whether a line with this key may be shown although this rank's log may not have reached the key."""
        run, part, _ = self.reached
        return key[:2] <= (run, max(part, 1)) and run > 0


class MergedLog:
    """The logs of ranks 0 to `ranks` - 1 as one.

    Args:
        read: Reads a page of a rank's log.
        ranks: The number of ranks.
        tail: Of the lines written by now, show only this many from the end.
    """

    def __init__(self, read: Read, ranks: int, *, tail: int | None = None) -> None:
        self._read = read
        self._ranks = [_Rank(number) for number in range(ranks)]
        self._limit = max(LEAST_LINES, HELD_LINES // max(1, ranks))
        self._tail = tail
        #: Lines of the platform that were shown: their run, and whether they begin or end it.
        self._told: set[tuple[int, int]] = set()

    @property
    def final(self) -> bool:
        """Whether the logs are complete and all their lines were shown."""
        return all(rank.final and not rank.lines for rank in self._ranks)

    def lines(self, *, more: bool = False) -> Iterator[LogLine]:
        """Yield the lines that are there now and were not shown yet.

        Args:
            more: Whether later lines will be read too: then the line at the end of a run waits for all its ranks.
        """
        if self._tail is not None:
            kept: deque[LogLine] = deque(self._merged(more), maxlen=self._tail)
            self._tail = None
            yield from kept
        else:
            yield from self._merged(more)

    def follow(self, sleep: Callable[[float], None]) -> Iterator[LogLine]:
        """Yield the lines that are there, and new ones as they come, to the end of the task."""
        while True:
            yield from self.lines(more=True)
            if self.final:
                return
            sleep(max(LOOK_EVERY_S, len(self._ranks) / PAGES_A_SECOND))

    def _merged(self, more: bool) -> Iterator[LogLine]:
        heads: list[tuple[_Key, int]] = []
        for rank in self._ranks:
            rank.dry = False
            self._offer(rank, heads, more)
        while heads:
            key, number = heads[0]
            if more and any(not one.lines and not one.final and not one.may_pass(key) for one in self._ranks):
                return
            heapq.heappop(heads)
            rank = self._ranks[number]
            _, line = rank.lines.popleft()
            # Before the yield: a reader that is interrupted at the yield goes on after this line.
            shown = self._shown(key, line, number)
            if shown is not None:
                yield shown
            self._offer(rank, heads, more)

    def _offer(self, rank: _Rank, heads: list[tuple[_Key, int]], more: bool) -> None:
        """Put the next line of a rank into the heap; read a page if there is none."""
        while not rank.lines and not rank.dry and not rank.final:
            tail = self._tail if rank.cursor is None else None
            limit = None if tail is not None else self._limit
            rank.take(self._read(rank.number, rank.cursor, tail, limit), more=more)
        if rank.lines:
            heapq.heappush(heads, (rank.lines[0][0], rank.number))

    def _shown(self, key: _Key, line: LogLine, number: int) -> LogLine | None:
        if line.rank is not None:
            return line
        if line.at is None:
            # A line on a gap in the log of one rank: name the rank.
            return replace(line, text=f"rank {number}: {line.text}")
        if key[:2] in self._told:
            return None
        self._told.add(key[:2])
        return line
