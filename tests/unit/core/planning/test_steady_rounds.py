"""P5 on a busy cluster of 200 nodes: a second plan at the same moment decides nothing."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.decisions import Plan
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.planning.plan import plan
from kit.busy_cluster import World
from kit.seeded_clusters import Shape

POLICY = Policy()
ROUNDS = 40


def decide(snapshot: Snapshot) -> Plan:
    """The plan for this snapshot."""
    return plan(snapshot, POLICY)


@pytest.mark.parametrize(("nodes", "tasks", "seed"), [(200, 900, 0), (200, 900, 1), (150, 1200, 2), (200, 400, 3)])
def test_p5_a_plan_that_was_carried_out_leaves_nothing_to_decide(nodes: int, tasks: int, seed: int) -> None:
    world = World(Shape(nodes, tasks), seed=seed, policy=POLICY)
    world.fill(decide)
    world.settle(decide)
    world.warm_up(decide, 15)
    decided = 0
    for number in range(ROUNDS):
        world.step()
        made = decide(world.snapshot())
        decided += len(made.decisions)
        world.carry_out(made)
        assert decide(world.snapshot()).decisions == (), f"round {number}"
    assert decided > ROUNDS  # the simulation decided something
