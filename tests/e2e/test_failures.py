"""A gang whose second rank fails: every view shows that rank's last lines; `-r all` shows both."""

from __future__ import annotations

import pytest

from e2e.conftest import Platform

pytestmark = pytest.mark.e2e

#: Rank 0 waits for the others, as a collective does; rank 1 fails.
LINE = 'echo "rank $RANK is up"; if [ $RANK = 1 ]; then echo "no such file: train.bin" >&2; exit 3; fi; exec sleep 600'


def test_the_rank_that_failed_first_is_shown_wherever_one_looks(platform: Platform) -> None:
    ended = platform.hai("submit", "-n", "2", "--name", "gang", "-f", "--shell", LINE, check=False)
    first = "rank 1 on node-2 failed first, with status 3; its last lines (`hai logs -r 1 gang` shows all):"
    shown = ["rank 1 is up", "no such file: train.bin"]
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[-3:] == [f"[hai] {first}", *shown]

    log = platform.hai("logs", "gang").stdout.splitlines()
    assert "rank 0 is up" in log
    assert log[-3:] == [f"[hai] {first}", *shown]
    assert platform.hai("status", "gang").stdout.splitlines()[-3:] == [first, *(f"  {line}" for line in shown)]
    assert platform.json("status", "gang")["failure"]["lines"] == shown

    merged = platform.hai("logs", "-f", "-r", "all", "gang").stdout.splitlines()
    assert sorted(merged[1:-1]) == ["0: rank 0 is up", "1: no such file: train.bin", "1: rank 1 is up"]
    assert merged[0].startswith("[hai] -- run 1 started on ")
    assert merged[-1].startswith("[hai] -- run 1 failed at ")


def test_a_fabric_that_the_cluster_cannot_give_is_refused_and_one_that_it_can_reaches_the_gang(
    platform: Platform,
) -> None:
    """The API asks for the trial, and the loop, another process, carries it out."""
    put = ("admin", "fabrics", "put", "training")
    refused = platform.hai(*put, "--resource", "rdma/hca=8", check=False)
    assert refused.returncode == 2, refused.stderr
    assert "resources: ranks are processes of this machine" in refused.stderr
    platform.hai(*put, "--var", "NCCL_IB_HCA=mlx5")
    platform.hai("submit", "-f", "-n", "2", "--name", "fast", "--", "sh", "-c", "echo hca $NCCL_IB_HCA")
    assert "hca mlx5" in platform.hai("logs", "fast").stdout
    platform.hai("admin", "fabrics", "rm", "training")
    assert platform.json("admin", "fabrics", "list") == {"items": []}
