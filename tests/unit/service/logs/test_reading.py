"""The story of a log: markers, cursors, rotation, whatever the size of pages and chunks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskSpec, TaskState
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.service.computing.workers import Here
from hai_scheduler.service.logs import reading as logs_module
from hai_scheduler.service.logs.lines import Cursor
from hai_scheduler.service.logs.reading import Logs
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid, Unavailable
from hai_scheduler.service.shared.news import News
from kit.memory.store import MemoryStore
from kit.worlds import make_world
from unit.service.logs.runs_kit import CLOCK, T, a_run

ALICE = Caller(name="alice")


@dataclass
class Kept:
    """A cluster that keeps the end of each log and hands out pieces of a set size."""

    logs: dict[tuple[str, int], bytes] = field(default_factory=dict)
    #: Bytes that rotation has removed.
    gone: dict[str, int] = field(default_factory=dict)
    piece: int = 1 << 20
    broken: bool = False
    #: Bytes that were read.
    read: int = 0

    def log_place(self, _run_id: str) -> None:
        """Return None: other processes cannot read these logs."""

    async def read_log(self, run_id: str, rank: int, *, offset: int, limit: int) -> LogChunk:
        if self.broken:
            raise Temporary
        if (run_id, rank) not in self.logs:
            raise Absent
        log = self.logs[run_id, rank]
        start = max(min(offset, len(log)), self.gone.get(run_id, 0))
        data = log[start : start + min(limit, self.piece)]
        whole = data[: data.rfind(b"\n") + 1]
        if not whole and len(data) >= self.piece:
            whole = data  # one line that is longer than the limit
        self.read += len(whole)
        return LogChunk(start=start, next=start + len(whole), data=whole, final=False, end=len(log))


async def story_of(cluster: Kept, *runs: Run, state: TaskState = TaskState.SUCCEEDED) -> Logs:
    store = MemoryStore()
    async with store.write() as tx:
        task = await tx.tasks.add(
            Task(
                id=TaskId(0),
                name="t",
                user="alice",
                group="training",
                priority=None,
                nodes=2,
                submitted_at=T,
                waiting_since=T,
            ),
            TaskSpec(command=("x",), cwd="/"),
        )
        for run in runs:
            task = await tx.tasks.save(replace(task, run=run, state=TaskState.RUNNING))
        await tx.tasks.save(replace(task, state=state, ended_at=T if state.ended else None))
    news = News(store=store, bus=MemoryBus(CLOCK))
    return Logs(make_world(store=store, cluster=cluster), news=news, workers=Here(store))  # type: ignore[arg-type]


def line(text: str) -> bytes:
    return f"2026-01-05T08:00:00.000001Z {text}\n".encode()


@pytest.mark.parametrize("text", ["1:0", "1:start", "12:999999999999999999"])
def test_a_cursor_reads_as_it_is_written(text) -> None:
    assert str(Cursor.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "1", "1:", ":1", "0:1", "01:1", "1:-1", "1:x", "1:1 ", "１:1", "1:" + "9" * 19, "a:b:c"]
)
def test_what_is_no_cursor_is_refused(text) -> None:
    with pytest.raises(Invalid):
        Cursor.parse(text)


@settings(max_examples=60, deadline=None)
@given(
    first=st.lists(st.text("ab\r✓ ", max_size=12), max_size=8),
    second=st.lists(st.text("ab", max_size=200), max_size=4),
    piece=st.integers(60, 300),
    limit=st.integers(1, 7),
)
async def test_pages_and_chunks_of_any_size_tell_the_same_story(first, second, piece, limit) -> None:
    cluster = Kept(piece=piece)
    cluster.logs["1.1", 0] = b"".join(map(line, first))
    cluster.logs["1.2", 0] = b"".join(map(line, second))
    logs = await story_of(cluster, a_run(1, ended=Reason.PREEMPTED, left=Left.SAVED), a_run(2))
    told: list[str] = []
    cursor, final = None, False
    while not final:
        page = await logs.page(ALICE, "t", cursor=cursor, limit=limit)
        assert len(page.lines) <= limit
        told += [one.text for one in page.lines]
        cursor, final = page.cursor, page.final
    whole = Kept(cluster.logs)
    at_once = await (await story_of(whole, a_run(1, ended=Reason.PREEMPTED, left=Left.SAVED), a_run(2))).page(
        ALICE, "t"
    )
    assert at_once.final
    if max((len(text) for text in second), default=0) + 29 <= piece:
        assert told == [one.text for one in at_once.lines]
    shown = [text.removesuffix("\r") for text in [*(t for t in first[:-1] if not t.endswith("\r")), *first[-1:]]]
    assert [text for text in told if not text.startswith("--")][: len(shown)] == shown
    tail = await logs.tail(ALICE, "t", lines=limit)
    assert [one.text for one in tail.lines] == told[-limit:]
    assert tail.final
    backwards = [one.text for one in tail.lines]
    while tail.begins is not None:
        tail = await logs.tail(ALICE, "t", lines=limit, before=tail.begins)
        assert len(tail.lines) <= limit
        backwards = [one.text for one in tail.lines] + backwards
    assert backwards == told


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(st.text("abc", max_size=9), min_size=1, max_size=9), limit=st.integers(1, 4))
async def test_reading_behind_any_line_goes_on_with_the_next(texts, limit) -> None:
    logs = await story_of(Kept({("1.1", 0): b"".join(map(line, texts))}), a_run(1))
    lines = list((await logs.page(ALICE, "t")).lines)
    for index, one in enumerate(lines):
        page = await logs.page(ALICE, "t", cursor=Cursor.parse(str(one.cursor)), limit=limit)
        assert list(page.lines) == lines[index + 1 :][:limit]


async def test_a_page_says_if_there_are_lines_before_it_and_those_end_where_it_begins() -> None:
    cluster = Kept({("1.1", 0): b"".join(line(f"line {n}") for n in range(9))}, gone={"1.1": 2 * len(line("line 0"))})
    logs = await story_of(cluster, a_run(1, ended=Reason.PREEMPTED), a_run(2))
    assert (await logs.page(ALICE, "t")).begins is None
    assert (await logs.page(ALICE, "t", run=2)).begins is None
    page = await logs.page(ALICE, "t", cursor=Cursor(1, 4 * len(line("line 0"))), limit=2)
    assert page.begins == Cursor(1, 4 * len(line("line 0")))
    texts = [one.text for one in (await logs.tail(ALICE, "t", before=page.begins, lines=9)).lines]
    assert texts[:2] == ["-- run 1 started on n1, n2 --", "-- 70 bytes of the log of run 1 are no longer kept --"]
    assert texts[2:] == ["line 2", "line 3"]
    assert [one.text for one in page.lines] == ["line 4", "line 5"]
    start = await logs.tail(ALICE, "t", before=Cursor(2, 0), run=2, lines=9)
    assert [one.text for one in start.lines] == ["-- run 2 started on n1, n2 --"]
    assert start.begins is None


async def test_a_line_that_is_written_again_shows_its_last_state_and_may_be_followed_by_the_next() -> None:
    log = b"".join(line(text) for text in ("10%\r", "20%\r"))
    cluster = Kept({("1.1", 0): log})
    logs = await story_of(cluster, a_run(1, ended=None), state=TaskState.RUNNING)
    page = await logs.page(ALICE, "t")
    assert [(one.text, one.rewritten) for one in page.lines[1:]] == [("20%", True)]
    cluster.logs["1.1", 0] += line("30%\r") + line("100%")
    more = await logs.page(ALICE, "t", cursor=page.cursor)
    assert [(one.text, one.rewritten) for one in more.lines] == [("100%", False)]
    tail = await logs.tail(ALICE, "t", lines=9)
    assert [one.text for one in tail.lines[1:]] == ["100%"]


async def test_the_last_state_of_a_run_that_is_over_stays() -> None:
    logs = await story_of(Kept({("1.1", 0): line("10%\r")}), a_run(1))
    for page in (await logs.page(ALICE, "t"), await logs.tail(ALICE, "t", lines=9)):
        assert [(one.text, one.rewritten) for one in page.lines[1:-1]] == [("10%", False)]


async def test_what_rotation_has_removed_is_said_once() -> None:
    cluster = Kept({("1.1", 0): line("one") + line("two")}, gone={"1.1": len(line("one"))})
    logs = await story_of(cluster, a_run(1))
    page = await logs.page(ALICE, "t")
    assert [one.text for one in page.lines] == [
        "-- run 1 started on n1, n2 --",
        "-- 32 bytes of the log of run 1 are no longer kept --",
        "two",
        "-- run 1 succeeded at 08:00:00 UTC: every rank exited with status 0 --",
    ]


async def test_a_log_that_is_gone_is_said_to_be() -> None:
    page = await (await story_of(Kept(), a_run(1))).page(ALICE, "t")
    assert page.lines[1].text == "-- no log of run 1 is kept --"
    tail = await (await story_of(Kept(), a_run(1))).tail(ALICE, "t", lines=9)
    assert [one.text for one in tail.lines] == [one.text for one in page.lines]


async def test_a_log_that_is_not_there_yet_is_waited_for() -> None:
    cluster = Kept()
    logs = await story_of(cluster, a_run(1, ended=None), state=TaskState.RUNNING)
    page = await logs.page(ALICE, "t")
    assert ([one.text for one in page.lines], page.final) == (["-- run 1 started on n1, n2 --"], False)
    again = await logs.page(ALICE, "t", cursor=page.cursor)
    assert (again.lines, again.cursor) == ([], page.cursor)
    cluster.logs["1.1", 0] = line("hello")
    assert [one.text for one in (await logs.page(ALICE, "t", cursor=page.cursor)).lines] == ["hello"]


async def test_a_cluster_that_cannot_answer_makes_the_log_unavailable() -> None:
    logs = await story_of(Kept(broken=True), a_run(1))
    with pytest.raises(Unavailable):
        await logs.page(ALICE, "t")


async def test_a_page_ends_when_it_has_enough_text(monkeypatch) -> None:
    monkeypatch.setattr(logs_module, "PAGE_BYTES", 100)
    cluster = Kept({("1.1", 0): b"".join(line("x" * 60) for _ in range(50))}, piece=200)
    page = await (await story_of(cluster, a_run(1))).page(ALICE, "t")
    assert len(page.lines) < 10
    assert not page.final


async def test_a_tail_looks_at_a_bounded_part_of_a_log(monkeypatch) -> None:
    monkeypatch.setattr(logs_module, "TAIL_BYTES", 500)
    monkeypatch.setattr(logs_module, "CHUNK", 100)
    cluster = Kept({("1.1", 0): b"".join(line(f"line {n}") for n in range(500))}, piece=100)
    page = await (await story_of(cluster, a_run(1))).tail(ALICE, "t", lines=400)
    texts = [one.text for one in page.lines]
    assert texts[-2] == "line 499"
    assert 5 < len(texts) < 20
    assert not texts[0].startswith("--")
    assert cluster.read < 1100, "not all of it to find its end"


async def test_a_tail_that_reads_a_part_of_a_run_leaves_the_runs_before_it_for_later(monkeypatch) -> None:
    monkeypatch.setattr(logs_module, "TAIL_BYTES", 500)
    monkeypatch.setattr(logs_module, "CHUNK", 100)
    written = b"".join(line(f"line {n}") for n in range(50))
    logs = await story_of(
        Kept({("1.1", 0): written, ("1.2", 0): written}, piece=100), a_run(1, ended=Reason.PREEMPTED), a_run(2)
    )
    page = await logs.tail(ALICE, "t", lines=400)
    assert {one.run for one in page.lines} == {2}
    backwards = list(page.lines)
    while page.begins is not None:
        page = await logs.tail(ALICE, "t", lines=400, before=page.begins)
        backwards[:0] = page.lines
    assert [one.text for one in backwards] == [one.text for one in (await logs.page(ALICE, "t")).lines]


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.text("ab✓", max_size=40), max_size=40),
    gone=st.integers(0, 3),
    piece=st.integers(80, 300),
    count=st.integers(1, 50),
)
async def test_a_tail_is_the_end_of_the_whole_story(texts, gone, piece, count) -> None:
    written = list(map(line, texts))
    cluster = Kept({("1.1", 0): b"".join(written)}, gone={"1.1": sum(map(len, written[:gone]))}, piece=piece)
    logs = await story_of(cluster, a_run(1))
    whole = [one.text for one in (await logs.page(ALICE, "t")).lines]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs_module, "CHUNK", 100)
        page = await logs.tail(ALICE, "t", lines=count)
        assert [one.text for one in page.lines] == whole[-count:]
        patch.setattr(logs_module, "TAIL_BYTES", 400)
        backwards = [one.text for one in page.lines]
        while page.begins is not None:
            page = await logs.tail(ALICE, "t", lines=count, before=page.begins)
            assert page.lines
            backwards = [one.text for one in page.lines] + backwards
    assert backwards == whole


async def test_a_search_that_gives_up_says_so(monkeypatch) -> None:
    monkeypatch.setattr(logs_module, "SEARCH_BYTES", 100)
    monkeypatch.setattr(logs_module, "SEARCH_LINES", 2)
    cluster = Kept({("1.1", 1): b"".join(line("Hit") for _ in range(50))}, piece=70)
    hits = await (await story_of(cluster, a_run(1))).search(ALICE, "t", "hIT")
    assert (hits.counts, len(hits.lines), hits.complete) == ({(1, 1): 4}, 2, False)
