"""The endpoint of the event feed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from hai_scheduler.api.server.route import Ask, Batch, Stream, StreamMessage
from hai_scheduler.api.wire.base import MAX_NUMBER
from hai_scheduler.api.wire.events import EventOut
from hai_scheduler.api.wire.params import FeedQuery, Nothing
from hai_scheduler.service.insight.queries import whose
from hai_scheduler.service.notifying.messages import in_words_of
from hai_scheduler.service.shared.errors import Invalid

#: Most events that are sent together.
BATCH = 100


async def follow(ask: Ask[FeedQuery, Nothing]) -> Stream:
    """Return a stream of events as they happen."""
    whose(ask.caller, ask.query.user)
    return Stream(_batches(ask, await ask.platform.insight.feed.begin(_after(ask))))


def _after(ask: Ask[FeedQuery, Nothing]) -> int | None:
    last = ask.headers.get("Last-Event-ID")
    if not last:
        return ask.query.after
    if not (last.isascii() and last.isdigit() and int(last) <= MAX_NUMBER):
        raise Invalid("Last-Event-ID", last, "is not the id of an event: leave it out to start now")
    return int(last)


async def _batches(ask: Ask[FeedQuery, Nothing], after: int) -> AsyncGenerator[Batch, None]:
    # The hello has an id too: a client that loses the connection before the first event misses nothing.
    yield [StreamMessage("hello", f'{{"seq":{after}}}', str(after))]
    events = ask.platform.insight.feed.follow(ask.caller, after=after, user=ask.query.user)
    batch: list[StreamMessage] = []
    async with aclosing(events):
        async for event in events:
            if event is not None:
                told = EventOut.model_validate(in_words_of(ask.caller.say, event))
                batch.append(StreamMessage(event.kind, told.model_dump_json(), str(event.seq)))
            if event is None or len(batch) >= BATCH:
                yield batch
                batch = []
