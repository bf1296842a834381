"""`sinfo`: which nodes are asked for, and what is shown of them."""

from __future__ import annotations

import pytest

from hai_slurm.shared.getting import BadOption
from hai_slurm.users.sinfo import read_sinfo


def row(name: str, state: str, short: str, group: str = "training") -> dict[str, str]:
    return {"NODELIST": name, "PARTITION": f"{group}*", "PARTITION_NAME": group, "AVAIL": "up", "TIMELIMIT": "infinite",
            "STATE": short, "STATE_LONG": state, "GRES": "gpu:8"}  # fmt: skip


NODES = [
    row("n1", "allocated", "alloc"),
    row("n2", "idle", "idle"),
    row("n3", "idle", "idle"),
    row("m1", "down", "down", "cpu"),
]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            [],
            [
                "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST",
                "training*    up   infinite      1  alloc n1",
                "training*    up   infinite      2   idle n2,n3",
                "cpu*         up   infinite      1   down m1",
            ],
        ),
        (["-h", "-o", "%P %D %c"], ["training* 3 ", "cpu* 1 "]),
        (["-h", "-o", "%R"], ["training", "cpu"]),
        (["-h", "-N", "-o", "%N %t"], ["n1 alloc", "n2 idle", "n3 idle", "m1 down"]),
        (["-h", "-o", "%n"], ["n1", "n2", "n3", "m1"]),
        (["-h", "-p", "cpu", "-O", "NodeList:4,StateLong:"], ["m1  down"]),
        (["-h", "-t", "IDLE", "-o", "%D"], ["2"]),
        (["-h", "-n", "n[2-3]", "-o", "%N"], ["n2,n3"]),
        (["-h", "-s", "-p", "training"], ["training*    up   infinite          1/2/0/3  n1,n2,n3"]),
        (["-h", "-d", "-o", "%N"], ["m1"]),
        (["-h", "-R", "-M", "all"], ["                                                   m1"]),
    ],
)
def test_nodes_that_look_alike_are_one_row(words: list[str], lines: list[str]) -> None:
    assert read_sinfo(words).lines(NODES) == lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x"], "a word too many"),
        (["--json"], "hai nodes --json"),
        (["-i", "5"], "in a loop"),
        (["-T"], "no reservations"),
    ],
)
def test_what_cannot_be_answered_is_named(words: list[str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        read_sinfo(words)
