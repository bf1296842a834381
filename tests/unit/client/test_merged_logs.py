"""The logs of all ranks as one: in the order of their times, nothing lost, and no more held than a page a rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hai_client.merged_logs import MergedLog
from hai_client.wire.schema import LogLine, LogPage

T = datetime(2026, 11, 21, 4, tzinfo=UTC)


def said(rank: int, second: float | None, text: str, run: int = 1) -> LogLine:
    return LogLine(
        run=run,
        rank=rank,
        at=None if second is None else T + timedelta(seconds=second),
        text=text,
        cursor="1:9",
        rewritten=text.endswith("%"),
    )


def begins(run: int = 1, second: float = 0) -> LogLine:
    return LogLine(run=run, at=T + timedelta(seconds=second), text=f"-- run {run} started on n --", cursor="1:9")


def ends(run: int = 1, second: float = 100) -> LogLine:
    return LogLine(
        run=run, at=T + timedelta(seconds=second), text=f"-- run {run} succeeded at 04:01:40 UTC --", cursor="1:9"
    )


@dataclass
class Ranks:
    """What the service has of each rank."""

    logs: list[list[LogLine]]
    over: bool = True
    asked: list[tuple[int, str | None, int | None, int | None]] = field(default_factory=list)

    def read(self, rank: int, cursor: str | None, tail: int | None, limit: int | None) -> LogPage:
        self.asked.append((rank, cursor, tail, limit))
        log = self.logs[rank]
        first = int(cursor or 0) if tail is None else max(0, len(log) - tail)
        page = log[first : None if limit is None else first + limit]
        end = first + len(page)
        return LogPage(lines=tuple(page), next_cursor=str(end), final=self.over and end == len(log))


def texts(lines: Any) -> list[str]:
    return [line.text for line in lines]


def test_lines_come_in_the_order_of_their_times_and_the_platforms_once() -> None:
    ranks = Ranks([
        [begins(), said(0, 1, "a"), said(0, 4, "d"), ends(), begins(2, 200), said(0, 203, "f", 2), ends(2, 300)],
        [begins(), said(1, 2, "b"), said(1, 3, "c"), ends(), begins(2, 200), said(1, 202, "e", 2), ends(2, 300)],
    ])  # fmt: skip
    log = MergedLog(ranks.read, 2)
    first, second = (begins().text, ends().text), (begins(2).text, ends(2).text)
    assert texts(log.lines()) == [first[0], "a", "b", "c", "d", first[1], second[0], "e", "f", second[1]]
    assert log.final


def test_the_end_of_a_run_comes_behind_ranks_whose_clocks_are_fast() -> None:
    ranks = Ranks([[begins(), ends()], [begins(), said(1, 500, "late"), ends()]])
    assert texts(MergedLog(ranks.read, 2).lines())[-2:] == ["late", ends().text]


def test_a_line_without_a_time_stays_behind_the_one_before_it() -> None:
    ranks = Ranks([[said(0, 1, "a"), said(0, None, "a, further"), said(0, 9, "z")], [said(1, 5, "m")]])
    assert texts(MergedLog(ranks.read, 2).lines()) == ["a", "a, further", "m", "z"]


def test_what_is_missing_is_said_of_its_rank() -> None:
    gone = LogLine(run=1, text="-- 9 bytes of the log of run 1 are no longer kept --", cursor="1:9")
    ranks = Ranks([[begins(), gone, said(0, 1, "a")], [begins(), gone, said(1, 2, "b")]])
    shown = texts(MergedLog(ranks.read, 2).lines())
    assert shown == [begins().text, f"rank 0: {gone.text}", f"rank 1: {gone.text}", "a", "b"]


def test_the_tail_is_that_of_all_together() -> None:
    ranks = Ranks([[said(0, n, f"0.{n}") for n in range(50)], [said(1, n + 0.5, f"1.{n}") for n in range(50)]])
    assert texts(MergedLog(ranks.read, 2, tail=3).lines()) == ["1.48", "0.49", "1.49"]
    assert {tail for _, cursor, tail, _ in ranks.asked if cursor is None} == {3}


def test_following_shows_what_comes_and_waits_for_every_rank_before_it_says_that_the_run_is_over() -> None:
    ranks = Ranks([[begins(), said(0, 1, "a")], [begins(), said(1, 2, "b")]], over=False)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 1:
            ranks.logs[1].append(said(1, 3, "c"))
        elif len(waits) == 2:
            # Rank 0 is over before rank 1 has been read to its end.
            ranks.logs[0].append(ends())
        elif len(waits) == 3:
            ranks.logs[1] += [said(1, 4, "d"), ends()]
            ranks.over = True

    assert texts(MergedLog(ranks.read, 2).follow(sleep)) == [begins().text, "a", "b", "c", "d", ends().text]
    assert waits == [1.0, 1.0, 1.0]


def test_many_ranks_are_looked_at_less_often() -> None:
    ranks = Ranks([[begins()] for _ in range(64)], over=False)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        ranks.over = True

    assert texts(MergedLog(ranks.read, 64).follow(sleep)) == [begins().text]
    assert waits == [6.4]


def test_no_more_than_a_page_of_each_rank_is_read_ahead() -> None:
    ranks = Ranks([[said(n, second, "x") for second in range(1000)] for n in range(100)])
    lines = MergedLog(ranks.read, 100).lines()
    for _ in range(100):
        next(lines)
    assert len(ranks.asked) == 100
    assert {limit for _, _, _, limit in ranks.asked} == {40}


@given(
    st.lists(st.lists(st.integers(0, 20), max_size=60), min_size=1, max_size=4),
    st.booleans(),
)
def test_nothing_is_lost_or_doubled_and_every_rank_keeps_its_order(seconds: list[list[int]], more: bool) -> None:
    logs = [
        [begins(), *(said(rank, at, f"{rank}.{n}") for n, at in enumerate(own)), ends()]
        for rank, own in enumerate(seconds)
    ]
    log = MergedLog(Ranks(logs).read, len(logs))
    log._limit = 7
    shown = list(log.lines(more=more))
    assert (shown[0].text, shown[-1].text) == (begins().text, ends().text)
    for rank, own in enumerate(seconds):
        assert [line.text for line in shown if line.rank == rank] == [f"{rank}.{n}" for n in range(len(own))]
    assert len(shown) == sum(map(len, seconds)) + 2
    if all(own == sorted(own) for own in seconds):
        times = [line.at for line in shown[1:-1]]
        assert times == sorted(times)


def test_of_a_line_that_is_written_again_the_last_state_is_shown_once() -> None:
    ranks = Ranks([[said(0, 1, "10%"), said(0, 2, "20%"), said(0, 4, "all"), said(0, 5, "30%")], [said(1, 3, "b")]])
    assert texts(MergedLog(ranks.read, 2).lines()) == ["b", "all", "30%"]
    ranks = Ranks([[said(0, 1, "a"), said(0, 2, "20%")]], over=False)
    assert texts(MergedLog(ranks.read, 1, tail=1).lines()) == ["20%"]
    log, shown = MergedLog(ranks.read, 1), []

    def goes_on(_seconds: float) -> None:
        if len(ranks.logs[0]) == 2:
            ranks.logs[0] += [said(0, 3, "30%")]
        elif len(ranks.logs[0]) == 3:
            ranks.logs[0] += [said(0, 4, "40%"), ends()]
            ranks.over = True

    shown = texts(log.follow(goes_on))
    assert shown == ["a", "40%", ends().text]
