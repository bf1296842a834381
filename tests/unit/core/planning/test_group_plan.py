"""Invariants of a node group's plan after all of its steps: `GroupPlan.check` and its parts.

What `hai_scheduler.core.planning.queue_walk` decides is in the tables of rules and in the recorded decisions.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.planning.group_plan import GroupPlan
from hai_scheduler.core.planning.plan_cache import PlanCache
from kit.builders import some_nodes
from kit.snapshots import snapshots
from unit.core.tables import HIGH, LOW, NORMAL, POLICY, runs, shares, snapshot, turn_of, waits


def planned(shot: Snapshot, discipline: Discipline = Discipline.HAI) -> GroupPlan:
    """The finished plan of the only node group."""
    cache = PlanCache()
    cache.update(shot, POLICY, discipline)
    made = GroupPlan("training", shot, POLICY, discipline, cache)
    made.make()
    return made


@given(snapshots(), st.sampled_from(Discipline), st.booleans())
@settings(max_examples=300, deadline=None)
def test_gpus_promises_and_quota_agree_after_every_plan(shot: Snapshot, discipline: Discipline, paused: bool) -> None:
    planned(replace(shot, paused=paused), discipline).check()


def a_capacity() -> GroupCapacity:
    """Three nodes: one held whole, one shared, one free."""
    turns = [turn_of(runs(1, "node-1")), turn_of(shares(2, {"node-2": (0, 1)}))]
    return GroupCapacity(NodeGroup(some_nodes(3)), turns)


def test_a_gpu_that_is_free_and_held_is_found() -> None:
    capacity = a_capacity()
    capacity.check()
    capacity.node_states["node-2"].free.append(0)
    with pytest.raises(AssertionError, match="node-2: 2 held, 7 free"):
        capacity.check()


def test_a_node_that_shows_more_than_is_open_is_found() -> None:
    capacity = a_capacity()
    capacity.node_states["node-3"].reserved = True
    capacity.reserved = {"node-3": None}
    with pytest.raises(AssertionError, match="node-3 shows 8 GPUs, 0 are open"):
        capacity.check()


def test_a_promise_that_only_the_node_knows_of_is_found() -> None:
    capacity = a_capacity()
    capacity.promise(["node-3"], waits(9), NORMAL)
    capacity.check()
    capacity.node_states["node-3"].promises.clear()
    capacity.pools.update(capacity.node_states["node-3"])
    with pytest.raises(AssertionError):
        capacity.check()


def test_quota_without_nodes_is_found() -> None:
    """A beneficiary has both quota and nodes; code that ends only one of them is wrong."""
    made = planned(snapshot(runs(1, "node-1", level=LOW), waits(2, priority=HIGH), nodes=1))
    made.check()
    made._state.capacity.release(waits(2))
    with pytest.raises(AssertionError, match="quota without nodes"):
        made.check()
