"""Plans as tables: each case a sentence, with the rule that it proves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from builders import T0, a_checkpoint, a_node, a_notice, a_quota, a_run, a_task, at, some_nodes
from hai_scheduler.core.model import Node, NodeMark, Priority, Quota, Task, TaskState
from hai_scheduler.core.plan import Plan, Start, Stop, Suspend, plan
from hai_scheduler.core.policy import Policy
from hai_scheduler.core.reasons import Reason
from hai_scheduler.core.snapshot import Snapshot
from hai_scheduler.core.verdicts import VerdictKind

EVERYBODY = tuple(a_quota("public", priority=level, limit=None) for level in Priority)
NOW = at(hours=10)
KEPT = frozenset({"node-1", "node-2", "node-3"})


def snapshot(
    *tasks: Task, nodes: int | tuple[Node, ...] = 4, quotas: tuple[Quota, ...] = EVERYBODY, **more: Any
) -> Snapshot:
    made = some_nodes(nodes) if isinstance(nodes, int) else nodes
    shot = Snapshot(**{"now": NOW, "nodes": made, "tasks": tasks, "quotas": quotas, **more})
    shot.check()
    return shot


def runs(id: int, *names: str, minutes: float = 60, **fields: Any) -> Task:  # noqa: A002
    """A task that has been running for that long on those nodes, for a user of its own."""
    priority = fields.pop("level", Priority.NORMAL)
    begun = NOW - timedelta(minutes=minutes)
    run = a_run(id, nodes=names, started_at=begun, priority=priority, **fields.pop("run", {}))
    fields = {"user": f"user{id}", "priority": priority, **fields}
    return a_task(id, state=TaskState.RUNNING, nodes=len(names), run=run, **fields)


def waits(id: int, nodes: int = 1, **fields: Any) -> Task:  # noqa: A002
    return a_task(id, nodes=nodes, **{"user": f"user{id}", "submitted_at": at(id), **fields})


def leaving(task: Task, beneficiary: int | None, reason: Reason = Reason.PREEMPTED) -> Task:
    assert task.run is not None
    notice = a_notice(reason, at=NOW, beneficiary=beneficiary)
    return replace(task, state=TaskState.SUSPENDING, run=replace(task.run, notice=notice))


def starts(made: Plan) -> dict[int, tuple[str, ...]]:
    return {d.task_id: d.nodes for d in made.decisions if isinstance(d, Start)}


def suspends(made: Plan) -> dict[int, int | None]:
    return {d.task_id: d.beneficiary for d in made.decisions if isinstance(d, Suspend)}


def decide(shot: Snapshot) -> Plan:
    return plan(shot, Policy())


def test_u1_a_gang_starts_on_all_its_nodes_or_not_at_all() -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=1), waits(2, 4), waits(3, 3)))
    assert starts(made) == {3: ("node-2", "node-3", "node-4")}
    assert made.verdicts[2].kind is VerdictKind.TURN


def test_u3_groups_do_not_mix() -> None:
    nodes = (a_node("a", group="training"), a_node("b", group="jupyter"))
    made = decide(
        snapshot(
            waits(1, 2),
            waits(2, 1, group="jupyter"),
            nodes=nodes,
            quotas=(*EVERYBODY, a_quota("public", group="jupyter")),
        )
    )
    assert starts(made) == {2: ("b",)}
    assert made.verdicts[1].data["cause"] == "group"


def test_o1_higher_priority_goes_first_then_first_submission() -> None:
    made = decide(snapshot(waits(1, 2), waits(2, 2, priority=Priority.HIGH), waits(3, 2), nodes=4))
    assert list(starts(made)) == [2, 1]
    assert made.verdicts[3].position == 3


def test_a_users_own_order_deals_out_his_own_places_only() -> None:
    tasks = (
        waits(1, 4, user="ann", custom_rank=1.0),
        waits(2, 4, user="bob"),
        waits(3, 4, user="ann", custom_rank=0.0),
    )
    made = decide(snapshot(*tasks, nodes=4))
    assert list(starts(made)) == [3], "ann's third takes the place of her first"
    assert made.verdicts[2].position == 2
    assert made.verdicts[1].position == 3


def test_q1_the_users_row_wins_over_his_groups_which_win_over_public() -> None:
    quotas = (
        a_quota("public", limit=1),
        a_quota("group:lab", limit=2),
        a_quota("group:all", limit=3),
        a_quota("user:ann", limit=0),
    )
    groups = {"ann": frozenset({"lab"}), "bob": frozenset({"lab", "all"}), "cy": frozenset[str]()}
    tasks = (waits(1, 1, user="ann"), waits(2, 3, user="bob"), waits(3, 2, user="cy"), waits(4, 1, user="cy"))
    made = decide(snapshot(*tasks, nodes=8, quotas=quotas, groups_of=groups))
    assert set(starts(made)) == {2, 4}
    assert made.verdicts[1].kind is VerdictKind.NEVER
    assert made.verdicts[3].data["cap"] == 1


def test_q1_no_row_means_none() -> None:
    made = decide(snapshot(waits(1), quotas=()))
    assert (made.verdicts[1].kind, made.verdicts[1].data["cause"]) == (VerdictKind.NEVER, "none")


def test_q4_auto_takes_the_highest_level_that_still_has_quota() -> None:
    quotas = (a_quota("public", priority=Priority.HIGH, limit=2), a_quota("public", priority=Priority.NORMAL, limit=9))
    tasks = [waits(n, 1, user="ann", priority=None) for n in (1, 2, 3)]
    made = decide(snapshot(*tasks, nodes=4, quotas=quotas))
    levels = {d.task_id: d.priority for d in made.decisions if isinstance(d, Start)}
    assert levels == {1: Priority.HIGH, 2: Priority.HIGH, 3: Priority.NORMAL}


def test_q6_running_tasks_hold_their_quota_first() -> None:
    running = runs(1, "node-1", "node-2", user="ann")
    made = decide(snapshot(running, waits(2, 1, user="ann"), quotas=(a_quota("public", limit=2),)))
    verdict = made.verdicts[2]
    assert (verdict.kind, verdict.data["used"], verdict.data["limit"]) == (VerdictKind.QUOTA, 2, 2)


def test_p1_a_higher_task_has_a_lower_one_suspended_at_any_time() -> None:
    made = decide(
        snapshot(
            runs(1, "node-1", "node-2", minutes=1),
            runs(2, "node-3", "node-4", minutes=1),
            waits(3, 2, priority=Priority.VERY_HIGH),
        )
    )
    assert suspends(made) in ({1: 3}, {2: 3})
    assert made.verdicts[3].kind is VerdictKind.DRAINING


@pytest.mark.parametrize(
    ("sentence", "minutes", "user", "told"),
    [
        ("P2: not before the slice is over", 29.9, "ann", False),
        ("P2: from the slice on", 30, "ann", True),
        ("P3: never for a task of the same user", 600, "user1", False),
    ],
)
def test_turns_among_equals(sentence: str, minutes: float, user: str, told: bool) -> None:
    made = decide(snapshot(runs(1, "node-1", minutes=minutes), waits(2, user=user), nodes=1))
    assert bool(suspends(made)) is told, sentence
    if user == "ann" and not told:
        assert made.verdicts[2].kind is VerdictKind.TURN
        assert made.verdicts[2].earliest_start == NOW + timedelta(minutes=30 - minutes)


HARM: list[tuple[str, Task, Task]] = [
    # sentence, the victim, the one who stays
    ("the lower priority first", runs(1, "node-1", level=Priority.LOW, minutes=300), runs(2, "node-2", minutes=1)),
    (
        "then the one that loses less work",
        runs(2, "node-2", minutes=300, run={"checkpoint": a_checkpoint(at=NOW - timedelta(minutes=1))}),
        runs(1, "node-1", minutes=2),
    ),
    ("then the one that started later", runs(2, "node-2", minutes=5), runs(1, "node-1", minutes=50)),
    ("then the smaller id", runs(1, "node-2", minutes=5), runs(2, "node-1", minutes=5)),
]


@pytest.mark.parametrize(("victim", "stays"), [row[1:] for row in HARM], ids=[row[0] for row in HARM])
def test_p4_victims_are_chosen_to_do_least_harm(victim: Task, stays: Task) -> None:
    urgent = waits(9, 1, priority=Priority.VERY_HIGH)
    assert suspends(decide(snapshot(stays, victim, urgent, nodes=2))) == {victim.id: 9}


def test_p4_nobody_is_suspended_for_nothing() -> None:
    small, large = runs(1, "node-1", minutes=1), runs(2, "node-2", "node-3", minutes=2)
    made = decide(snapshot(small, large, waits(3, 2, priority=Priority.HIGH), nodes=3))
    assert suspends(made) == {2: 3}, "the small one was taken first and let off again"


def test_p4_nobody_is_suspended_unless_the_beneficiary_then_starts() -> None:
    made = decide(
        snapshot(
            runs(1, "node-1", level=Priority.LOW),
            runs(2, "node-2", level=Priority.EXTREME_HIGH),
            waits(3, 2, priority=Priority.HIGH),
            nodes=2,
        )
    )
    assert made.decisions == ()
    assert made.verdicts[3].kind is VerdictKind.CAPACITY


def test_b3_nodes_being_freed_are_promised() -> None:
    victim = leaving(runs(1, "node-1", "node-2"), beneficiary=3)
    made = decide(snapshot(victim, waits(2, 1), waits(3, 3, priority=Priority.HIGH, promise=KEPT), nodes=3))
    assert made.decisions == (), "the free node is kept for task 3 as well"
    assert made.verdicts[3].kind is VerdictKind.DRAINING
    assert made.verdicts[3].earliest_start == NOW + timedelta(seconds=120)
    assert made.verdicts[2].kind in (VerdictKind.CAPACITY, VerdictKind.TURN)


def test_b3_a_promise_ends_with_its_task() -> None:
    victim = leaving(runs(1, "node-1", "node-2"), beneficiary=3)
    made = decide(snapshot(victim, waits(2, 1), waits(3, 3, held=True, promise=KEPT), nodes=3))
    assert starts(made) == {2: ("node-3",)}


def test_b3_a_higher_task_may_take_promised_nodes_over() -> None:
    victim = leaving(runs(1, "node-1"), beneficiary=2)
    urgent = waits(3, 1, priority=Priority.EXTREME_HIGH)
    made = decide(snapshot(victim, waits(2, 1, priority=Priority.HIGH, promise=KEPT), urgent, nodes=1))
    assert made.verdicts[3].kind is VerdictKind.DRAINING
    assert made.verdicts[2].kind is VerdictKind.CAPACITY


def test_b3_quota_is_set_aside_with_the_nodes() -> None:
    victim = leaving(runs(1, "node-1", "node-2"), beneficiary=3)
    ann = {"user": "ann", "priority": Priority.HIGH}
    tasks = (victim, waits(2, 1, **ann, custom_rank=0.0), waits(3, 2, **ann, custom_rank=1.0, promise=KEPT))
    quotas = (a_quota("public", priority=Priority.HIGH, limit=2), a_quota("public"))
    made = decide(snapshot(*tasks, nodes=3, quotas=quotas))
    assert starts(made) == {}, "else task 1 would have been suspended for nothing"
    assert made.verdicts[2].kind is VerdictKind.QUOTA


def test_b4_a_node_belongs_to_its_run_until_it_is_gone() -> None:
    made = decide(snapshot(leaving(runs(1, "node-1"), beneficiary=2), waits(2, priority=Priority.HIGH), nodes=1))
    assert starts(made) == {}


@pytest.mark.parametrize(
    ("sentence", "node"),
    [
        ("cordoned", a_node("node-1", mark=NodeMark.CORDONED)),
        ("draining", a_node("node-1", mark=NodeMark.DRAINING)),
        ("not ready", a_node("node-1", ready=False)),
    ],
)
def test_f3_never_on_unfit_nodes(sentence: str, node: Node) -> None:
    made = decide(snapshot(waits(1), nodes=(node,)))
    assert starts(made) == {}, sentence
    assert made.verdicts[1].kind is VerdictKind.CAPACITY


def test_f3_never_on_nodes_the_task_was_unlucky_on() -> None:
    made = decide(snapshot(waits(1, avoid=frozenset({"node-1"})), nodes=2))
    assert starts(made) == {1: ("node-2",)}


def test_f3_nobody_is_suspended_on_nodes_that_do_not_help() -> None:
    made = decide(snapshot(runs(1, "node-1"), waits(2, priority=Priority.HIGH, avoid=frozenset({"node-1"})), nodes=1))
    assert suspends(made) == {}


def test_draining_asks_the_runs_on_a_node_to_leave() -> None:
    nodes = (a_node("node-1", mark=NodeMark.DRAINING), a_node("node-2"))
    made = decide(snapshot(runs(1, "node-1"), runs(2, "node-2"), nodes=nodes))
    assert made.decisions == (Suspend(task_id=1, reason=Reason.DRAINED),)


def test_a_pause_asks_everybody_to_leave_and_starts_nothing() -> None:
    made = decide(snapshot(runs(1, "node-1"), waits(2), paused=True))
    assert made.decisions == (Suspend(task_id=1, reason=Reason.PAUSED),)
    assert made.verdicts[2].kind is VerdictKind.PAUSED


def test_a_pause_shortens_a_longer_notice_once() -> None:
    going = leaving(runs(1, "node-1"), None)
    grace = timedelta(seconds=20)
    assert suspends(decide(snapshot(going, paused=True, pause_grace=grace))) == {1: None}
    assert going.run is not None
    assert going.run.notice is not None
    shortened = replace(going.run, notice=replace(going.run.notice, deadline=NOW + grace))
    assert decide(snapshot(replace(going, run=shortened), paused=True, pause_grace=grace)).decisions == ()


def test_a_task_over_its_time_limit_is_stopped() -> None:
    limits = {"time_limit": timedelta(minutes=90), "served": timedelta(minutes=31)}
    made = decide(snapshot(runs(1, "node-1", **limits), runs(2, "node-2", time_limit=timedelta(minutes=61))))
    assert made.decisions == (Stop(task_id=1, reason=Reason.TIME_LIMIT),)


def test_a_held_task_waits_for_its_owner_and_stands_in_nobodys_way() -> None:
    made = decide(snapshot(waits(1, 1, held=True), waits(2, 1), nodes=1))
    assert starts(made) == {2: ("node-1",)}
    assert (made.verdicts[1].kind, made.verdicts[1].position) == (VerdictKind.HELD, None)


def test_turns_rotate_through_three_equals() -> None:
    """A task that had its full turn goes behind its equals, so nobody starves (docs/scheduling.md, O3)."""
    had_turn = replace(
        waits(1), place=NOW - timedelta(minutes=30), state=TaskState.SUSPENDED, run=a_run(1, ended_at=NOW)
    )
    made = decide(snapshot(had_turn, runs(2, "node-1", minutes=31, user="bob"), waits(3), nodes=1))
    assert suspends(made) == {2: 3}
    assert made.verdicts[1].position == 2


def test_t0_is_in_the_past_of_every_case() -> None:
    assert T0 < NOW


def test_b3_a_promise_outlives_the_victim_until_its_task_starts() -> None:
    """An earlier equal that now would fit does not get the nodes: the victim left for task 3."""
    tasks = (waits(1, 2, user="ann"), waits(3, 2, promise=frozenset({"node-1", "node-2"})))
    made = decide(snapshot(*tasks, nodes=2))
    assert starts(made) == {3: ("node-1", "node-2")}


def test_b3_a_promise_that_cannot_be_kept_whole_lapses() -> None:
    cordoned = a_node("node-2", mark=NodeMark.CORDONED)
    tasks = (waits(1, 2, promise=frozenset({"node-1", "node-2"})), waits(3, 1))
    made = decide(snapshot(*tasks, nodes=(a_node("node-1"), cordoned)))
    assert starts(made) == {3: ("node-1",)}


def came_back(beneficiary: int) -> Task:
    """An AUTO task that ran at LOW, left for that task and could now run at HIGH."""
    notice = a_notice(Reason.PREEMPTED, at=NOW, beneficiary=beneficiary)
    run = a_run(1, nodes=("node-1",), priority=Priority.LOW, ended_at=NOW, notice=notice)
    return a_task(1, user="ann", priority=None, state=TaskState.SUSPENDED, run=run)


def test_p5_a_victim_does_not_take_the_promised_nodes_back() -> None:
    made = decide(snapshot(came_back(2), waits(2, promise=frozenset({"node-1"})), nodes=1))
    assert starts(made) == {2: ("node-1",)}


@pytest.mark.parametrize(("minutes", "told"), [(14.9, False), (15, True)])
def test_p5_a_victim_may_suspend_its_beneficiary_only_after_min_run(minutes: float, told: bool) -> None:
    made = decide(snapshot(came_back(2), runs(2, "node-1", minutes=minutes), nodes=1))
    assert bool(suspends(made)) is told
