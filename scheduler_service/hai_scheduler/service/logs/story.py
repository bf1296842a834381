"""The growing log of a task, read once for all its followers."""

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

#: Pages that are held for followers who are a little behind; a follower who is further behind reads the log alone.
HELD: Final = 32
#: Seconds after which the task and its runs are read again, even without an event.
FACTS_EVERY: Final = 5.0

Facts = tuple[Task, Sequence[Run]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryReading:
    """The functions with which a story reads."""

    facts: Callable[[TaskId], Awaitable[Facts]]
    #: Reads the page behind a cursor, given the task and its runs.
    page: Callable[[Facts, Cursor], Awaitable[Page]]
    news: News
    #: Longest time between two looks at the log, in seconds.
    look_every: float


class Story(SharedReading):
    """Pages of a log in order and without gaps; the latest pages are held.

    All followers get the same page objects, so that other forms of a page are made once.
    """

    def __init__(self, task_id: TaskId, begins: Cursor, reading: StoryReading) -> None:
        super().__init__()
        self._task_id, self._how = task_id, reading
        #: The held pages, each with the cursor at its beginning.
        self._pages: deque[tuple[Cursor, Page]] = deque(maxlen=HELD)
        #: The number of the next page, from 0.
        self._next = 0
        self._head = begins

    def place_of(self, cursor: Cursor) -> int | None:
        """The number of the page that begins at the cursor, which may not be read yet; None if no page begins there."""
        if cursor == self._head:
            return self._next
        first = self._next - len(self._pages)
        return next((first + n for n, (begins, _) in enumerate(self._pages) if begins == cursor), None)

    def rest_of(self, cursor: Cursor) -> tuple[Page, int] | None:
        """The rest of the page that contains the cursor, and the number of the next page; None if no page does."""
        first = self._next - len(self._pages)
        for number, (_, page) in enumerate(self._pages, first):
            for index, line in enumerate(page.lines):
                if line.cursor == cursor and page.lines[index + 1 :]:
                    rest = Page(lines=page.lines[index + 1 :], cursor=page.cursor, final=page.final)
                    return rest, number + 1
        return None

    def page(self, number: int) -> Page | None:
        """The page of that number; None if it is not read yet. Raises LookupError if it is no longer held."""
        if number >= self._next:
            return None
        index = number - (self._next - len(self._pages))
        if index < 0:
            raise LookupError(f"page {number} is not held any more")
        return self._pages[index][1]

    def is_behind(self, cursor: Cursor) -> bool:
        """True if the reader at the cursor is ahead of this story."""
        return _order(cursor) > _order(self._head)

    async def read_on(self) -> None:
        """Read pages until the final one."""
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
        """Wait until the next look at the log is due; returns True at once when the task has changed."""
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
