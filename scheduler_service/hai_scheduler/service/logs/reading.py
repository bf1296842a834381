"""Reads the log of a task as one text over all its runs.

Between the logs of the runs are lines of the platform that say when and where a run started and how it ended. They
are made from the stored runs, so that they are the same at each reading.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.service.logs.download import text_of
from hai_scheduler.service.logs.lines import Cursor, Extent, Hits, Line, Page, count_lines, last_lines_of, lines_of
from hai_scheduler.service.logs.log_markers import end_of, lost_bytes, no_log, start_of
from hai_scheduler.service.logs.search import CHUNK, Search
from hai_scheduler.service.logs.story import Facts, Story, StoryReading
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid, NotFound, Unavailable
from hai_scheduler.service.shared.lookup import find
from hai_scheduler.service.shared.news import News
from hai_scheduler.service.shared.orders import ComputePool, RunLog, SearchOrder
from hai_scheduler.service.shared.world import UseCase

#: Lines of a page, unless the reader asks for another number.
PAGE_LINES = 1000
#: Characters after which a page ends, even if it has fewer lines than asked for.
PAGE_BYTES = 1024 * 1024
#: The most bytes of a log that `tail` reads.
TAIL_BYTES = 8 * 1024 * 1024
#: The most runs whose extents are told.
EXTENTS = 1000
#: An offset behind the end of any log.
_BEHIND = 10**15
#: The most bytes that one search reads.
SEARCH_BYTES = 256 * 1024 * 1024
#: The most seconds that one search takes.
SEARCH_SECONDS = 10.0
#: The most lines that one search returns; all hits are counted.
SEARCH_LINES = 200


@dataclass(frozen=True, slots=True)
class _Piece:
    """Lines, and the cursor behind them. `waits`: there are no lines now, but more may come."""

    lines: Sequence[Line]
    cursor: Cursor
    waits: bool = False


@dataclass(slots=True, eq=False)
class Logs(UseCase):
    """Reads the logs of tasks."""

    news: News
    workers: ComputePool
    #: Longest time between two looks at a log that is followed, in seconds.
    look_every: float = 0.5
    _stories: dict[tuple[TaskId, int, int | None], Story] = field(default_factory=dict, init=False)

    async def page(
        self,
        caller: Caller,
        ref: str,
        *,
        rank: int = 0,
        run: int | None = None,
        cursor: Cursor | None = None,
        limit: int = PAGE_LINES,
    ) -> Page:
        """At most `limit` lines behind the cursor, of one run or of all. Raises NotFound, Invalid and Unavailable."""
        facts = await self._read(caller, ref)
        _check(*facts, rank, run, cursor)
        begins = cursor or Cursor(run or 1)
        page = await self._page(facts, rank, run, begins, limit)
        return replace(page, begins=_if_not_first(begins, facts[1], run))

    async def _page(self, facts: Facts, rank: int, run: int | None, here: Cursor, limit: int = PAGE_LINES) -> Page:
        task, runs = facts
        lines: list[Line] = []
        size = 0
        while len(lines) < limit and size < PAGE_BYTES:
            if _over(task, runs, run, here):
                return Page(lines=lines, cursor=here, final=True)
            piece = await self._piece(runs, rank, here, limit - len(lines))
            lines += piece.lines
            size += sum(len(line.text) for line in piece.lines)
            here = piece.cursor
            if piece.waits:
                break
        return Page(lines=lines, cursor=here, final=_over(task, runs, run, here))

    async def tail(
        self,
        caller: Caller,
        ref: str,
        *,
        rank: int = 0,
        run: int | None = None,
        lines: int,
        before: Cursor | None = None,
    ) -> Page:
        """The last `lines` lines of the log, or of the part of it that ends at `before`.

        The cursor is behind them, so that a reader can go on from there; `begins` is where the lines before them end.
        """
        task, runs = await self._read(caller, ref)
        _check(task, runs, rank, run, before)
        wanted = [r for r in runs if (run is None or r.number == run) and _begins_before(r, before)]
        begins = end = before or Cursor(run or 1)
        kept: list[Line] = []
        for one in reversed(wanted):
            until = before.offset if before is not None and before.run == one.number else None
            own, begins, behind = await self._last_of_run(one, runs, rank, lines - len(kept), until)
            if one is wanted[-1] and before is None:
                end = behind
            kept = own + kept
            if len(kept) >= lines or begins.offset is not None:
                # The rest of this run comes before the runs before it.
                break
        return Page(lines=kept, cursor=end, final=_over(task, runs, run, end), begins=_if_not_first(begins, runs, run))

    async def _last_of_run(
        self, run: Run, runs: Sequence[Run], rank: int, count: int, until: int | None
    ) -> tuple[list[Line], Cursor, Cursor]:
        """The last `count` lines of a run at most, including the platform's, and the cursors before and behind them.

        `until` is the offset at which the part ends that is looked at; None: the whole run.
        """
        chunks, offset, begins = await self._last_chunks(run, rank, count, until)
        lines: list[Line] = []
        first = Cursor(run.number)
        if begins == 0:
            lines.append(_own(run, run.started_at, start_of(run), Cursor(run.number, 0)))
            if chunks and chunks[0].start:
                lines.append(_gap(run, 0, chunks[0].start))
        elif chunks:
            first = Cursor(run.number, chunks[0].start)
        if chunks is None and until is None and not run.live:
            lines.append(_own(run, None, no_log(run), Cursor(run.number, 0)))
        # One more than is wanted, which says where the first wanted one begins.
        lines += await in_reader(lambda: last_lines_of(run.number, rank, chunks or (), count + 1, live=run.live))
        behind = Cursor(run.number, offset)
        if not run.live and until is None:
            behind = Cursor(run.number + 1)
            lines.append(_own(run, run.ended_at, end_of(run, runs), behind))
        cut = max(0, len(lines) - count)
        return lines[cut:], lines[cut - 1].cursor if cut else first, behind

    async def _last_chunks(
        self, run: Run, rank: int, count: int, until: int | None
    ) -> tuple[list[LogChunk] | None, int, int]:
        """The last pieces of a rank's log before `until`, with at least `count` lines if the log has them.

        No more than `TAIL_BYTES` are read of a long log.

        Returns:
            The pieces in order (None: there is no log), the offset of their end, and the offset where reading began, 0
            if nothing is kept before it.
        """
        found = await self._chunk(run, rank, _BEHIND)
        if found is None:
            return None, 0, 0
        end = found.start if until is None else min(until, found.start)
        for size in (CHUNK, 4 * CHUNK, TAIL_BYTES):
            offset = begins = max(0, end - size)
            chunks: list[LogChunk] = []
            while (until is None or offset < end) and (chunk := await self._chunk(run, rank, offset)) is not None:
                if not chunk.data:
                    break
                offset = chunk.next
                if not chunks and chunk.start > begins:
                    begins = 0  # what comes before it was rotated away
                part = chunk if until is None else _up_to(chunk, end)
                chunks.append(part if chunks or not begins else _from_a_line_on(part, begins))
            if not begins or count_lines(chunks) >= count:
                break
        return chunks, offset, begins

    async def extents(self, caller: Caller, ref: str, *, rank: int = 0) -> Sequence[Extent]:
        """How much is kept of the log of a rank, by run; of the latest `EXTENTS` runs. Raises as `page` does."""
        task, runs = await self._read(caller, ref)
        _check(task, runs, rank, None, None)
        found: list[Extent] = []
        for run in runs[-EXTENTS:]:
            chunk = await self._chunk(run, rank, 0, limit=1)
            first, end = (0, 0) if chunk is None else (chunk.start, max(chunk.next, chunk.end))
            found.append(Extent(run=run.number, start=first, end=end))
        return found

    async def download(
        self, caller: Caller, ref: str, *, rank: int = 0, run: int | None = None, times: bool = False
    ) -> tuple[TaskId, AsyncGenerator[bytes, None]]:
        """The task, and the log of a rank as it is by now, as text, in pieces. Raises as `page` does, at once."""
        task, runs = await self._read(caller, ref)
        _check(task, runs, rank, run, None)

        async def read(one: Run, offset: int) -> LogChunk | None:
            return await self._chunk(one, rank, offset)

        return task.id, text_of(runs, read, run=run, times=times)

    async def follow(
        self,
        caller: Caller,
        ref: str,
        *,
        rank: int = 0,
        run: int | None = None,
        cursor: Cursor | None = None,
    ) -> AsyncGenerator[Page, None]:
        """Pages as they come, with an empty page when a look has found no lines; ends with the final page.

        A reader who is behind reads the log alone. Readers who have reached the end share one `Story`, which reads it
        once for all of them.
        """
        facts = await self._read(caller, ref)
        _check(*facts, rank, run, cursor)
        task_id, here = facts[0].id, cursor or Cursor(run or 1)
        while True:
            page = await self._page(facts, rank, run, here)
            yield page
            here = page.cursor
            if page.final:
                return
            if not page.lines:
                async with self._story(task_id, rank, run, here) as story, aclosing(self._along(story, here)) as pages:
                    async for page in pages:
                        yield page
                        here = page.cursor
                        if page.final:
                            return
            facts = await self._facts(task_id)

    async def _along(self, story: Story, here: Cursor) -> AsyncGenerator[Page, None]:
        """Pages of a story behind the cursor; ends when the story no longer holds the next page."""
        number: int | None = None
        while True:
            if number is None:
                number = story.place_of(here)
            if number is None:
                found = story.rest_of(here)
                if found is None:
                    behind = story.is_behind(here)
                    if not await story.more(self.look_every) and behind:
                        yield Page(lines=(), cursor=here, final=False)
                    if not behind:
                        return
                    continue
                page, number = found
            else:
                try:
                    next_one = story.page(number)
                except LookupError:
                    return
                if next_one is None:
                    if not await story.more(2 * self.look_every):
                        yield Page(lines=(), cursor=here, final=False)
                    continue
                page, number = next_one, number + 1
            yield page
            here = page.cursor

    @asynccontextmanager
    async def _story(self, task_id: TaskId, rank: int, run: int | None, here: Cursor) -> AsyncIterator[Story]:
        """The story that all followers of this log share; a new one begins at the cursor `here`."""
        key = (task_id, rank, run)
        story = self._stories.get(key)
        if story is None or story.failed:

            async def page_of(facts: Facts, behind: Cursor) -> Page:
                return await self._page(facts, rank, run, behind)

            how = StoryReading(facts=self._facts, page=page_of, news=self.news, look_every=self.look_every)
            story = self._stories[key] = Story(task_id, here, how)
        try:
            async with story.followed_by_me():
                yield story
        finally:
            if not story.followed and self._stories.get(key) is story:
                del self._stories[key]

    async def _facts(self, task_id: TaskId) -> Facts:
        async with self.store.read() as tx:
            try:
                return await tx.tasks.get(task_id), await tx.runs.of_task(task_id)
            except Absent:
                raise NotFound(f"There is no task {task_id} any more.") from None

    async def search(self, caller: Caller, ref: str, text: str) -> Hits:
        """Search the text in the logs of all ranks and runs; letter case is ignored.

        Raises NotFound, TooMany and Unavailable.
        """
        _, runs = await self._read(caller, ref)
        placed = [(run, self.cluster.log_place(run.id)) for run in runs]
        order = SearchOrder(
            text=text,
            logs=tuple(
                RunLog(run=run.number, run_id=run.id, ranks=len(run.ranks), place=place)
                for run, place in placed
                if place is not None
            ),
            most_bytes=SEARCH_BYTES,
            most_seconds=SEARCH_SECONDS,
            most_lines=SEARCH_LINES,
        )
        if len(order.logs) == len(runs):
            hits = await self.workers.do(caller.name, order)
            assert isinstance(hits, Hits)
            return hits
        return await self._search_here(order, runs)

    async def _search_here(self, order: SearchOrder, runs: Sequence[Run]) -> Hits:
        """Search logs that only the cluster can read, in this process."""
        found = Search(order)
        for run, rank in ((one, rank) for one in runs for rank in range(len(one.ranks))):
            offset = 0
            while found.goes_on and (chunk := await self._chunk(run, rank, offset)) is not None and chunk.data:
                await in_reader(partial(found.take, run.number, rank, chunk))
                offset = chunk.next
        return found.hits()

    async def _read(self, caller: Caller, ref: str) -> Facts:
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            return task, await tx.runs.of_task(task.id)

    async def _piece(self, runs: Sequence[Run], rank: int, here: Cursor, limit: int) -> _Piece:
        """The next lines behind the cursor, at most `limit`."""
        # Run numbers grow, but some may be missing (decision 0016).
        run = next((r for r in runs if r.number >= here.run), None)
        if run is None:
            return _Piece([], here, waits=True)
        if run.number > here.run:
            here = Cursor(run.number)
        if here.offset is None:
            begun = Cursor(run.number, 0)
            return _Piece([_own(run, run.started_at, start_of(run), begun)], begun)
        chunk = await self._chunk(run, rank, here.offset)
        if chunk is not None and chunk.data:
            asked, data = here.offset, chunk
            return await in_reader(lambda: _data_piece(run, rank, asked, data, limit))
        if run.live:
            return _Piece([], here, waits=True)
        behind = Cursor(run.number + 1)
        own = [_own(run, run.ended_at, end_of(run, runs), behind)]
        if chunk is None and here.offset == 0:
            own.insert(0, _own(run, None, no_log(run), here))
        return _Piece(own, behind)

    async def _chunk(self, run: Run, rank: int, offset: int, limit: int = CHUNK) -> LogChunk | None:
        """A piece of a rank's log from `offset`; None if the cluster has no such log."""
        if rank >= len(run.ranks):
            return None
        try:
            return await self.cluster.read_log(run.id, rank, offset=offset, limit=limit)
        except Absent:
            return None
        except Temporary as error:
            raise Unavailable(f"The log of run {run.id} cannot be read now: try again soon.") from error


def _check(task: Task, runs: Sequence[Run], rank: int, run: int | None, cursor: Cursor | None) -> None:
    if not 0 <= rank < task.nodes:
        raise Invalid("rank", rank, f"task {task.id} has ranks 0 to {task.nodes - 1}")
    if run is not None and not any(r.number == run for r in runs):
        known = f"it has runs {_numbers(runs)}" if runs else "it has not run yet"
        raise Invalid("run", run, f"there is no run {run} of task {task.id}: {known}")
    first, last = (run, run) if run else (1, runs[-1].number if runs else 0)
    if cursor is not None and not first <= cursor.run <= last + 1:
        raise Invalid("cursor", str(cursor), "belongs to another run, or to another task: leave it out")


def _numbers(runs: Sequence[Run]) -> str:
    """The run numbers in words: `1 to 3`, or a list if some numbers are missing."""
    numbers = [run.number for run in runs]
    whole = numbers == list(range(1, len(numbers) + 1))
    return f"1 to {numbers[-1]}" if whole else ", ".join(map(str, numbers))


def _over(task: Task, runs: Sequence[Run], run: int | None, here: Cursor) -> bool:
    """True if no line can follow behind the cursor."""
    if run is not None:
        return here.run > run
    return task.state.ended and here.run > (runs[-1].number if runs else 0)


def _own(run: Run, at: datetime | None, text: str, cursor: Cursor) -> Line:
    return Line(run=run.number, rank=None, at=at, text=text, cursor=cursor)


def _gap(run: Run, begin: int, end: int) -> Line:
    """The line in place of what rotation has removed."""
    return _own(run, None, lost_bytes(run, end - begin), Cursor(run.number, end))


def _begins_before(run: Run, cursor: Cursor | None) -> bool:
    """True if lines of the run are before the cursor; None is the end of the log."""
    return cursor is None or run.number < cursor.run or (run.number == cursor.run and cursor.offset is not None)


def _if_not_first(cursor: Cursor, runs: Sequence[Run], run: int | None) -> Cursor | None:
    """The cursor, or None if there are no lines before it."""
    wanted = (one for one in runs if run is None or one.number == run)
    return cursor if any(_begins_before(one, cursor) for one in wanted) else None


def _up_to(chunk: LogChunk, end: int) -> LogChunk:
    """The part of the chunk that ends at the offset `end`."""
    if chunk.next <= end:
        return chunk
    return replace(chunk, data=chunk.data[: max(0, end - chunk.start)], next=max(chunk.start, end), final=False)


def _data_piece(run: Run, rank: int, asked: int, chunk: LogChunk, limit: int) -> _Piece:
    lines = [_gap(run, asked, chunk.start)] if chunk.start > asked else []
    lines += lines_of(run.number, rank, chunk, limit + 1 - len(lines), live=run.live)
    behind = lines[limit - 1].cursor if len(lines) > limit else Cursor(run.number, chunk.next)
    return _Piece(lines[:limit], behind)


def _from_a_line_on(chunk: LogChunk, asked: int) -> LogChunk:
    """The chunk without its first line, which may have begun before the chunk."""
    cut = chunk.data.find(b"\n") + 1 if chunk.start == asked else 0
    return replace(chunk, start=chunk.start + cut, data=chunk.data[cut:]) if cut < len(chunk.data) else chunk
