"""The units of allocation: gangs, whole nodes and parts of nodes, in one node group (rules U1 to U3)."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import VerdictKind
from kit.builders import a_node, a_quota, some_nodes
from unit.core.tables import (
    EVERYBODY,
    HIGH,
    LOW,
    decide,
    for_minutes,
    kinds,
    leaving,
    runs,
    shares,
    snapshot,
    started_gpus,
    starts,
    suspends,
    waits,
)

# -- U1: gangs ----------------------------------------------------------------------------------------


def test_u1_a_gang_starts_on_all_its_nodes_or_not_at_all() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=1), waits(2, 4), waits(3, 3, priority=LOW)))
    assert starts(made) == {3: ("node-2", "node-3", "node-4")}
    assert made.verdicts[2].kind is VerdictKind.TURN


@pytest.mark.parametrize(("needs", "begins"), [(3, True), (4, True), (5, False)])
def test_u1_a_gang_may_be_as_large_as_what_is_free_and_no_larger(needs: int, begins: bool) -> None:
    made = decide(snapshot(waits(1, needs), nodes=4))
    assert [len(names) for names in starts(made).values()] == ([needs] if begins else [])


def test_u1_a_gang_waits_for_the_last_of_its_nodes_and_nobody_gets_the_others() -> None:
    going = leaving(runs(1, "node-4"), beneficiary=2)
    kept = frozenset({"node-1", "node-2", "node-3", "node-4"})
    made = decide(snapshot(going, waits(2, 4, promise=kept), waits(3)))
    assert starts(made) == {}
    assert made.verdicts[2].data["coming"] == 1


def test_u1_a_gang_leaves_as_a_whole_even_if_one_node_is_wanted() -> None:
    made = decide(snapshot(runs(1, "node-1", "node-2", "node-3"), waits(2, 1, priority=HIGH), nodes=3))
    assert suspends(made) == {1: 2}


# -- U2: parts of nodes -------------------------------------------------------------------------------

#: sentence, who runs, what waits, the node and the indices that it gets (None: it waits)
PACKED: list[tuple[str, tuple[Task, ...], Task, tuple[tuple[str, ...], tuple[tuple[int, ...], ...]] | None]] = [
    ("an empty node is opened when none is shared", (), waits(9, gpus=2), (("node-1",), ((0, 1),))),
    (
        "a shared node before an empty one",
        (shares(1, {"node-3": (0, 1)}),),
        waits(9, gpus=2),
        (("node-3",), ((2, 3),)),
    ),
    (
        "best fit: where the least is left over",
        (shares(1, {"node-1": (0, 1)}), shares(2, {"node-2": (0, 1, 2, 3, 4)})),
        waits(9, gpus=3),
        (("node-2",), ((5, 6, 7),)),
    ),
    (
        "not where it does not fit by one GPU",
        (shares(1, {"node-1": (0, 1)}), shares(2, {"node-2": (0, 1, 2, 3, 4)})),
        waits(9, gpus=4),
        (("node-1",), ((2, 3, 4, 5),)),
    ),
    (
        "holes are filled, lowest index first",
        (shares(1, {"node-1": (1, 2)}), shares(2, {"node-1": (5,)})),
        waits(9, gpus=3),
        (("node-1",), ((0, 3, 4),)),
    ),
    (
        "never on a node that is held whole",
        (runs(1, "node-1"), runs(2, "node-2"), runs(3, "node-3")),
        waits(9, gpus=1),
        None,
    ),
    (
        "a gang of k GPUs on each of n nodes, on nodes that differ",
        (shares(1, {"node-1": (0, 1, 2, 3)}), shares(2, {"node-2": (0, 1, 2)})),
        waits(9, 2, gpus=4),
        (("node-1", "node-2"), ((4, 5, 6, 7), (3, 4, 5, 6))),
    ),
    (
        "a gang of k GPUs counts nodes, not GPUs",
        (runs(1, "node-1"), runs(2, "node-2")),
        waits(9, 2, gpus=1),
        None,
    ),
    (
        "all GPUs of a node by number is a share as well",
        (),
        waits(9, gpus=8),
        (("node-1",), (tuple(range(8)),)),
    ),
]


@pytest.mark.parametrize(("there", "task", "got"), [row[1:] for row in PACKED], ids=[row[0] for row in PACKED])
def test_u2_parts_of_nodes_are_packed_best_fit(
    there: tuple[Task, ...], task: Task, got: tuple[tuple[str, ...], tuple[tuple[int, ...], ...]] | None
) -> None:
    made = decide(snapshot(*there, task, nodes=3))
    begun = {9: got} if got else {}
    assert {task_id: (names, started_gpus(made)[task_id]) for task_id, names in starts(made).items()} == begun


def test_u2_a_whole_node_task_never_goes_where_a_gpu_is_held() -> None:
    made = decide(snapshot(shares(1, {"node-1": (7,)}, minutes=1), waits(2), nodes=1))
    assert starts(made) == {}
    made = decide(snapshot(shares(1, {"node-1": (7,)}, minutes=1), waits(2), nodes=2))
    assert starts(made) == {2: ("node-2",)}


def test_u2_tasks_that_start_together_get_disjoint_indices_on_few_nodes() -> None:
    made = decide(snapshot(*(waits(n, gpus=3) for n in (1, 2, 3)), nodes=3))
    assert starts(made) == {1: ("node-1",), 2: ("node-1",), 3: ("node-2",)}
    assert started_gpus(made) == {1: ((0, 1, 2),), 2: ((3, 4, 5),), 3: ((0, 1, 2),)}


@pytest.mark.parametrize(("gpus", "kind"), [(8, None), (9, VerdictKind.NEVER)])
def test_u2_more_gpus_than_a_node_has_never_fit(gpus: int, kind: VerdictKind | None) -> None:
    made = decide(snapshot(waits(1, gpus=gpus)))
    assert kinds(made).get(1) is kind
    if kind:
        assert (made.verdicts[1].data["cause"], made.verdicts[1].data["cap"]) == ("gpus", 8)


def test_u2_nodes_without_gpus_are_given_whole_and_never_in_parts() -> None:
    bare = (a_node("node-1", gpus=0),)
    assert starts(decide(snapshot(waits(1), nodes=bare))) == {1: ("node-1",)}
    assert kinds(decide(snapshot(waits(1, gpus=1), nodes=bare))) == {1: VerdictKind.NEVER}


def test_u2_in_a_group_of_different_nodes_a_part_goes_where_it_fits() -> None:
    nodes = (a_node("big", gpus=8), a_node("small", gpus=2))
    made = decide(snapshot(waits(1, gpus=2), waits(2, gpus=4), nodes=nodes))
    assert starts(made) == {1: ("small",), 2: ("big",)}


def test_u2_enough_of_a_shared_node_is_freed_and_no_more() -> None:
    there = (
        shares(1, {"node-1": (0, 1, 2, 3)}, level=LOW, minutes=20),
        shares(2, {"node-1": (4,)}, level=LOW, minutes=5),
        shares(3, {"node-1": (5, 6, 7)}, level=HIGH),
    )
    made = decide(snapshot(*there, waits(9, gpus=1, priority=HIGH), nodes=1))
    assert suspends(made) == {2: 9}, "one GPU is wanted: the one that loses least leaves, alone"
    made = decide(snapshot(*there, waits(9, gpus=4, priority=HIGH), nodes=1))
    assert suspends(made) == {1: 9}, "the small one was taken first and let off again"
    made = decide(snapshot(*there, waits(9, gpus=5, priority=HIGH), nodes=1))
    assert suspends(made) == {1: 9, 2: 9}


def test_u2_who_shares_several_nodes_frees_all_of_them_and_nobody_leaves_besides() -> None:
    """Task 1 is on both nodes: with it gone node-1 and node-2 are free, so that task 3 need not leave (P4)."""
    there = (
        shares(1, {"node-1": (0, 1), "node-2": (0, 1)}, level=LOW, minutes=20),
        runs(3, "node-3", level=LOW, minutes=1),
    )
    assert suspends(decide(snapshot(*there, waits(9, 2, gpus=7, priority=HIGH), nodes=3))) == {1: 9}


def test_u2_everybody_on_a_shared_node_leaves_for_a_whole_node_task_or_nobody() -> None:
    low, high = shares(1, {"node-1": (0,)}, level=LOW), shares(2, {"node-1": (1,)}, level=HIGH, minutes=1)
    assert suspends(decide(snapshot(low, high, waits(9, priority=HIGH), nodes=1))) == {}
    other = shares(2, {"node-1": (1,)}, level=LOW)
    assert suspends(decide(snapshot(low, other, waits(9, priority=HIGH), nodes=1))) == {1: 9, 2: 9}


# -- U3: groups ---------------------------------------------------------------------------------------

GROUPS: tuple[Node, ...] = (a_node("a"), a_node("b", group="jupyter"))
QUOTAS = (*EVERYBODY, a_quota("public", group="jupyter", limit=None))


def test_u3_groups_do_not_mix() -> None:
    made = decide(snapshot(waits(1, 2), waits(2, 1, group="jupyter"), nodes=GROUPS, quotas=QUOTAS))
    assert starts(made) == {2: ("b",)}
    assert made.verdicts[1].data["cause"] == "group"


def test_u3_nobody_leaves_for_a_task_of_another_group() -> None:
    made = decide(snapshot(runs(1, "b", group="jupyter", level=LOW), waits(2, 1, priority=HIGH), nodes=GROUPS[1:]))
    assert made.decisions == ()
    assert kinds(made) == {2: VerdictKind.NEVER}


def test_u3_each_group_has_a_queue_of_its_own() -> None:
    tasks = [waits(1, 1), waits(2, 1), waits(3, 1, group="jupyter"), waits(4, 1, group="jupyter")]
    made = decide(snapshot(*tasks, nodes=GROUPS, quotas=QUOTAS))
    assert starts(made) == {1: ("a",), 3: ("b",)}
    assert (made.verdicts[2].position, made.verdicts[4].position) == (2, 2)


def test_u3_each_group_goes_by_its_own_numbers() -> None:
    nodes = (*some_nodes(1), a_node("b", group="jupyter"))
    tasks = (
        runs(1, "node-1", minutes=40),
        runs(2, "b", group="jupyter", minutes=40),
        waits(3),
        waits(4, group="jupyter"),
    )
    patient = Policy(slice=for_minutes(90), min_run=for_minutes(60))
    made = decide(snapshot(*tasks, nodes=nodes, quotas=QUOTAS), Policies(groups={"jupyter": patient}))
    assert suspends(made) == {1: 3}
