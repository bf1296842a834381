"""Fabrics: which row counts for a user, what a run gets of it, and which rows are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.workspace.fabrics import (
    MAX_ANNOTATIONS,
    MAX_BYTES,
    MAX_COUNT,
    NETWORKS,
    Fabric,
    NoFabric,
    admitted,
    doubts,
    fabric_of,
    gets,
    lacking,
)
from hai_scheduler.core.workspace.templates import Wrong
from kit.builders import a_fabric

ROWS = [
    a_fabric(subject="public", description="all"),
    a_fabric(subject="group:b", description="b"),
    a_fabric(subject="group:a", description="a"),
    a_fabric(subject="user:ann", description="ann"),
    a_fabric("other", subject="user:bob", description="elsewhere"),
]


@pytest.mark.parametrize(
    ("user", "groups", "described"),
    [
        ("ann", {"a", "b"}, "ann"),
        ("bob", {"b", "a"}, "a"),
        ("bob", {"b", "c"}, "b"),
        ("bob", set(), "all"),
    ],
    ids=["own row", "first of two groups", "group", "public"],
)
def test_the_strongest_row_of_the_node_group_counts(user: str, groups: set[str], described: str) -> None:
    found = fabric_of(ROWS, "training", user, groups)
    assert found is not None
    assert found.description == described
    assert fabric_of(reversed(ROWS), "training", user, groups) == found


_NAMES = st.sampled_from(["ann", "bob", "eve", "cv", "nlp", "public"])
_SUBJECTS = st.one_of(st.just("public"), _NAMES.map("user:{}".format), _NAMES.map("group:{}".format))
_FABRICS = st.builds(a_fabric, st.sampled_from(["training", "other"]), subject=_SUBJECTS)


@given(st.lists(_FABRICS), st.sampled_from(["training", "other"]), _NAMES, st.sets(_NAMES))
def test_nobody_gets_the_fabric_of_others(rows: list[Fabric], group: str, user: str, groups: set[str]) -> None:
    found = fabric_of(rows, group, user, groups)
    mine = {"public", f"user:{user}", *(f"group:{name}" for name in groups)}
    if found is None:
        assert not any(row.group == group and row.subject in mine for row in rows)
        others = any(row.group == group for row in rows)
        why = lacking(rows, group, user, groups, nodes=2, whole=True)
        assert why is (NoFabric.OTHERS if others else None)
    else:
        assert found.group == group
        assert found.subject in mine
        assert lacking(rows, group, user, groups, nodes=2, whole=True) is None


@pytest.mark.parametrize(
    ("count", "shared", "gpus", "expected"),
    [
        (8, False, 0, 8),
        (8, False, 8, 8),
        (8, False, 2, 2),
        (4, False, 1, 0),
        (4, False, 3, 1),
        (1, False, 7, 0),
        (1, True, 1, 1),
        (8, True, 2, 1),
        (8, True, 0, 8),
    ],
)
def test_a_rank_of_some_gpus_gets_its_share(count: int, shared: bool, gpus: int, expected: int) -> None:
    fabric = a_fabric(resources={"rdma/hca": count}, shared=shared)
    assert fabric.count_of("rdma/hca", gpus, 8) == expected


@given(st.integers(1, MAX_COUNT), st.lists(st.integers(1, 16), min_size=1, max_size=8))
def test_ranks_of_one_node_never_get_more_than_it_has(count: int, shares: list[int]) -> None:
    fabric, gpus = a_fabric(resources={"rdma/hca": count}), sum(shares)
    assert sum(fabric.count_of("rdma/hca", share, gpus) for share in shares) <= count


@pytest.mark.parametrize(
    ("fields", "nodes", "whole", "expected", "why"),
    [
        ({}, 2, True, True, None),
        ({}, 2, False, True, None),
        ({}, 1, True, False, None),
        ({"single_node": True}, 1, True, True, None),
        ({"host_network": True}, 2, True, True, None),
        ({"host_network": True}, 2, False, False, NoFabric.SHARED),
        ({"host_network": True, "single_node": True}, 1, False, False, None),
    ],
)
def test_which_runs_get_it(
    fields: dict[str, Any], nodes: int, whole: bool, expected: bool, why: NoFabric | None
) -> None:
    fabric = a_fabric(**fields)
    assert gets(fabric, nodes=nodes, whole=whole) is expected
    assert lacking([fabric], "training", "ann", (), nodes=nodes, whole=whole) is why


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "no subject": ({"subject": "ann"}, "subject", "user:NAME"),
    "nothing": ({"resources": {}}, "resources", "asks for nothing"),
    "a bare name": ({"resources": {"cpu": 1}}, "resources", "rdma/hca"),
    "a domain of Kubernetes": ({"resources": {"kubernetes.io/hca": 1}}, "resources", "rdma/hca"),
    "a domain below it": ({"resources": {"a.kubernetes.io/hca": 1}}, "resources", "rdma/hca"),
    "two slashes": ({"resources": {"a/b/c": 1}}, "resources", "rdma/hca"),
    "a line end": ({"resources": {"rdma/hca\n": 1}}, "resources", "rdma/hca"),
    "a long domain": ({"resources": {f"{'a' * 254}/x": 1}}, "resources", "rdma/hca"),
    "none of it": ({"resources": {"rdma/hca": 0}}, "resources.rdma/hca", "1 to"),
    "too many": ({"resources": {"rdma/hca": MAX_COUNT + 1}}, "resources.rdma/hca", "1 to"),
    "too many kinds": ({"resources": {f"rdma/hca{n}": 1 for n in range(33)}}, "resources", "32"),
    "shared nothing": ({"resources": {}, "shm_bytes": 1, "shared": True}, "shared", "leave it out"),
    "no key": ({"annotations": {"a b": "c"}}, "annotations", NETWORKS),
    "the platform's key": ({"annotations": {"hai.jupyter.org/run": "1"}}, "annotations.hai.jupyter.org/run", "leave"),
    "NUL in an annotation": ({"annotations": {"a": "\0"}}, "annotations.a", "NUL"),
    "large annotations": ({"annotations": {"a": "ä" * (MAX_ANNOTATIONS // 2)}}, "annotations", "definitions"),
    "no variable": ({"variables": {"1A": "b"}}, "variables", "no digit first"),
    "a long value": ({"variables": {"A": "b" * 4097}}, "variables.A", "4096"),
    "NUL in a variable": ({"variables": {"A": "\0"}}, "variables.A", "NUL"),
    "too many variables": ({"variables": {f"A{n}": "b" for n in range(201)}}, "variables", "200"),
    "a negative size": ({"shm_bytes": -1}, "shm_bytes", "bytes"),
    "a size beyond any node": ({"memlock_bytes": MAX_BYTES + 1}, "memlock_bytes", "bytes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_row_names_its_field_and_the_remedy(name: str) -> None:
    fields, field, remedy = WRONG[name]
    with pytest.raises(Wrong) as refused:
        admitted(a_fabric(**fields))
    assert refused.value.field == field
    assert remedy in refused.value.message


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"resources": {"nvidia.com/mlnxnics": 8, "openshift.io/mlx_0": 1}},
        {"annotations": {NETWORKS: "default/roce-0, roce-1"}},
        {"resources": {}, "variables": {"NCCL_IB_HCA": "mlx5"}},
        {"resources": {}, "host_network": True},
        {"annotations": {"a": "b" * (MAX_ANNOTATIONS - 1)}},
    ],
)
def test_a_right_row_is_taken_as_it_is(fields: dict[str, Any]) -> None:
    assert admitted(a_fabric(**fields)) == a_fabric(**fields)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, []),
        ({"variables": {"NCCL_SOCKET_IFNAME": "=eth0"}}, ["variables.NCCL_SOCKET_IFNAME"]),
        ({"memlock_bytes": 0}, ["memlock_bytes"]),
        ({"host_network": True}, ["host_network"]),
    ],
)
def test_what_has_broken_trainings_elsewhere_is_warned_of(fields: dict[str, Any], said: list[str]) -> None:
    assert [text.partition(":")[0] for text in doubts(a_fabric(**fields))] == said
