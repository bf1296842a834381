"""Traces of users: read piece by piece, whatever is in them."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from hai_scheduler.core.profiling import trace_reading
from hai_scheduler.core.profiling.trace_reading import NoTrace, read_trace
from kit.operations import operations
from kit.traces import event, packed


def test_kept_kinds_come_back_and_others_do_not() -> None:
    events = [
        event("aten::mm", 5, 2),
        event("cudaLaunchKernel", 6, 1, cat="cuda_runtime", correlation=7),
        event("sgemm", 8, 3, cat="kernel", tid=0, correlation=7),
        event("f", 1, 2, cat="python_function"),
        {"ph": "M", "name": "process_name", "ts": 1, "pid": 1, "args": {"name": "python"}},
    ]
    found = read_trace(packed(events, rank=3, world=8))
    assert [(one.kind, one.name, one.correlation) for one in found.events] == [
        ("cpu_op", "aten::mm", None),
        ("cuda_runtime", "cudaLaunchKernel", 7),
        ("kernel", "sgemm", 7),
    ]
    assert (found.process_rank, found.world, found.cut) == (3, 8, False)
    assert (found.events[2].start, found.events[2].end) == (8, 11)


@pytest.mark.parametrize(
    "wrong",
    [
        {"ts": "1"},
        {"dur": -1},
        {"dur": None},
        {"ts": True},
        {"ts": 1e300},
        {"name": 5},
        {"name": None},
        {"cat": ["cpu_op"]},
        {"ph": "B"},
    ],
)
def test_events_that_make_no_sense_are_left_out(wrong: dict[str, object]) -> None:
    found = read_trace(packed([{**event("aten::mm", 5, 2), **wrong}, 7, None, [], "x", event("aten::add", 9, 1)]))
    assert [one.name for one in found.events] == ["aten::add"]


def test_a_trace_is_read_the_same_however_its_pieces_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed([event(f"op {number} \u00e4", number, 1, note="}],{[") for number in range(50)])
    whole = read_trace(data)
    monkeypatch.setattr(trace_reading, "PIECE", 7)
    monkeypatch.setattr(trace_reading, "TAKEN", 3)
    assert [one.start for one in read_trace(data).events] == [one.start for one in whole.events]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no list of events"),
        (b"nonsense", "damaged"),
        (gzip.compress(b"{}"), "no list of events"),
        (gzip.compress(b'{"a": "' + b"x" * 2_000_000), "no list of events"),
        (zlib.compress(b'{"traceEvents": []}'), "damaged"),
    ],
    # The bytes themselves hold the time at which they were packed, and differ from process to process.
    ids=["nothing", "no archive", "no trace", "cut off", "of another kind"],
)
def test_what_is_no_trace_is_said(data: bytes, words: str) -> None:
    with pytest.raises(NoTrace, match=words):
        read_trace(data)


def test_a_trace_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    text = json.dumps({"traceEvents": [event("aten::mm", number, 1) for number in range(9)]}).encode()
    found = read_trace(gzip.compress(text[:-60]))
    assert found.cut
    assert len(found.events) == 8


@pytest.mark.parametrize("inside", ["[" * 100_000, '{"ts": NaN}', '{"ts": Infinity', "{" * 5000, '"x'])
def test_damage_inside_ends_the_reading(inside: str) -> None:
    begun = json.dumps({"traceEvents": [event("aten::mm", 1, 1)]})[:-2]
    found = read_trace(gzip.compress(f"{begun}, {inside}".encode()))
    assert (len(found.events), found.cut) == (1, True)


def test_no_more_than_the_bounds_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_reading, "MOST_EVENTS", 5)
    found = read_trace(packed([event("aten::mm", number, 1) for number in range(9)]))
    assert (len(found.events), found.cut) == (5, True)
    monkeypatch.setattr(trace_reading, "PIECE", 64)
    monkeypatch.setattr(trace_reading, "MOST_TRACE", 500)
    assert len(read_trace(packed([event("aten::mm", number, 1) for number in range(9)])).events) < 5
    monkeypatch.setattr(trace_reading, "MOST_EVENT", 100)
    monkeypatch.setattr(trace_reading, "MOST_TRACE", 10**9)
    with pytest.raises(NoTrace, match="has no end"):
        read_trace(gzip.compress(b'{"traceEvents": [{"name": "' + b"x" * 1000 + b'"}]}'))


@pytest.mark.parametrize(
    "info", ['{"rank": "1"}', "7", '{"rank": 5, "world_size": 2}', "{", '{"rank": -1, "world_size": 2}']
)
def test_a_head_that_makes_no_sense_is_ignored(info: str) -> None:
    text = f'{{"distributedInfo": {info}, "traceEvents": [{json.dumps(event("aten::mm", 1, 1))}]}}'
    found = read_trace(gzip.compress(text.encode()))
    assert (found.process_rank, len(found.events)) == (None, 1)


def test_what_becomes_long_by_saying_nothing_is_cut_and_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_reading, "FREE", 1 << 20)

    def work(mebibytes: int) -> int:
        events = ",".join([json.dumps(event("aten::mm", 5, 2)), " " * (mebibytes << 20), "{}"])
        data = gzip.compress(f'{{"traceEvents":[{events}]}}'.encode())
        found = read_trace(data)
        assert found.cut == (mebibytes > 1)
        assert len(found.events) == 1
        return operations(lambda: read_trace(data))

    # A step for each piece, not for each character.
    assert work(1) < 5000
    assert work(16) < 10_000


def test_compressed_bytes_are_taken_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    real = zlib.decompressobj

    class Machine:
        def __init__(self, bits: int) -> None:
            self._real = real(bits)

        def __getattr__(self, name: str) -> object:
            return getattr(self._real, name)

        def decompress(self, data: bytes, most: int) -> bytes:
            taken.append(len(data))
            return self._real.decompress(data, most)

    data = packed([event(f"op {number}", number, 1) for number in range(2000)])
    whole = read_trace(data)
    monkeypatch.setattr(trace_reading.zlib, "decompressobj", Machine)
    monkeypatch.setattr(trace_reading, "TAKEN", 512)
    assert read_trace(data) == whole
    # What is left of each piece is handed over again, but never all that is still to come.
    assert max(taken) <= 512
