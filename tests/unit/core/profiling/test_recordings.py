"""The rules of recordings: which ranks, how long, and how many are kept."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.profiling.recordings import (
    MOST_BYTES,
    MOST_RANK_BYTES,
    RANKS,
    PartState,
    ProcessTrace,
    Recording,
    RecordingKind,
    RecordingPart,
    beyond,
    chosen_ranks,
)
from kit.builders import at


def a_recording(ranks: int = 2, **fields) -> Recording:
    given_ = {"kind": RecordingKind.TRACE, "at": at(0), "starts_at": at(4), "seconds": 5.0}
    parts = tuple(RecordingPart(rank=rank, node=f"node-{rank}") for rank in range(ranks))
    return Recording(
        task_id=TaskId(1), run_id=RunId("1.1"), user="alice", by="alice", parts=parts, **{**given_, **fields}
    )


@given(st.integers(1, 5000))
def test_ranks_are_all_or_spread_over_all(count: int) -> None:
    ranks = chosen_ranks(count, None)
    assert ranks[0] == 0
    assert len(set(ranks)) == len(ranks) == min(count, RANKS)
    assert max(ranks) < count
    assert max(ranks) >= count - count // RANKS - 1


def test_named_ranks_are_taken_once() -> None:
    assert chosen_ranks(9, [3, 0, 3]) == (0, 3)


@given(st.lists(st.integers(0, 300 << 20), max_size=12), st.integers(1, 8), st.integers(1, 1 << 30))
def test_the_newest_are_kept_and_there_is_room_for_one_more(sizes: list[int], most: int, most_bytes: int) -> None:
    kept = list(enumerate(sizes, 1))
    gone = beyond(kept, most=most, most_bytes=most_bytes)
    assert gone == [number for number, _ in kept[: len(gone)]]
    left = kept[len(gone) :]
    assert len(left) < most
    assert sum(size for _, size in left) + min(MOST_BYTES, most_bytes) <= most_bytes
    if gone:
        again = kept[len(gone) - 1 :]
        assert len(again) >= most or sum(size for _, size in again) + min(MOST_BYTES, most_bytes) > most_bytes


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [({}, 4 + 5 + 120), ({"steps": 3}, 4 + 120 + 120), ({"kind": RecordingKind.STACKS, "starts_at": at(0)}, 40)],
)
def test_a_rank_that_is_silent_for_too_long_has_failed(fields, seconds: int) -> None:
    one = a_recording(**fields)
    done = RecordingPart(rank=0, node="node-0", state=PartState.DONE)
    one = one.with_part(done)
    assert one.at_time(at(seconds)) == one
    late = one.at_time(at(seconds) + timedelta(microseconds=1))
    assert late.over
    assert [part.state for part in late.parts] == [PartState.DONE, PartState.FAILED]
    assert "not answered" in (late.parts[1].message or "")


def test_its_size_is_that_of_its_traces_and_is_shared_by_its_ranks() -> None:
    trace = ProcessTrace(number=0, pid=1, name="python", size=7)
    one = a_recording().with_part(RecordingPart(rank=1, node="node-1", traces=(trace, trace)))
    assert one.size == 14
    assert one.part(5) is None
    assert a_recording(2).rank_bytes == MOST_RANK_BYTES
    assert a_recording(64).rank_bytes * 64 == MOST_BYTES
