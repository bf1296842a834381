"""Pools of open GPUs, by what a task wants, give the same as a look at every node (U2, F4)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builders import a_node
from hai_scheduler.core.capacity.free_pools import FreePools
from hai_scheduler.core.capacity.spots import Spot, Spots
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.nodes.floor import Floor

WANTED = (None, 1, 2, 3, 4, 8)

#: Per node: how many of its GPUs are free, and whether it is kept for the head of the queue.
changes = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8), st.booleans()), max_size=12)


def open_gpus(spot: Spot) -> int:
    return 0 if spot.reserved or not spot.usable else len(spot.free)


@given(changes)
def test_it_finds_what_looking_at_every_node_finds(done: list[tuple[int, int, bool]]) -> None:
    """After any changes; the sixth node is cordoned."""
    nodes = [a_node(f"node-{n}", leaf=f"leaf-{n % 2}") for n in range(5)]
    floor = Floor([*nodes, a_node("node-5", mark=NodeMark.CORDONED)])
    spots = list(Spots(floor, []).all())
    pools = FreePools(spots)
    pools.check(spots)
    for number, free, reserved in done:
        spot = spots[number]
        spot.free, spot.reserved = list(range(min(free, spot.size))), reserved
        pools.update(spot)
    pools.check(spots)
    for gpus in WANTED:
        fit = [spot for spot in spots if open_gpus(spot) >= (spot.size if gpus is None else gpus)]
        assert sorted(pools.names(gpus)) == [spot.name for spot in fit]
        assert pools.count(gpus, gpus_per_node=8) == len(fit)
    shared = sorted((open_gpus(spot), spot.name) for spot in spots if 2 <= open_gpus(spot) < spot.size)
    assert pools.best_shared(2) == (shared[0][1] if shared else None)
