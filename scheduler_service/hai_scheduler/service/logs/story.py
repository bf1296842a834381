"""The log of a task as it grows, read once for all who follow it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.logs.lines import Cursor, Page
from hai_scheduler.service.shared.news import News, Newspaper, tells_of
from hai_scheduler.service.shared.shared_reading import SharedReading

#: Pages that are held for followers who are a little behind; whoever is further behind reads the log himself.
HELD: Final = 32
#: The task and its runs are read again after this time, in seconds, whatever the news say.
FACTS_EVERY: Final = 5.0

Facts = tuple[Task, Sequence[Run]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a story is read."""

    facts: Callable[[TaskId], Awaitable[Facts]]
    #: The page behind a cursor, of a task and its runs.
    page: Callable[[Facts, Cursor], Awaitable[Page]]
    news: News
    #: Longest time between two looks at the log, in seconds.
    look_every: float


class Story(SharedReading):
    """The pages behind a cursor, in order and without a gap, the latest of them held.

    Each page is one object for all, so that what is made of it is made once.
    """

    def __init__(self, task_id: TaskId, begins: Cursor, reading: Reading) -> None:
        super().__init__()
        self._task_id, self._how = task_id, reading
        #: With the cursor that each begins at.
        self._pages: deque[tuple[Cursor, Page]] = deque(maxlen=HELD)
        #: The number of the next page, from 0.
        self._next = 0
        self._head = begins

    def place_of(self, cursor: Cursor) -> int | None:
        """The number of the page that begins there, which may be still to come."""
        if cursor == self._head:
            return self._next
        first = self._next - len(self._pages)
        return next((first + n for n, (begins, _) in enumerate(self._pages) if begins == cursor), None)

    def rest_of(self, cursor: Cursor) -> tuple[Page, int] | None:
        """What is left of the page within which the cursor is, and the number of the page behind it."""
        first = self._next - len(self._pages)
        for number, (_, page) in enumerate(self._pages, first):
            for index, line in enumerate(page.lines):
                if line.cursor == cursor and page.lines[index + 1 :]:
                    rest = Page(lines=page.lines[index + 1 :], cursor=page.cursor, final=page.final)
                    return rest, number + 1
        return None

    def page(self, number: int) -> Page | None:
        """The page of that number; None if it is still to come. Raises LookupError if it is not held any more."""
        if number >= self._next:
            return None
        index = number - (self._next - len(self._pages))
        if index < 0:
            raise LookupError(f"page {number} is not held any more")
        return self._pages[index][1]

    def is_behind(self, cursor: Cursor) -> bool:
        """Whether a reader of his own has come further."""
        return _order(cursor) > _order(self._head)

    async def read_on(self) -> None:
        """Read to the end of the story."""
        async with self._how.news.read() as paper:
            while not paper.begun:
                await paper.more(FACTS_EVERY)
            while True:
                since = paper.latest
                facts, again = await self._how.facts(self._task_id), time.monotonic() + FACTS_EVERY
                while True:
                    page = await self._how.page(facts, self._head)
                    if page.lines or page.final:
                        self._add(page)
                    if page.final:
                        return
                    if not page.lines and await self._changed(paper, since):
                        break
                    if time.monotonic() >= again:
                        break

    def _add(self, page: Page) -> None:
        self._pages.append((self._head, page))
        self._next += 1
        self._head = page.cursor
        self.tell()

    async def _changed(self, paper: Newspaper, since: int) -> bool:
        """Wait until it is time to look at the log again; true at once when the task has changed."""
        ends = time.monotonic() + self._how.look_every
        while True:
            if tells_of(paper.later(since), self._task_id):
                return True
            since = max(since, paper.latest)
            left = ends - time.monotonic()
            if left <= 0 or not await paper.more(left):
                return False


def _order(cursor: Cursor) -> tuple[int, int]:
    return cursor.run, -1 if cursor.offset is None else cursor.offset
