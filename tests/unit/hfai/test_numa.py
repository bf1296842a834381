"""NUMA nodes: their lists of processors, and which trainers run on which."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hfai import _numa


@pytest.mark.parametrize(
    ("text", "found"), [("0-3,8\n", {0, 1, 2, 3, 8}), ("5", {5}), ("", set()), ("0-1,4-5", {0, 1, 4, 5})]
)
def test_lists_of_processors_are_read(text: str, found: set[int]) -> None:
    assert _numa.parse(text) == found


def nodes_in(folder: Path, *lists: str) -> Path:
    for number, text in enumerate(lists):
        (folder / f"node{number}").mkdir()
        (folder / f"node{number}" / "cpulist").write_text(text)
    return folder


def test_trainers_are_dealt_out_over_the_nodes_in_order(tmp_path: Path) -> None:
    shares = _numa.read(nodes_in(tmp_path, "0-3", "4-7"))
    assert [_numa.share_of(index, 8, shares) for index in range(8)] == [{0, 1, 2, 3}] * 4 + [{4, 5, 6, 7}] * 4
    assert [_numa.share_of(index, 1, shares) for index in range(2)] == [{0, 1, 2, 3}, {4, 5, 6, 7}]


def test_a_machine_of_one_node_is_left_as_it_is(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    _numa.bind(0, 2, nodes_in(tmp_path, "0-4095"))
    _numa.bind(0, 2, tmp_path / "absent")
    assert os.sched_getaffinity(0) == before
