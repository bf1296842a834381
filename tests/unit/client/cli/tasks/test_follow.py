"""Lines of logs as they are shown, and a task that is followed to its end."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from hai_client.backports import UTC
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output
from hai_client.cli.tasks import follow
from hai_client.codec import decode
from hai_client.errors import Unavailable
from hai_client.wire import schema
from hai_client.wire.schema import LogLine
from unit.client.fake_platform import FakePlatform

AT = datetime(2026, 11, 21, 4, 5, 6, 789_000, tzinfo=UTC)


class Screen:
    """A terminal, or a pipe, and what was written to it."""

    def __init__(self, *, watched: bool = True, as_json: bool = False, terminal: bool = False) -> None:
        self.stdout, self.stderr = io.StringIO(), io.StringIO()
        out = Output(self.stdout, self.stderr, watched=watched, terminal=terminal)
        self.ctx = Context(out, json=as_json)

    @property
    def out(self) -> str:
        return self.stdout.getvalue()

    @property
    def err(self) -> str:
        return self.stderr.getvalue()


def line(text: str, rank: int | None = 0, at: datetime | None = AT, *, rewritten: bool = False) -> LogLine:
    return LogLine(run=1, rank=rank, at=at, text=text, cursor="1:9", rewritten=rewritten)


def state(text: str, rank: int = 0) -> LogLine:
    return line(text, rank, rewritten=True)


def task(**changes: Any) -> schema.Task:
    return decode(schema.Task, FakePlatform().add("digits", **changes))


@pytest.mark.parametrize(
    ("given", "options", "shown"),
    [
        (line("loss 0.1"), {}, "loss 0.1\n"),
        (line("[hai] run 2 starts", None), {}, "[hai] run 2 starts\n"),
        (line("run 2 starts", None), {}, "[hai] run 2 starts\n"),
        (line("x", 3), {"ranks": 12}, " 3: x\n"),
        (line("x", 3), {"ranks": 4}, "3: x\n"),
        (line("run 2 starts", None), {"ranks": 4}, "[hai] run 2 starts\n"),
        (line("x", at=None), {"times": True}, " " * 30 + "x\n"),
        (line("x"), {"times": True}, AT.astimezone().strftime("%Y-%m-%d %H:%M:%S.789%z  x\n")),
    ],
)
def test_a_line_is_shown(given: LogLine, options: dict[str, Any], shown: str) -> None:
    screen = Screen()
    follow.show(screen.ctx, [given], **options)
    assert screen.out == shown


@pytest.mark.parametrize(("raw", "kept"), [(False, False), (True, True)])
def test_control_sequences_reach_a_terminal_only_if_they_are_wanted(*, raw: bool, kept: bool) -> None:
    screen = Screen(terminal=True)
    follow.show(screen.ctx, [line("a\x1b]0;title\x07b")], raw=raw)
    assert ("\x1b]0;" in screen.out) is kept


BAR = [line("a"), state("10%"), state("\x1b[31m20%\x1b]0;title\x07"), line("30%"), state("40%"), line("end", None)]


@pytest.mark.parametrize("at_once", [False, True])
def test_of_a_line_that_is_written_again_a_file_gets_the_last_state(*, at_once: bool) -> None:
    screen = Screen()
    follow.show(screen.ctx, BAR, at_once=at_once)
    assert screen.out == "a\n30%\n40%\n[hai] end\n"
    screen = Screen()
    follow.show(screen.ctx, [state("1%"), state("2%", 1), line("x", 1), state("3%", 1)], at_once=at_once, ranks=2)
    assert screen.out == "0: 1%\n1: x\n1: 3%\n"


def test_a_terminal_shows_the_states_of_a_bar_in_one_place() -> None:
    screen = Screen(terminal=True)
    screen.ctx.out.width = 40
    gone = "\r\x1b[K"
    follow.show(screen.ctx, [*BAR, state("x" * 50)], at_once=True)
    bars = f"10%{gone}20%{gone}30%\n40%{gone}40%\n"
    assert screen.out == f"a\n{bars}[hai] end\n{'x' * 36}...{gone}{'x' * 50}\n"
    screen = Screen(terminal=True)
    follow.show(screen.ctx, BAR)
    assert screen.out == "a\n30%\n40%\n[hai] end\n"


def test_who_stops_to_follow_keeps_the_last_state() -> None:
    def interrupted() -> Iterator[LogLine]:
        yield state("10%")
        raise KeyboardInterrupt

    screen = Screen()
    with pytest.raises(KeyboardInterrupt):
        follow.show(screen.ctx, interrupted(), at_once=True)
    assert screen.out == "10%\n"


def test_as_json_each_line_is_an_object() -> None:
    screen = Screen(as_json=True)
    follow.show(screen.ctx, [line("a"), line("b", None)], times=True, ranks=4)
    assert [(one["text"], one["rank"]) for one in map(json.loads, screen.out.splitlines())] == [("a", 0), ("b", None)]


def test_a_reader_who_waits_gets_each_line_at_once() -> None:
    screen = Screen()
    flushed: list[str] = []

    class Stream(io.StringIO):
        def flush(self) -> None:
            flushed.append(self.getvalue())

    screen.ctx.out.stdout = Stream()
    follow.show(screen.ctx, [line("a"), line("b")])
    assert flushed == []
    follow.show(screen.ctx, [line("c")], at_once=True)
    assert flushed == ["a\nb\nc\n"]


@pytest.mark.parametrize(("watched", "said"), [(True, 1), (False, 0)])
def test_an_outage_is_told_once_and_only_to_a_person(*, watched: bool, said: int) -> None:
    screen = Screen(watched=watched)
    lost = follow.once_an_outage(screen.ctx)
    for _ in range(3):
        lost(Unavailable("the platform does not answer; is it up?"))
    assert screen.err.count("the platform does not answer; trying to read on") == said


@pytest.mark.parametrize(
    ("screen", "changes", "says"),
    [
        (Screen(), {"state": "queued"}, "digits is queued: "),
        (Screen(), {"state": "suspended", "verdict": None, "message": "it waits for bob."}, "it waits for bob (Ctrl-C"),
        (Screen(), {"state": "queued", "verdict": None, "message": ""}, "digits is queued: it waits (Ctrl-C leaves"),
        (Screen(), {"state": "running"}, ""),
        (Screen(watched=False), {"state": "queued"}, ""),
        (Screen(as_json=True), {"state": "queued"}, ""),
    ],
    ids=["queued", "suspended", "no reason", "running", "a pipe", "json"],
)
def test_a_person_is_told_why_no_line_comes(screen: Screen, changes: dict[str, Any], says: str) -> None:
    follow.say_why_silent(screen.ctx, task(**changes))
    assert says in screen.err
    assert bool(says) == bool(screen.err)


class FakeClient:
    """Has a log, and a task that has ended in some way."""

    def __init__(self, end: schema.Task) -> None:
        self.end = end
        self.read = 0

    def follow_logs(self, task_id: int, lost: object) -> Any:
        for text in ("one", "two"):
            self.read += 1
            yield line(text)

    def task(self, task_id: int) -> schema.Task:
        return self.end


@pytest.mark.parametrize(
    ("state", "message", "code", "says"),
    [
        ("succeeded", "", 0, ""),
        ("failed", "its command ended with status 3", 1, "hai: digits failed: its command ended with status 3\n"),
        # As the service says it: with the state, which is not said twice.
        ("failed", "Failed: its command ended (rank 0 with status 1).", 1,
         "hai: digits failed: its command ended (rank 0 with status 1).\n"),
        ("stopped", "Stopped: its user stopped it.", 1, "hai: digits stopped: its user stopped it.\n"),
        ("stopped", "", 1, "hai: digits stopped\n"),
        # Its log has ended, and it has not.
        ("suspended", "", 1, "hai: digits is suspended\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("quiet", [False, True])
def test_a_task_is_followed_to_its_end(
    monkeypatch: pytest.MonkeyPatch, state: str, message: str, code: int, says: str, *, quiet: bool
) -> None:
    screen = Screen(watched=False)
    client = FakeClient(task(state=state, message=message, verdict=None))
    screen.ctx._client = client  # type: ignore[assignment]
    looked: list[str] = []
    monkeypatch.setattr(follow.failing, "after_log", lambda ctx, end: looked.append(end.state))
    assert follow.follow_to_end(screen.ctx, task(state="running"), quiet=quiet) == code
    assert screen.out == ("" if quiet else "one\ntwo\n")
    assert client.read == 2, "also a quiet reader waits for the end"
    assert screen.err == says
    assert looked == ([] if quiet or code == 0 else [state])
