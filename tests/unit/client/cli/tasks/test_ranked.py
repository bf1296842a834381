"""Traces that name their rank, and the folder that Meta's HTA reads."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from hai_client.cli.tasks.ranked import with_rank
from kit.traces import packed, steps


def test_a_trace_says_which_rank_it_is_of() -> None:
    plain = packed(steps(2000))
    found = json.loads(gzip.decompress(with_rank(plain, 3, 8)))
    assert found.pop("distributedInfo") == {"rank": 3, "world_size": 8}
    assert found == json.loads(gzip.decompress(plain))


@pytest.mark.parametrize(
    "data",
    [b"", b"nonsense", packed(steps(3))[:-100], gzip.compress(b"[1]"), gzip.compress(b""), gzip.compress(b"x{}")],
    ids=["empty", "no gzip", "broken off", "a list", "nothing", "no JSON"],
)
def test_what_is_no_trace_stays_as_it_is(data: bytes) -> None:
    assert with_rank(data, 0, 2) == data


def test_hta_finds_each_rank_of_a_saved_folder(tmp_path: Path) -> None:
    files = pytest.importorskip(
        "hta.common.trace_file", reason="HTA is not installed: pip install HolisticTraceAnalysis"
    )
    (tmp_path / "rank-0.json.gz").write_bytes(packed(steps(3), rank=0))
    (tmp_path / "rank-1.json.gz").write_bytes(with_rank(packed(steps(3)), 1, 2))
    whole = tmp_path / "all-ranks"
    whole.mkdir()
    (whole / "trace.json.gz").write_bytes(packed(steps(3), rank=0))
    assert files.get_trace_files(str(tmp_path)) == {rank: str(tmp_path / f"rank-{rank}.json.gz") for rank in (0, 1)}
