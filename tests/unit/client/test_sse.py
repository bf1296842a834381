from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from hai_client import sse
from hai_client.api import Client
from hai_client.errors import NotFound, Unavailable
from hai_client.sse import Message, messages


def test_messages_are_read_with_event_id_and_joined_data() -> None:
    stream = b": hi\n\nid: 1\nevent: line\ndata: a\ndata:b\n\ndata: c\r\n\r\nevent: x\n\nid\ndata\n\n"
    assert list(messages(io.BytesIO(stream))) == [
        Message("line", "a\nb", "1"),
        Message("message", "c", "1"),
        Message("message", "", ""),
    ]


@pytest.mark.parametrize("stream", [b"data: a", b"data: a\n", b"data: a\nid: 2"])
def test_a_message_that_is_cut_off_is_not_handed_out(stream: bytes) -> None:
    assert list(messages(io.BytesIO(stream))) == []


def follow_texts(client: Client, **options: Any) -> list[str]:
    return [line.text for line in client.follow_logs("digits", **options)]


def test_a_stream_cut_anywhere_is_read_on_without_losing_or_doubling_a_line(client: Client, platform: Any) -> None:
    task = platform.add("digits")
    texts = platform.logs[task["id"]] = [f"line {number}" for number in range(6)]
    whole = len(b"".join(_raw(platform)))
    for length in range(0, whole, 7):
        platform.cut_streams = [length, length // 2, length]
        assert follow_texts(client) == texts, length
    assert any(call.headers.get("last-event-id") == "1:3" for call in platform.calls)


def _raw(platform: Any) -> Iterator[bytes]:
    yield b": keep-alive\n\n"
    for number, text in enumerate(platform.logs[41]):
        yield f"id: 1:{number}\nevent: line\ndata: {text} {'x' * 80}\n\n".encode()


def test_following_begins_where_a_page_ended(client: Client, platform: Any) -> None:
    task = platform.add("digits")
    platform.logs[task["id"]] = ["a", "b", "c"]
    page = client.log_page("digits", limit=2)
    assert follow_texts(client, cursor=page.next_cursor) == ["c"]


def test_a_restart_of_the_service_is_told_and_survived(client: Client, platform: Any, fake: Any) -> None:
    task = platform.add("digits")
    platform.logs[task["id"]] = ["a", "b"]

    def away(_call: Any) -> None:
        raise fake.Refuse(503, "unavailable", "restarting")

    def gone(_call: Any) -> None:
        raise fake.Drop

    platform.before = [lambda _call: None, away, gone, away]
    platform.cut_streams = [100]
    told: list[Unavailable] = []
    assert follow_texts(client, lost=told.append) == ["a", "b"]
    assert len(told) == 3


def test_a_refusal_is_not_taken_for_an_outage(client: Client) -> None:
    with pytest.raises(NotFound):
        follow_texts(client)


def test_an_address_that_never_answered_is_given_up_soon_and_a_known_one_late() -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    def nobody(_last: str | None) -> Any:
        raise Unavailable("nobody")

    with pytest.raises(Unavailable):
        list(sse.follow(nobody, sleep=sleep, clock=lambda: now[0]))
    assert now[0] < 2 * sse.FIRST_PATIENCE_S

    now[0] = 0.0
    answers = [io.BytesIO(b"id: 7\ndata: a\n\n")]

    def once(last: str | None) -> Any:
        if not answers:
            raise Unavailable(f"away after {last}")
        return answers.pop()

    stream = sse.follow(once, sleep=sleep, clock=lambda: now[0])
    assert next(stream).data == "a"
    with pytest.raises(Unavailable, match="away after 7"):
        next(stream)
    assert now[0] > sse.PATIENCE_S


def test_a_silent_stream_that_is_closed_again_and_again_is_no_outage() -> None:
    now = [0.0]
    opened = 0

    def sleep(seconds: float) -> None:
        now[0] += seconds

    def connect(_last: str | None) -> Any:
        nonlocal opened
        opened += 1
        now[0] += 290
        return io.BytesIO(b"event: end\ndata: {}\n\n" if opened == 50 else b": keep-alive\n\n")

    assert list(sse.follow(connect, sleep=sleep, clock=lambda: now[0])) == []
    assert opened == 50


def test_the_feed_is_followed_without_its_greeting_and_resumed_by_number(
    client: Client, platform: Any, fake: Any
) -> None:
    platform.events = [
        {"seq": seq, "at": fake.AT, "kind": "task.state", "actor": "alice", "user": "alice", "task_id": 41, "data": {}}
        for seq in (1, 2, 3)
    ]
    feed = client.events(after=1)
    assert [next(feed).seq, next(feed).seq] == [2, 3]
    platform.events.append({**platform.events[0], "seq": 4})
    assert next(feed).seq == 4


def _streams(*contents: bytes) -> Any:
    """Connections that bring these contents, one after the other, and where each began."""
    began: list[str | None] = []

    def connect(last_id: str | None) -> Any:
        began.append(last_id)
        return io.BytesIO(contents[len(began) - 1])

    return connect, began


@pytest.mark.parametrize(
    "said",
    [b'{"status":503,"code":"unavailable","detail":"the database does not answer"}', b'{"status":500}', b"x", b"[]"],
)
def test_a_stream_that_the_service_breaks_off_is_read_on(said: bytes) -> None:
    broken = b"id: 1\ndata: a\n\nevent: problem\ndata: " + said + b"\n\n"
    connect, began = _streams(broken, b"id: 2\ndata: b\n\nevent: end\ndata: {}\n\n")
    told: list[Unavailable] = []
    read = [message.data for message in sse.follow(connect, sleep=lambda _: None, lost=told.append)]
    assert (read, began, len(told)) == (["a", "b"], [None, "1"], 1)


def test_a_stream_that_is_broken_off_because_its_reader_may_not_read_on_is_an_error() -> None:
    connect, _ = _streams(b'event: problem\ndata: {"status":404,"code":"not_found","detail":"no such task"}\n\n')
    with pytest.raises(NotFound, match="no such task"):
        list(sse.follow(connect, sleep=lambda _: None))


def test_the_feed_outlives_a_problem_of_the_service() -> None:
    """The feed once took the problem for an event, and ended with an error that no reader could make sense of."""
    problem = b'event: problem\ndata: {"status":503,"code":"unavailable","detail":"away"}\n\n'
    connect, _ = _streams(b"id: 1\nevent: hello\ndata: {}\n\n" + problem, b"id: 2\nevent: node.mark\ndata: {}\n\n")
    first = next(message for message in sse.follow(connect, sleep=lambda _: None) if message.event != "hello")
    assert first.event == "node.mark"
