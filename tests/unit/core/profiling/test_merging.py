"""One trace of those of all processes: whose events are whose, when they were, and what cannot be read."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from hai_scheduler.core.profiling.merging import (
    APART,
    EMPTY_PIECE,
    Running,
    end_piece,
    head_piece,
    missing_piece,
    trace_piece,
)
from hai_scheduler.core.profiling.trace_reading import NoTrace, base_time
from kit.traces import event, packed, steps

#: A base as PyTorch writes it: nanoseconds since 1970.
BASE = 1_790_000_000_000_000_000


def with_base(events: list[Any], base: int, *, before: bool = True) -> bytes:
    """A trace whose times count from `base`, which stands before the events or behind them."""
    place = {"baseTimeNanoseconds": base}
    head, tail = (place, {}) if before else ({}, place)
    return gzip.compress(json.dumps({**head, "traceEvents": events, "displayTimeUnit": "ms", **tail}).encode())


def merged(*traces: bytes, between: bytes = b"") -> dict[str, Any]:
    """All traces as one, read as any program would."""
    piece = head_piece()
    stream = piece.data
    for rank, trace in enumerate(traces):
        piece = trace_piece(trace, piece.running, label=f"rank {rank}", prefix=rank)
        stream += between + piece.data
    return json.loads(gzip.decompress(stream + end_piece(piece.running, name="t")))


def of_rank(found: dict[str, Any], rank: int) -> list[dict[str, Any]]:
    events = [one for one in found["traceEvents"] if one["ph"] != "M"]
    return [one for one in events if one["pid"] // APART == rank]


def test_every_event_of_every_process_is_in_it_under_its_rank() -> None:
    found = merged(packed(steps(3)), packed(steps(5)))
    assert [len(of_rank(found, rank)) for rank in (0, 1)] == [len(steps(3)), len(steps(5))]
    assert of_rank(found, 1)[0] == {**steps(1)[0], "pid": APART + 9}


def test_the_pieces_are_one_stream_that_may_hold_nothing_in_between() -> None:
    assert merged(packed(steps(3)), packed(steps(2)), between=EMPTY_PIECE) == merged(packed(steps(3)), packed(steps(2)))


def test_a_thousand_pieces_of_events_keep_their_commas() -> None:
    many = [event("aten::mm", at, 1) for at in range(9000)]
    assert len(of_rank(merged(packed(many), packed(many)), 1)) == 9000


@pytest.mark.parametrize("before", [True, False])
def test_times_count_from_the_same_moment(before: bool) -> None:
    first, later = (
        with_base([event("a", 100.5, 1)], BASE),
        with_base([event("b", 7.25, 1)], BASE + 2_000_500, before=before),
    )
    found = merged(first, later)
    assert [of_rank(found, rank)[0]["ts"] for rank in (0, 1)] == [100.5, 2007.75]
    assert found["baseTimeNanoseconds"] == BASE


def test_times_of_the_same_base_are_left_as_they_are() -> None:
    found = merged(with_base([event("a", 0.1, 1)], BASE), with_base([event("b", 12345678.901, 1)], BASE))
    assert of_rank(found, 1)[0]["ts"] == 12345678.901


def test_whole_times_of_an_older_release_are_moved_to_the_base() -> None:
    old = packed([event("b", BASE / 1000 + 5, 1)])
    found = merged(with_base([event("a", 0, 1)], BASE), old)
    assert of_rank(found, 1)[0]["ts"] == pytest.approx(5, abs=0.3)


def test_a_base_that_lies_across_two_reads_is_found() -> None:
    filler = [{"ph": "X", "name": "x" * 1000} for _ in range(1100)]
    for length in range(1030, 1040):
        events = [*filler[:length], event("a", 0, 1)]
        assert base_time(with_base(events, BASE, before=False)) == BASE


def test_programs_and_gpus_are_named_and_ordered_by_rank() -> None:
    def names(pid: object, name: str, index: int) -> list[dict[str, Any]]:
        return [
            {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "ts": 0, "args": {"name": name}},
            {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "ts": 0, "args": {"sort_index": index}},
        ]

    trace = packed(
        [*names(4000, "python", 4000), *names(0, "python", 5_000_000), *names("Spans", "Spans", 536_870_912)]
    )
    labels = [one for one in merged(trace, trace)["traceEvents"] if one["name"] == "process_name"]
    assert {one["args"]["name"] for one in labels} == {
        f"rank {rank}: {name}" for rank in (0, 1) for name in ("python", "Spans")
    }
    assert "rank 1: Spans" in {one["pid"] for one in labels}
    order = [one for one in merged(trace, trace)["traceEvents"] if one["name"] == "process_sort_index"]
    assert [one["args"]["sort_index"] for one in order] == [0, 1, 999, 1000, 1001, 1999]


def test_what_joins_a_launch_with_its_kernel_joins_no_other_ranks() -> None:
    arrows = [{"ph": kind, "id": 5, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"} for kind in ("s", "f")]
    found = merged(packed(arrows), packed([*arrows, {**arrows[0], "id": "five"}]))
    own, other = ({one["id"] for one in of_rank(found, rank)} for rank in (0, 1))
    assert len(own) == 1
    assert len(other) == 2
    assert own.isdisjoint(other)
    assert all((isinstance(one, int) and one < 2**53) or one == "1.five" for one in own | other)


@pytest.mark.parametrize(
    "strange",
    [
        "text",
        {"name": "no kind"},
        {"ph": "X", "ts": True, "pid": [1]},
        {"ph": "X", "name": "far", "ts": 10**400, "pid": 10**30, "id": 10**30},
        {"ph": "M", "name": "process_name", "args": []},
        {"ph": "M", "name": "process_sort_index", "args": {"sort_index": "x"}},
    ],
)
def test_strange_events_do_no_harm(strange: Any) -> None:
    found = merged(with_base([], BASE), with_base([strange, event("b", 1, 1)], BASE + 1000))
    assert of_rank(found, 1)[-1]["name"] == "b"


def test_a_number_beyond_all_numbers_is_left_out() -> None:
    text = b'{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "dur": 1e999}, {"ph": "X", "name": "b", "pid": 1}]}'
    assert [one["name"] for one in of_rank(merged(gzip.compress(text)), 0)] == ["b"]


@pytest.mark.parametrize("data", [b"", b"nonsense", gzip.compress(b"{}")], ids=["empty", "no gzip", "no trace"])
def test_what_cannot_be_read_is_said_by_name(data: bytes) -> None:
    before = head_piece()
    with pytest.raises(NoTrace) as error:
        trace_piece(data, before.running, label="rank 0", prefix=0)
    piece = missing_piece(before.running, label="rank 0", prefix=0, why=str(error.value))
    found = json.loads(gzip.decompress(before.data + piece.data + end_piece(piece.running, name="t")))
    assert found["traceEvents"][0]["args"]["name"].startswith("rank 0 is left out: it is")


def test_a_trace_that_breaks_off_is_part_of_it_as_far_as_it_goes() -> None:
    whole = packed([event(f"op {number}", number, 1) for number in range(5000)])
    found = of_rank(merged(whole[: len(whole) // 2], whole), 0)
    assert 0 < len(found) < 5000


def test_an_empty_gang_is_a_trace_too() -> None:
    head = head_piece()
    found = json.loads(gzip.decompress(head.data + end_piece(Running(head.running.crc, head.running.size), name="t")))
    assert found["traceName"] == "t"
