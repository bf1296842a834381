"""When a stream sends, waits, asks again who reads, and ends; by a clock that the test turns."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import pytest
from tornado.iostream import StreamClosedError

from hai_scheduler.api.server import streaming
from hai_scheduler.api.server.problems import Refused
from hai_scheduler.api.server.route import Batch, Stream, StreamMessage
from hai_scheduler.api.server.streaming import KEEP_ALIVE, LONGEST_LAG, LOOKS_AGAIN, STREAM_LIFE, StreamSender
from hai_scheduler.ports.effort import Effort

MESSAGE = StreamMessage(event="line", data='{"n":1}', id="7")
TEXT = 'id: 7\nevent: line\ndata: {"n":1}\n\n'


class Reader:
    """A handler whose reader takes everything at once, unless it is deaf."""

    def __init__(self) -> None:
        self._headers_written = False
        self.headers: dict[str, str] = {}
        self.written: list[str | bytes] = []
        self.deaf = False
        self.closed = False
        self.request = SimpleNamespace(connection=SimpleNamespace(stream=SimpleNamespace(close=self._close)))

    def set_header(self, name: str, value: str) -> None:
        self.headers[name] = value

    def write(self, text: str | bytes) -> None:
        self.written.append(text)

    async def flush(self) -> None:
        self._headers_written = True
        if self.deaf:
            raise TimeoutError

    def _close(self) -> None:
        self.closed = True


class Place:
    """A place in a budget, which is behind by `lag` seconds."""

    def __init__(self, lag: float) -> None:
        self.lag = lag
        self.charged: list[float] = []
        self.worked: list[float] = []

    def charge_size(self, size: int) -> None:
        self.charged.append(size)

    def charge_work(self, seconds: float) -> None:
        self.worked.append(seconds)


class Time:
    """The time of the machine, as the module reads it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(streaming, "time", clock)
    return clock


def sender(reader: Reader, clock: Time, place: Place | None = None, still: object = None) -> StreamSender:
    async def still_may() -> bool:
        answer = still() if callable(still) else True
        if isinstance(answer, Exception):
            raise answer
        return answer

    given: Any = (reader, place, Effort("bob", 0.5), clock, still_may)
    return StreamSender(*given)


def batches(clock: Time, *steps: tuple[float, Batch]) -> tuple[Stream, list[str]]:
    """Batches, each after some seconds, and what became of their maker."""
    story: list[str] = []

    async def make() -> AsyncGenerator[Batch, None]:
        try:
            for seconds, batch in steps:
                clock.now += seconds
                yield batch
            story.append("all were taken")
        finally:
            story.append("closed")

    return Stream(make()), story


async def test_batches_are_sent_as_they_are_and_messages_are_encoded(clock: Time) -> None:
    reader = Reader()
    stream, story = batches(clock, (0, [MESSAGE, MESSAGE]), (0, b"bytes"))
    await sender(reader, clock).send(stream)
    assert reader.written == [TEXT * 2, b"bytes"]
    assert reader.headers == {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}
    assert story == ["all were taken", "closed"]


def test_a_message_without_an_id_leaves_the_last_one_in_force() -> None:
    assert StreamMessage(event="hello", data="{}").encode() == "event: hello\ndata: {}\n\n"


async def test_an_empty_batch_sends_a_comment_only_when_nothing_was_sent_for_long(clock: Time) -> None:
    reader = Reader()
    stream, _ = batches(clock, (0, [MESSAGE]), (KEEP_ALIVE - 1, []), (1, []), (KEEP_ALIVE - 1, []), (0, [MESSAGE]))
    await sender(reader, clock).send(stream)
    assert reader.written == [TEXT, ": keep-alive\n\n", TEXT]


async def test_what_is_refused_with_the_first_batch_has_sent_nothing(clock: Time) -> None:
    async def refuse() -> AsyncGenerator[Batch, None]:
        raise Refused("not_found", "there is none")
        yield b""

    reader = Reader()
    with pytest.raises(Refused, match="there is none"):
        await sender(reader, clock).send(Stream(refuse()))
    assert (reader.headers, reader.written) == ({}, [])


async def test_a_stream_ends_after_its_life_and_its_maker_is_closed(clock: Time) -> None:
    stream, story = batches(clock, (STREAM_LIFE - 1, [MESSAGE]), (1, [MESSAGE]), (0, [MESSAGE]))
    reader = Reader()
    await sender(reader, clock).send(stream)
    assert reader.written == [TEXT, TEXT]
    assert story == ["closed"]


async def test_it_asks_again_who_reads_now_and_then_and_ends_when_they_may_not_any_more(clock: Time) -> None:
    asked: list[float] = []

    def still() -> bool:
        asked.append(clock.now)
        return len(asked) < 2

    steps = [(LOOKS_AGAIN / 2, [MESSAGE])] * 8
    stream, story = batches(clock, *steps)
    reader = Reader()
    await sender(reader, clock, still=still).send(stream)
    assert asked == [1000 + LOOKS_AGAIN, 1000 + 2 * LOOKS_AGAIN]
    assert len(reader.written) == 4
    assert story == ["closed"]


async def test_a_reader_whose_token_is_revoked_is_refused(clock: Time) -> None:
    stream, story = batches(clock, (LOOKS_AGAIN, [MESSAGE]), (0, [MESSAGE]))
    with pytest.raises(Refused, match="who are you"):
        await sender(Reader(), clock, still=lambda: Refused("unauthorized", "who are you")).send(stream)
    assert story == ["closed"]


@pytest.mark.parametrize(("lag", "pauses"), [(0.0, []), (2.0, [2.0]), (60.0, [LONGEST_LAG])])
async def test_what_is_sent_is_charged_and_a_stream_that_sends_too_much_waits(
    clock: Time, lag: float, pauses: list[float]
) -> None:
    place = Place(lag)
    stream, _ = batches(clock, (0, [MESSAGE]))
    await sender(Reader(), clock, place).send(stream)
    assert (place.charged, place.worked) == ([len(TEXT)], [0.5])
    assert clock.slept == pauses
    assert LONGEST_LAG < KEEP_ALIVE, "or proxies would cut a stream that waits"


async def test_a_reader_who_reads_nothing_is_disconnected(clock: Time) -> None:
    reader = Reader()
    reader.deaf = True
    stream, story = batches(clock, (0, [MESSAGE]), (0, [MESSAGE]))
    with pytest.raises(StreamClosedError):
        await sender(reader, clock).send(stream)
    assert reader.closed
    assert story == ["closed"]
