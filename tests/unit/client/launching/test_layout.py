"""How the tasks of a step lie on nodes."""

from __future__ import annotations

import pytest

from hai_client.launching.layout import BadLayout, lay_out


@pytest.mark.parametrize(
    ("asked", "nodes", "counts"),
    [
        ({}, (0, 1, 2), (1, 1, 1)),
        ({"default_per_node": 2}, (0, 1, 2), (2, 2, 2)),
        ({"ntasks": 1}, (0,), (1,)),
        ({"ntasks": 5}, (0, 1, 2), (2, 2, 1)),
        ({"ntasks": 5, "most_nodes": 2}, (0, 1), (3, 2)),
        ({"ntasks": 3, "per_node": 2}, (0, 1), (2, 1)),
        ({"per_node": 4, "most_nodes": 1}, (0,), (4,)),
        ({"most_nodes": 2, "ntasks": 1}, (0,), (1,)),
    ],
)
def test_tasks_lie_on_nodes_block_by_block(
    asked: dict[str, int], nodes: tuple[int, ...], counts: tuple[int, ...]
) -> None:
    words = {"ntasks": None, "per_node": None, "most_nodes": None, "default_per_node": 1, **asked}
    found = lay_out([0, 1, 2], **words)  # type: ignore[arg-type]
    assert (found.nodes, found.counts) == (nodes, counts)
    assert [found.first(index) for index in range(len(nodes))] == [sum(counts[:index]) for index in range(len(nodes))]


@pytest.mark.parametrize(
    "asked", [{"most_nodes": 4}, {"ntasks": 0}, {"ntasks": 7, "per_node": 2}], ids=["nodes", "none", "too many"]
)
def test_a_step_that_does_not_fit_is_refused_with_a_remedy(asked: dict[str, int]) -> None:
    words = {"ntasks": None, "per_node": None, "most_nodes": None, "default_per_node": 1, **asked}
    with pytest.raises(BadLayout, match="--n"):
        lay_out([0, 1, 2], **words)  # type: ignore[arg-type]
