"""Pools of open GPUs, by what a task wants, give the same as a look at every node (U2, F4)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.capacity.free_pools import FreePools
from hai_scheduler.core.capacity.node_states import NodeState, NodeStates
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.nodes.node_group import NodeGroup
from kit.builders import a_node

WANTED = (None, 1, 2, 3, 4, 8)

#: Per node: how many of its GPUs are free, and whether it is kept for the head of the queue.
changes = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8), st.booleans()), max_size=12)


def open_gpus(node_state: NodeState) -> int:
    return 0 if node_state.reserved or not node_state.usable else len(node_state.free)


@given(changes)
def test_it_finds_what_looking_at_every_node_finds(done: list[tuple[int, int, bool]]) -> None:
    """After any changes; the sixth node is cordoned."""
    nodes = [a_node(f"node-{n}", leaf=f"leaf-{n % 2}") for n in range(5)]
    node_group = NodeGroup([*nodes, a_node("node-5", mark=NodeMark.CORDONED)])
    node_states = list(NodeStates(node_group, []).all())
    pools = FreePools(node_states)
    pools.check(node_states)
    for number, free, reserved in done:
        node_state = node_states[number]
        node_state.free, node_state.reserved = list(range(min(free, node_state.size))), reserved
        pools.update(node_state)
    pools.check(node_states)
    for gpus in WANTED:
        fit = [
            node_state
            for node_state in node_states
            if open_gpus(node_state) >= (node_state.size if gpus is None else gpus)
        ]
        assert sorted(pools.names(gpus)) == [node_state.name for node_state in fit]
        assert pools.count(gpus, gpus_per_node=8) == len(fit)
    shared = sorted(
        (open_gpus(node_state), node_state.name)
        for node_state in node_states
        if 2 <= open_gpus(node_state) < node_state.size
    )
    assert pools.best_shared(2) == (shared[0][1] if shared else None)


def test_more_gpus_than_any_node_has_are_open_nowhere() -> None:
    pools = FreePools(NodeStates(NodeGroup([a_node("node-1"), a_node("node-2")]), []).all())
    assert [pools.count(gpus, gpus_per_node=8) for gpus in (8, 9)] == [2, 0]


def test_a_node_with_nothing_open_is_in_no_list() -> None:
    node_group = NodeGroup([a_node("node-1"), a_node("node-2", mark=NodeMark.CORDONED)])
    node_states = list(NodeStates(node_group, []).all())
    node_states[0].free = []
    assert listed(FreePools(node_states)) == []
    free = list(NodeStates(node_group, []).all())
    pools = FreePools(free)
    assert listed(pools) == ["node-1"], "the other node is cordoned"
    free[0].free = []
    pools.update(free[0])
    assert listed(pools) == []


def listed(pools: FreePools) -> list[str]:
    return [name for names in (*pools.empty.values(), *pools.shared.values()) for name in names]
