"""Facts of a node group: which nodes may be used, how large they are, and what could ever fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.nodes.node_group import NodeGroup, largest
from kit.builders import a_node, some_nodes
from unit.core.tables import waits

USABLE: list[tuple[str, Node, bool]] = [
    ("ready", a_node("n"), True),
    ("not ready", a_node("n", ready=False), False),
    ("closed by the cluster", a_node("n", closed=True), False),
    ("cordoned", a_node("n", mark=NodeMark.CORDONED), False),
    ("draining", a_node("n", mark=NodeMark.DRAINING), False),
    ("in quarantine", a_node("n", mark=NodeMark.QUARANTINED), False),
    ("held by an orphaned run", a_node("n", orphan=RunId("9.1")), False),
]


@pytest.mark.parametrize(("node", "usable"), [row[1:] for row in USABLE], ids=[row[0] for row in USABLE])
def test_f3_which_nodes_new_runs_may_be_placed_on(node: Node, usable: bool) -> None:
    group = NodeGroup([node, a_node("other")])
    assert ("n" in group.usable) is usable
    assert group.draining == ({"n"} if node.mark is NodeMark.DRAINING else set())
    assert list(group.nodes) == ["n", "other"], "it counts as a node of the group all the same (Q5)"


def test_nodes_are_sorted_by_name_and_zones_too() -> None:
    group = NodeGroup([a_node("c", zone="z2"), a_node("a", zone="z2"), a_node("b", zone="z1")])
    assert (list(group.nodes), group.zones) == (["a", "b", "c"], ["z1", "z2"])
    assert group.zone_of == {"a": "z2", "b": "z1", "c": "z2"}


@pytest.mark.parametrize(
    ("sizes", "most", "mixed"),
    [((), 0, False), ((8,), 8, False), ((8, 8), 8, False), ((4, 8), 8, True), ((0, 0), 0, False), ((0, 8), 8, True)],
)
def test_the_largest_node_and_whether_all_are_alike(sizes: tuple[int, ...], most: int, mixed: bool) -> None:
    group = NodeGroup([a_node(f"n{n}", gpus=gpus) for n, gpus in enumerate(sizes)])
    assert (group.gpus_per_node, group.mixed) == (most, mixed)


@pytest.mark.parametrize(
    ("names", "spans"),
    [
        ((), False),
        (("a1",), False),
        (("a1", "a2"), False),
        (("a1", "b1"), True),
        (("a1", "gone"), False),
        (("gone", "missing"), False),
        (("a1", "gone", "b1"), True),
    ],
)
def test_f2_nodes_that_are_gone_lie_in_no_zone(names: tuple[str, ...], spans: bool) -> None:
    group = NodeGroup([a_node("a1", zone="a"), a_node("a2", zone="a"), a_node("b1", zone="b")])
    assert group.spans_zones(names) is spans


#: sentence, nodes of the task, GPUs of each (None: whole nodes), whether it fits on nodes of 0, 4, 8 and 8 GPUs
EVER = [
    ("as many as there are", 4, None, True),
    ("one more", 5, None, False),
    ("parts on all that have GPUs", 3, 4, True),
    ("parts on one more", 4, 1, False),
    ("large parts on the large ones", 2, 8, True),
    ("large parts on one more", 3, 8, False),
    ("a part between two sizes", 2, 5, True),
    ("more than any node has", 1, 9, False),
]


@pytest.mark.parametrize(("nodes", "gpus", "fits"), [row[1:] for row in EVER], ids=[row[0] for row in EVER])
def test_q5_what_could_ever_fit(nodes: int, gpus: int | None, fits: bool) -> None:
    group = NodeGroup([a_node(f"n{n}", gpus=size) for n, size in enumerate((0, 4, 8, 8))])
    assert group.can_ever(waits(1, nodes, gpus=gpus)) is fits
    assert group.most(gpus) == sum(size >= (gpus or 0) for size in (0, 4, 8, 8))


def test_q5_nodes_that_may_not_be_used_now_count() -> None:
    group = NodeGroup([a_node("a"), a_node("b", mark=NodeMark.CORDONED), a_node("c", ready=False)])
    assert group.can_ever(waits(1, 3))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.booleans()), max_size=6),
    st.integers(1, 5),
    st.none() | st.integers(1, 4),
)
def test_f3_a_task_avoids_nodes_while_enough_others_are_left(
    nodes: list[tuple[int, bool, bool]], needs: int, gpus: int | None
) -> None:
    """Each node has GPUs, may be usable, and may be one that the task avoids."""
    made = [a_node(f"n{n}", gpus=size, ready=ready) for n, (size, ready, _) in enumerate(nodes)]
    avoid = frozenset(f"n{n}" for n, (_, _, avoided) in enumerate(nodes) if avoided) | {"gone"}
    left = sum(ready and not avoided and size >= (gpus or 0) for size, ready, avoided in nodes)
    assert NodeGroup(made).can_avoid(waits(1, needs, gpus=gpus, avoid=avoid)) is (needs <= left)


def test_the_largest_node_of_each_group() -> None:
    nodes = (*some_nodes(2, gpus=4), a_node("big"), a_node("cpu", group="jupyter", gpus=0))
    assert largest(nodes) == {"training": 8, "jupyter": 0}
    assert largest(()) == {}
