"""The choice of nodes for a gang (rules U1, F1, F2, F4), beside all ways to choose."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.nodes.placement import Leaf, choose


def test_f4_chosen_nodes_are_the_preferred_ones_of_a_leaf_in_the_order_of_their_names() -> None:
    assert choose({("", ""): ["n3", "n1", "n2"]}, 2, across=False) == ("n1", "n3")
    assert choose({("", ""): ["n1"]}, 2, across=True) is None


clusters = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")).map(lambda where: Leaf(*where)), st.integers(1, 4)
).map(lambda sizes: {leaf: [f"{leaf.zone}{leaf.switch}{n}" for n in range(size)] for leaf, size in sizes.items()})


def spread(names: Iterable[str]) -> tuple[int, int]:
    """Over how many zones and leaves the nodes are spread; the first letters of a name say where the node is."""
    found = list(names)
    return len({name[0] for name in found}), len({name[:2] for name in found})


@given(clusters, st.integers(1, 14), st.booleans())
def test_u1_f1_f2_no_other_choice_has_fewer_zones_or_leaves(
    leaves: dict[Leaf, list[str]], nodes: int, across: bool
) -> None:
    """All ways to take a number of nodes of each leaf are tried."""
    ways = product(*(range(len(names) + 1) for names in leaves.values()))
    gangs = [
        [name for names, count in zip(leaves.values(), way, strict=True) for name in names[:count]]
        for way in ways
        if sum(way) == nodes
    ]
    allowed = [spread(gang) for gang in gangs if across or spread(gang)[0] == 1]
    chosen = choose(leaves, nodes, across=across)
    if not allowed:
        assert chosen is None
        return
    assert chosen is not None
    assert list(chosen) == sorted(set(chosen))
    assert len(chosen) == nodes
    assert set(chosen) <= {name for names in leaves.values() for name in names}
    zones, on_leaves = spread(chosen)
    assert zones == min(allowed)[0]
    if on_leaves > 1:
        assert (1, 1) not in allowed, "a leaf that is large enough goes first"
    if zones == 1 and on_leaves > 1:
        mine = [spread(gang)[1] for gang in gangs if {name[0] for name in gang} == {chosen[0][0]}]
        assert on_leaves == min(mine), "as few leaves of the zone as can be"


#: sentence, nodes of each leaf, how many are needed, whether zones may be spanned, what is chosen
CHOICES = [
    ("the smallest leaf that fits", {("a", "1"): 4, ("a", "2"): 2, ("b", "1"): 3}, 2, False, ["a2", "a2"]),
    ("of equal leaves the first by name", {("b", "1"): 2, ("a", "2"): 2, ("a", "1"): 2}, 2, False, ["a1", "a1"]),
    (
        "the smallest zone that fits",
        {("a", "1"): 2, ("a", "2"): 2, ("b", "1"): 1, ("b", "2"): 2},
        3,
        True,
        ["b1", "b2", "b2"],
    ),
    ("largest leaf whole, then best fit", {("a", "1"): 3, ("a", "2"): 1, ("a", "3"): 2}, 4, False, ["a1"] * 3 + ["a2"]),
    ("largest zone whole, then best fit", {("a", "1"): 1, ("b", "1"): 3, ("c", "1"): 2}, 4, True, ["a1"] + ["b1"] * 3),
    ("no zone alone", {("a", "1"): 2, ("b", "1"): 2}, 3, False, None),
    ("too few", {("a", "1"): 2, ("b", "1"): 2}, 5, True, None),
    ("nothing", {}, 1, True, None),
]


@pytest.mark.parametrize(
    ("sizes", "nodes", "across", "chosen"), [row[1:] for row in CHOICES], ids=[row[0] for row in CHOICES]
)
def test_which_leaf_and_which_zone(
    sizes: dict[tuple[str, str], int], nodes: int, across: bool, chosen: list[str] | None
) -> None:
    leaves = {Leaf(*where): [f"{''.join(where)}-{n}" for n in range(size)] for where, size in sizes.items()}
    found = choose(leaves, nodes, across=across)
    assert (None if found is None else [name.partition("-")[0] for name in found]) == chosen
