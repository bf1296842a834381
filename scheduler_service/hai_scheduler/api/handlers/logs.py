"""Endpoints on logs of tasks, as pages and as streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from hai_scheduler.api.server.encoded import Encoded
from hai_scheduler.api.server.route import Ask, Batch, Pieces, Stream, StreamMessage
from hai_scheduler.api.wire.logs import LogCount, LogExtent, LogExtents, LogHits, LogLine, LogPage
from hai_scheduler.api.wire.params import DownloadQuery, ExtentsQuery, LogQuery, Nothing, SearchQuery
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.service.logs.lines import Cursor, Extent, Hits, Page
from hai_scheduler.service.shared.errors import Invalid


def page_out(page: Page) -> LogPage:
    """Return the model of a page of a log."""
    lines = [LogLine.model_validate(line) for line in page.lines]
    begins = None if page.begins is None else str(page.begins)
    return LogPage(lines=lines, next_cursor=str(page.cursor), prev_cursor=begins, final=page.final)


def extents_out(extents: Sequence[Extent]) -> LogExtents:
    """Return the model of how much is kept of a log."""
    return LogExtents(items=[LogExtent.model_validate(one) for one in extents])


def hits_out(hits: Hits) -> LogHits:
    """Return the model of the results of a search."""
    counts = [LogCount(run=run, rank=rank, hits=n) for (run, rank), n in sorted(hits.counts.items())]
    lines = [LogLine.model_validate(line) for line in hits.lines]
    return LogHits(counts=counts, lines=lines, complete=hits.complete)


async def read(ask: Ask[LogQuery, Nothing]) -> LogPage | Encoded | Stream:
    """Return a page of the log or, if the request asks for it, a stream of its lines."""
    query = ask.query
    if query.cursor is not None and query.tail is not None:
        raise Invalid("tail", query.tail, "cannot be combined with `cursor`: give one of them")
    if query.before is not None and (query.cursor, query.tail) != (None, None):
        raise Invalid("before", query.before, "cannot be combined with `cursor` or `tail`: give one of them")
    if query.follow or "text/event-stream" in ask.headers.get("Accept", ""):
        return Stream(_follow(ask))
    logs, task = ask.platform.logs.reading, ask.path["task"]
    if query.tail is not None:
        page = await logs.tail(ask.caller, task, rank=query.rank, run=query.run, lines=query.tail)
    elif query.before is not None:
        before = Cursor.parse(query.before)
        page = await logs.tail(ask.caller, task, rank=query.rank, run=query.run, lines=query.limit, before=before)
    else:
        page = await logs.page(
            ask.caller, task, rank=query.rank, run=query.run, cursor=_cursor(query.cursor), limit=query.limit
        )
    # Ten thousand lines: that takes a tenth of a second. Logs may have secrets, and are not compressed.
    body = await in_reader(lambda: page_out(page).model_dump_json().encode())
    return Encoded(body, packs=False)


async def extents(ask: Ask[ExtentsQuery, Nothing]) -> LogExtents:
    """Return how much is kept of the log, by run."""
    return extents_out(await ask.platform.logs.reading.extents(ask.caller, ask.path["task"], rank=ask.query.rank))


async def download(ask: Ask[DownloadQuery, Nothing]) -> Pieces:
    """Return the whole log as a text file."""
    query, logs = ask.query, ask.platform.logs.reading
    task_id, pieces = await logs.download(
        ask.caller, ask.path["task"], rank=query.rank, run=query.run, times=query.times
    )
    part = "" if query.run is None else f"-run-{query.run}"
    return Pieces(pieces, "text/plain; charset=utf-8", f"task-{task_id}{part}-rank-{query.rank}.log")


async def search(ask: Ask[SearchQuery, Nothing]) -> LogHits:
    """Search for a text in the logs of every rank and run."""
    return hits_out(await ask.platform.logs.reading.search(ask.caller, ask.path["task"], ask.query.q))


async def _follow(ask: Ask[LogQuery, Nothing]) -> AsyncGenerator[Batch, None]:
    query, logs, task = ask.query, ask.platform.logs.reading, ask.path["task"]
    cursor = _cursor(ask.headers.get("Last-Event-ID", query.cursor))
    if cursor is None and query.tail is not None:
        page = await logs.tail(ask.caller, task, rank=query.rank, run=query.run, lines=query.tail)
        yield _messages(page)
        cursor = page.cursor
    pages = logs.follow(ask.caller, task, rank=query.rank, run=query.run, cursor=cursor)
    async with aclosing(pages):
        async for page in pages:
            yield _messages(page)
    yield [StreamMessage("end", "{}")]


def _messages(page: Page) -> bytes:
    """Return the page encoded as messages; it is encoded once for all readers that follow the log."""
    made = page.made.get("messages")
    if made is None:
        messages = (
            StreamMessage("line", LogLine.model_validate(line).model_dump_json(), str(line.cursor))
            for line in page.lines
        )
        made = page.made["messages"] = "".join(message.encode() for message in messages).encode()
    return made


def _cursor(text: str | None) -> Cursor | None:
    return Cursor.parse(text) if text else None
