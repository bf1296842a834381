"""The walk through the queue: each task starts, has nodes freed for it, or waits (steps 5 and 6 of a plan)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.model.decisions import Keep, Plan
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.core.ordering.discipline import Discipline
from kit.builders import a_node, a_quota, a_use
from unit.core.tables import (
    EVERYBODY,
    HIGH,
    LOW,
    NORMAL,
    NOW,
    decide,
    for_minutes,
    kinds,
    leaving,
    runs,
    snapshot,
    starts,
    suspends,
    waits,
)

#: Bob has used much: his tasks go after those of ann, whatever ann's running tasks hold now (O3).
BOB_LAST = (a_use("bob", node_seconds=1e6, at=NOW),)


def promises(made: Plan) -> dict[int, frozenset[str]]:
    """The nodes of the promises that a plan has changed, by task."""
    return {decision.task_id: decision.nodes for decision in made.decisions if isinstance(decision, Keep)}


# -- the priority is looked at again where something comes free -----------------------------------------

#: One node in each of five zones. Task 1 leaves zone a for task 5, to which a node of zone b is promised beside it.
ZONES = tuple(a_node(f"{zone}1", zone=zone) for zone in "abcde")
GOING = leaving(runs(1, "a1", level=LOW), 5)
ACROSS = waits(5, 2, promise=frozenset({"a1", "b1"}))
#: It starts in two zones, and no further gang may span zones then (F2): task 5 cannot use what it was promised.
HIGHER = waits(6, 2, priority=HIGH)


def test_what_was_kept_for_a_promise_that_lapses_is_open_to_those_before() -> None:
    """B3. One node was open to tasks 2 and 3, one was kept for task 5, which goes after both."""
    made = decide(snapshot(GOING, HIGHER, waits(2), waits(3), ACROSS, nodes=ZONES))
    assert starts(made).keys() == {6, 2, 3}
    assert promises(made) == {5: frozenset()}
    assert kinds(made) == {5: VerdictKind.TURN}


def test_no_task_leaves_for_one_that_gets_the_node_of_a_promise_that_lapses() -> None:
    """P4: task 7 is not needed, as the node that was kept for task 5 is open to task 3."""
    low = runs(7, "e1", level=LOW)
    made = decide(snapshot(GOING, HIGHER, low, waits(3), ACROSS, nodes=ZONES))
    assert starts(made) == {6: ("c1", "d1"), 3: ("b1",)}
    assert suspends(made) == {}


def test_a_promise_that_a_start_has_displaced_ends_though_the_walk_does_not_reach_its_task() -> None:
    """B3, with a queue whose first task that cannot start blocks all behind it."""
    going = leaving(runs(1, "node-1", level=LOW), 5)
    promised = waits(5, 2, promise=frozenset({"node-1", "node-2"}))
    shot = snapshot(going, promised, waits(6, priority=HIGH), waits(7, 2, priority=HIGH), nodes=2)
    made = decide(shot, discipline=Discipline.FIFO)
    assert starts(made) == {6: ("node-2",)}
    assert promises(made)[5] == frozenset()


def test_what_was_kept_for_a_task_that_must_wait_before_it_is_tried_again_is_open_to_those_before() -> None:
    """B3: task 2 has a node at once; task 3, which comes before task 5, has the one that was kept for that."""
    later = replace(ACROSS, not_before=NOW + for_minutes(1))
    made = decide(snapshot(GOING, waits(2), waits(3), later, nodes=ZONES[:3]))
    assert starts(made) == {2: ("c1",), 3: ("b1",)}
    assert promises(made) == {5: frozenset()}
    assert kinds(made) == {5: VerdictKind.RETRY}


def test_who_starts_elsewhere_leaves_the_nodes_that_were_kept_for_it_to_those_before() -> None:
    """B3. Task 3 may not use node-3 (F3), and waits for node-1 that task 5 does not need any more."""
    going = leaving(runs(1, "node-1", level=LOW), 5)
    promised = waits(5, 2, promise=frozenset({"node-1", "node-2"}))
    made = decide(snapshot(going, promised, waits(3, avoid=frozenset({"node-3"})), nodes=3))
    assert starts(made) == {5: ("node-2", "node-3")}
    assert promises(made) == {3: frozenset({"node-1"})}


def test_what_a_gang_leaves_beyond_the_need_goes_to_the_one_that_could_not_ask_for_it() -> None:
    """P3: the gang of ann does not leave for her task 2, but leaves two nodes for bob's task 3, who needs one."""
    gang = runs(1, "node-1", "node-2", user="ann")
    shot = snapshot(gang, waits(2, user="ann"), waits(3, user="bob"), nodes=2, uses=BOB_LAST)
    made = decide(shot)
    assert suspends(made) == {1: 3}
    assert kinds(made) == {2: VerdictKind.DRAINING, 3: VerdictKind.DRAINING}


def test_another_user_may_have_the_right_to_span_zones_that_an_own_gang_keeps() -> None:
    """P3, F2: ann's gang does not leave for her task 3. It does for bob's, which needs no node of it but its right."""
    nodes = tuple(a_node(f"{zone}1", zone=zone) for zone in "abcdef")
    nodes = tuple(replace(node, mark=NodeMark.CORDONED) if node.name in {"a1", "b1"} else node for node in nodes)
    own, other = runs(1, "a1", "b1", user="ann"), runs(2, "c1", "d1", level=HIGH)
    shot = snapshot(own, other, waits(3, 2, user="ann"), waits(4, 2, user="bob"), nodes=nodes, uses=BOB_LAST)
    made = decide(shot, Policy(max_cross_zone=2))
    assert suspends(made) == {1: 4}
    assert promises(made) == {4: frozenset({"e1", "f1"})}


# -- the head and its quota ---------------------------------------------------------------------------

#: Three nodes are kept for task 3 until the turn on node-1 is over; it may not use node-4 (F3).
HELD = runs(1, "node-1", minutes=20)
HEAD = waits(3, 3, user="ann", avoid=frozenset({"node-4"}))
ANN_3 = (*EVERYBODY, a_quota("user:ann", limit=3))


def test_nothing_is_kept_for_a_head_whose_quota_another_task_has_taken() -> None:
    """B1, Q1: ann's task 4 starts beside the kept nodes. Her head is over its limit then, and keeps no node from 5."""
    made = decide(snapshot(HELD, HEAD, waits(4, user="ann"), waits(5), nodes=4, quotas=ANN_3))
    assert starts(made).keys() == {4, 5}
    assert kinds(made) == {3: VerdictKind.QUOTA}


def test_those_before_who_had_to_leave_nodes_to_the_head_get_them_when_it_has_lost_its_quota() -> None:
    """Task 4 of another user is looked at before ann's task 5 takes node-4, and again after it."""
    other = waits(4, avoid=frozenset({"node-4"}))
    made = decide(snapshot(HELD, HEAD, other, waits(5, user="ann"), nodes=4, quotas=ANN_3))
    assert starts(made).keys() == {4, 5}


def test_no_task_leaves_for_one_that_may_have_the_nodes_of_a_head_without_quota() -> None:
    """P4: ann's task 4 takes the quota of her head, which keeps no node then; so the task on node-4 is not needed."""
    low = runs(2, "node-4", level=LOW)
    made = decide(snapshot(HELD, low, HEAD, waits(4, user="ann"), waits(5), nodes=4, quotas=ANN_3))
    assert suspends(made) == {}
    assert starts(made).keys() == {4, 5}


def test_those_before_it_get_nodes_as_well_where_it_takes_the_quota_of_the_head() -> None:
    """Task 4 of another user had to leave the nodes to the head. The walk begins again, and nobody has to leave."""
    low = runs(2, "node-4", level=LOW)
    other = waits(4, avoid=frozenset({"node-4"}))
    made = decide(snapshot(HELD, low, HEAD, other, waits(5, user="ann"), nodes=4, quotas=ANN_3))
    assert suspends(made) == {}
    assert starts(made).keys() == {4, 5}


def test_nothing_is_kept_for_a_head_whose_quota_is_set_aside_with_nodes_that_are_being_freed() -> None:
    """B3: the task on node-4 leaves anyway, and the node is promised to ann's task 4 with her quota."""
    going = leaving(runs(2, "node-4", level=LOW), None)
    made = decide(snapshot(HELD, going, HEAD, waits(4, user="ann"), waits(5), nodes=4, quotas=ANN_3))
    assert starts(made).keys() == {4, 5}
    assert kinds(made) == {3: VerdictKind.QUOTA}


def test_of_those_who_leave_for_a_task_that_takes_the_quota_of_the_head_none_is_let_go_for_nothing() -> None:
    """P4: with the two free nodes that were kept for the head, one of the three has to leave."""
    low = [runs(number, f"node-{number}", level=LOW) for number in (4, 5, 6)]
    head = waits(7, 3, user="ann", avoid=frozenset({"node-4", "node-5", "node-6"}))
    made = decide(snapshot(HELD, *low, head, waits(8, 3, user="ann"), nodes=6, quotas=ANN_3))
    assert list(suspends(made).values()) == [8]
    assert len(promises(made)[8] & {"node-2", "node-3"}) == 2
    assert kinds(made) == {7: VerdictKind.QUOTA, 8: VerdictKind.DRAINING}


# -- AUTO tasks that fall (Q4) ------------------------------------------------------------------------


def ann_and_bob(*, ann: int = 1) -> tuple[object, ...]:
    """Ann may hold that many nodes at NORMAL and as many at LOW; bob has no limit at NORMAL."""
    rows = [a_quota("user:ann", priority=level, limit=ann) for level in (NORMAL, LOW)]
    return (*rows, a_quota("user:bob", priority=NORMAL, limit=None))


def auto(id: int) -> Task:  # noqa: A002
    """An AUTO task of ann."""
    return waits(id, user="ann", priority=None)


def test_those_behind_an_auto_task_that_falls_go_before_it() -> None:
    """Q4: ann's second task falls to LOW where her first one has used her quota; bob's is NORMAL, and starts."""
    made = decide(snapshot(auto(1), auto(2), waits(3, user="bob"), nodes=2, quotas=ann_and_bob()))
    assert starts(made).keys() == {1, 3}
    assert made.verdicts[2].priority is LOW


def test_auto_tasks_that_the_walk_has_not_reached_fall_as_well() -> None:
    """Bob's task finds no node, and so none is tried after it. Ann's quota at NORMAL is used up all the same."""
    made = decide(snapshot(auto(1), waits(2, user="bob"), auto(3), auto(4), nodes=1, quotas=ann_and_bob()))
    assert starts(made).keys() == {1}
    assert {number: made.verdicts[number].priority for number in (2, 3, 4)} == {2: NORMAL, 3: LOW, 4: LOW}


# -- what it costs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "more", "examined"),
    [
        ("one more task that starts", waits(8), 1),
        ("one more task that waits for another quota", waits(8, user="nobody"), 1),
        ("a task at another priority", waits(8, priority=Priority.LOW), 1),
        ("a task that is held", waits(8, held=True), 0),
    ],
)
def test_the_work_of_a_plan_counts_each_task_that_is_examined(sentence: str, more: Task, examined: int) -> None:
    quotas = (*EVERYBODY, a_quota("user:nobody", limit=0))
    before = decide(snapshot(waits(1), waits(2), nodes=9, quotas=quotas)).work
    assert before == 2
    assert decide(snapshot(waits(1), waits(2), more, nodes=9, quotas=quotas)).work - before == examined, sentence
