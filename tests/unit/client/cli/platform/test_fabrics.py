"""`hai admin fabrics`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

Hai = Callable[..., Any]

PUT = ["admin", "fabrics", "put", "training", "--resource", "rdma/hca=8"]
ALL = [
    *PUT, "--network", "roce-0,roce-1", "--annotation", "a.example/b=c=d", "--var", "NCCL_IB_HCA=mlx5", "--shm", "64Gi",
    "--memlock", "8Gi", "--single-node", "--shared", "--description", "RoCE", "--for", "group:cv",
]  # fmt: skip


def words(out: str) -> list[list[str]]:
    return [re.split(r"  +", line.strip()) for line in out.splitlines()]


def test_an_admin_puts_lists_and_removes_fabrics(hai: Hai, platform: Any) -> None:
    assert hai("admin", "fabrics", "list").out.startswith("no fabrics; `hai admin fabrics put --help`")
    result = hai(*ALL)
    assert result.err == "hai: resources: 1 of 4 nodes have fewer\n"
    assert result.out == (
        "training: runs of group:cv get rdma/hca=8 (shared), the networks roce-0,roce-1, the annotations a.example/b, "
        "the variables NCCL_IB_HCA, 64 GiB of /dev/shm, from the next start on\n"
    )
    assert platform.calls[-1].body == {
        "group": "training", "subject": "group:cv", "resources": {"rdma/hca": 8}, "shared": True,
        "annotations": {"k8s.v1.cni.cncf.io/networks": "roce-0,roce-1", "a.example/b": "c=d"},
        "variables": {"NCCL_IB_HCA": "mlx5"}, "shm_bytes": 64 * 2**30, "host_network": False,
        "memlock_bytes": 8 * 2**30, "single_node": True, "description": "RoCE",
    }  # fmt: skip
    hai("admin", "fabrics", "put", "a100", "--host-network", "--yes", "--memlock", "0")
    assert words(hai("admin", "fabrics", "list").out)[1:] == [
        ["training", "group:cv", "rdma/hca=8 (shared)", "roce-0,roce-1", "NCCL_IB_HCA", "64 GiB", "8 GiB", "RoCE"],
        ["a100", "public", "-", "the node's", "-", "-", "-"],
    ]
    out = hai("admin", "fabrics", "rm", "training", "--for", "group:cv").out
    assert out == "the fabric of group:cv in training is removed; what runs keeps it\n"
    assert list(platform.fabrics) == [("a100", "public")]


def test_an_admin_asks_what_counts_for_a_user(hai: Hai) -> None:
    hai(*PUT, "--for", "user:ann")
    assert words(hai("admin", "fabrics", "list", "--for", "ann").out)[1][:2] == ["training", "user:ann"]
    result = hai("admin", "fabrics", "list", "--for", "bob")
    assert result.code != 0
    assert "'bob' has no fabric in training" in result.err


def test_a_trial_writes_nothing(hai: Hai, platform: Any) -> None:
    result = hai("admin", "fabrics", "try", *PUT[3:])
    assert result.out == "training: the cluster takes a rank with rdma/hca=8; nothing is written\n"
    assert result.err == "hai: resources: 1 of 4 nodes have fewer\n"
    assert platform.fabrics == {}


def test_what_the_cluster_refuses_is_shown_with_its_field(hai: Hai, platform: Any) -> None:
    result = hai(*PUT[:4], "--resource", "rdma/none=1")
    assert (result.code, platform.fabrics) == (2, {})
    assert "resources.rdma/none: no node of training has as many" in result.err


@pytest.mark.parametrize("verb", ["put", "try"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["--resource", "rdma/hca"],
            "resource: 'rdma/hca' does not say how many of what; write for example --resource",
        ),
        (["--resource", "rdma/hca=many"], "resource: 'rdma/hca=many' does not say"),
        (["--resource", "rdma/hca=-1"], "resource: 'rdma/hca=-1' does not say"),
        (["--var", "NCCL_DEBUG"], "var: 'NCCL_DEBUG' is not NAME=VALUE; write for example --var NCCL_IB_HCA=mlx5"),
        (["--annotation", "=x"], "annotation: '=x' is not NAME=VALUE"),
        (["--shm", "much"], "shm: 'much' is no quantity; write for example 2, 500m or 16Gi"),
        (["--memlock", "64GB"], "memlock: '64GB' is no quantity"),
        (["--for", "cv"], "subject: 'cv' is not a subject; write user:cv, group:cv or public"),
        (
            ["--network", "a", "--annotation", "k8s.v1.cni.cncf.io/networks=b"],
            "network: the annotation k8s.v1.cni.cncf.io/networks says it too",
        ),
    ],
)
def test_a_slip_of_the_pen_names_the_option_and_the_remedy(hai: Hai, platform: Any, verb, given, said) -> None:
    result = hai("admin", "fabrics", verb, "training", *given)
    assert result.code == 2
    assert said in result.err
    assert platform.calls == []


def test_the_network_of_nodes_is_written_only_if_it_is_meant(hai: Hai, platform: Any) -> None:
    result = hai(*PUT, "--host-network")
    assert result.code == 2
    assert "host_network: not confirmed, and nothing was written; `--yes` does not ask" in result.err
    assert platform.calls == []
    assert "the network of their nodes" in hai(*PUT, "--host-network", "--yes").out


def test_a_group_without_a_user_says_nothing(hai: Hai) -> None:
    assert "name the user with --for" in hai("admin", "fabrics", "list", "-g", "training").err
