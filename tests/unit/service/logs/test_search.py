"""Searching a plain text in logs, within limits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Absent
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.service.logs import search as search_module
from hai_scheduler.service.logs.lines import Cursor, Hits
from hai_scheduler.service.logs.search import ranks_of, search
from hai_scheduler.service.shared.orders import RunLog, SearchOrder

STAMP = "2026-01-05T08:00:00.000001Z "


def a_log(number: int = 1, ranks: int = 1) -> RunLog:
    return RunLog(run=number, run_id=RunId(f"1.{number}"), ranks=ranks, place=LogPlace(folder="/logs"))


def an_order(text: str, *logs: RunLog, **limits: float) -> SearchOrder:
    known = {"most_bytes": 1 << 20, "most_seconds": 60.0, "most_lines": 100, **limits}
    return SearchOrder(text=text, logs=logs or (a_log(),), **known)  # type: ignore[arg-type]


class Kept:
    """Logs by run and rank, read in pieces of whole lines."""

    def __init__(self, logs: dict[tuple[int, int], bytes], piece: int = 1 << 20) -> None:
        self.logs, self.piece = logs, piece
        self.reads = 0

    def read(self, log: RunLog, rank: int, offset: int) -> LogChunk:
        self.reads += 1
        if (log.run, rank) not in self.logs:
            raise Absent("there is none")
        data = self.logs[log.run, rank][offset : offset + self.piece]
        if len(data) == self.piece and b"\n" in data:
            data = data[: data.rfind(b"\n") + 1]
        return LogChunk(start=offset, next=offset + len(data), data=data, final=True)


def found(order: SearchOrder, text: str | bytes, piece: int = 1 << 20) -> Hits:
    data = text.encode() if isinstance(text, str) else text
    return search(order, Kept({(1, 0): data}, piece).read)


def lines(*texts: str) -> str:
    return "".join(f"{STAMP}{text}\n" for text in texts)


@pytest.mark.parametrize(
    ("sought", "hits"),
    [
        ("loss", ["loss 1", "LOSS 2", "no Loss"]),
        ("LOSS 2", ["LOSS 2"]),
        ("loss.*", []),
        ("2026", []),
        ("straße", ["STRASSE"]),
        ("", ["loss 1", "LOSS 2", "no Loss", "STRASSE"]),
    ],
    ids=["letter case", "exact", "no pattern", "not the time stamp", "folded", "everything"],
)
def test_a_text_is_found_in_lines_and_not_in_their_stamps(sought: str, hits: list[str]) -> None:
    made = found(an_order(sought), lines("loss 1", "LOSS 2", "no Loss", "STRASSE"))
    assert [line.text for line in made.lines] == hits
    assert (dict(made.counts), made.complete) == ({(1, 0): len(hits)} if hits else {}, True)


@given(st.lists(st.sampled_from(["hit", "a hit b", "", "miss", "hıt", "\ufffd"]), max_size=12), st.integers(1, 90))
def test_pieces_of_any_size_give_the_same_hits_and_cursors(texts: list[str], piece: int) -> None:
    """A piece has whole lines; one that is longer than a piece is cut by the reader, and so are its hits."""
    whole = lines(*texts)
    every, order = found(an_order("hit"), whole), an_order("hit")
    longest = max((len(line.encode()) + 1 for line in whole.splitlines()), default=1)
    cut = found(order, whole, max(piece, longest + 1))
    assert [(line.text, line.cursor) for line in cut.lines] == [(line.text, line.cursor) for line in every.lines]
    assert sum(every.counts.values()) == sum("hit" in text for text in texts)


def test_states_of_a_line_that_have_passed_are_no_hits() -> None:
    made = found(an_order("hit"), lines("hit 1\r", "hit 2\r", "hit 3", "hit 4\r"))
    assert [line.text for line in made.lines] == ["hit 3", "hit 4"]


def test_a_cursor_points_behind_the_line() -> None:
    text = lines("miss", "hit")
    (hit,) = found(an_order("hit"), text).lines
    assert hit.cursor == Cursor(1, len(text))
    (hit,) = found(an_order("hit"), text.rstrip("\n")).lines
    assert hit.cursor == Cursor(1, len(text) - 1), "a line without an end ends where the piece does"


def test_bytes_that_are_no_text_are_no_error() -> None:
    made = found(an_order("hit"), b"\xff\xfe hit \x80\nmiss\n")
    assert [line.text for line in made.lines] == ["\ufffd\ufffd hit \ufffd"]


def test_all_ranks_of_all_runs_are_searched_and_a_missing_log_has_no_hits() -> None:
    kept = Kept({(1, 1): b"hit\n", (2, 0): b"hit\nhit\n"})
    made = search(an_order("hit", a_log(1, ranks=2), a_log(2, ranks=2)), kept.read)
    assert (dict(made.counts), made.complete) == ({(1, 1): 1, (2, 0): 2}, True)
    assert [(line.run, line.rank) for line in made.lines] == [(1, 1), (2, 0), (2, 0)]
    assert [(log.run, rank) for log, rank in ranks_of([a_log(1, 2), a_log(2, 1)])] == [(1, 0), (1, 1), (2, 0)]


def test_more_hits_than_lines_are_counted() -> None:
    made = found(an_order("hit", most_lines=2), lines(*["hit"] * 5))
    assert (len(made.lines), made.counts[1, 0], made.complete) == (2, 5, True)


def test_a_search_ends_when_it_has_read_enough_and_says_so() -> None:
    kept = Kept({(1, 0): b"hit\n" * 100, (1, 1): b"hit\n"}, piece=40)
    made = search(an_order("hit", a_log(1, ranks=2), most_bytes=100), kept.read)
    assert (made.counts[1, 0], (1, 1) in made.counts, made.complete) == (30, False, False)
    assert kept.reads == 3


def test_a_search_ends_when_its_time_is_over_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, now = Kept({(1, 0): b"hit\n" * 100}, piece=40), [0.0]

    def tick() -> float:
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr(search_module, "time", SimpleNamespace(monotonic=tick))
    made = search(an_order("hit", most_seconds=4.0), kept.read)
    assert (made.complete, kept.reads) == (False, 3)
