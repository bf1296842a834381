"""Who may hold how much (rules Q1 to Q6)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.decisions import Start
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.verdicts import VerdictKind
from kit.builders import a_quota, a_task
from unit.core.tables import (
    ABOVE,
    EVERYBODY,
    HIGH,
    LOW,
    NORMAL,
    NOW,
    decide,
    kinds,
    leaving,
    runs,
    shares,
    snapshot,
    starts,
    suspends,
    waits,
)

LAB = {"ann": frozenset({"lab"}), "bob": frozenset({"lab"}), "cy": frozenset[str]()}
QUOTA, NEVER = VerdictKind.QUOTA, VerdictKind.NEVER


# -- Q1: which row counts, and what is counted --------------------------------------------------------


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
    assert made.verdicts[1].kind is NEVER
    assert made.verdicts[3].data["cap"] == 1


def test_q1_no_row_means_none() -> None:
    made = decide(snapshot(waits(1), quotas=()))
    assert (made.verdicts[1].kind, made.verdicts[1].data["cause"]) == (NEVER, "none")


@pytest.mark.parametrize("row", [{"priority": HIGH}, {"group": "jupyter"}], ids=["another level", "another group"])
def test_q1_a_row_counts_for_its_level_and_its_node_group_alone(row: dict[str, object]) -> None:
    made = decide(snapshot(waits(1), quotas=(a_quota("public", **{"limit": None, **row}),)))
    assert kinds(made) == {1: NEVER}


@pytest.mark.parametrize(("limit", "begin"), [(3, 3), (2, 2), (1, 1), (0, 0)])
def test_q1_a_limit_is_reached_and_not_passed(limit: int, begin: int) -> None:
    made = decide(snapshot(*(waits(n, user="ann") for n in (1, 2, 3)), quotas=(a_quota("public", limit=limit),)))
    assert len(starts(made)) == begin
    assert set(kinds(made).values()) <= ({QUOTA} if limit else {NEVER})


@pytest.mark.parametrize(("gpus", "begins"), [(3, True), (4, True), (5, False)])
def test_q1_k_gpus_count_as_that_part_of_a_node(gpus: int, begins: bool) -> None:
    """A limit of one node of 8 GPUs, of which 4 are held."""
    held = shares(1, {"node-1": (0, 1, 2, 3)}, user="ann")
    made = decide(snapshot(held, waits(2, gpus=gpus, user="ann"), quotas=(a_quota("public", limit=1),)))
    assert (2 in starts(made)) is begins
    if not begins:
        assert made.verdicts[2].data["used"] == 0.5


def test_q1_thirds_of_a_node_add_up_without_rounding() -> None:
    tasks = (waits(n, gpus=1, user="ann") for n in range(1, 10))
    made = decide(snapshot(*tasks, nodes=2, quotas=(a_quota("public", limit=1),)))
    assert len(starts(made)) == 8
    assert kinds(made) == {9: QUOTA}


def test_q1_levels_are_counted_apart() -> None:
    quotas = (a_quota("public", limit=1), a_quota("public", priority=HIGH, limit=1))
    tasks = (waits(1, user="ann"), waits(2, user="ann", priority=HIGH), waits(3, user="ann"))
    made = decide(snapshot(*tasks, quotas=quotas))
    assert set(starts(made)) == {1, 2}
    assert kinds(made) == {3: QUOTA}


def test_q1_a_demoted_task_still_holds_the_quota_of_the_level_that_it_was_given() -> None:
    """O4 changes what it counts as among others, not what its user holds."""
    quotas = (a_quota("public", priority=ABOVE, limit=1), a_quota("public", limit=1))
    running = runs(1, "node-1", level=ABOVE, minutes=40, user="ann")
    tasks = (running, waits(2, user="ann", priority=ABOVE), waits(3, user="ann"))
    made = decide(snapshot(*tasks, quotas=quotas))
    assert set(starts(made)) == {3}
    assert kinds(made) == {2: QUOTA}


# -- Q2: caps of whole user groups --------------------------------------------------------------------

#: sentence, the total, who runs, who waits, whether it starts
TOTALS: list[tuple[str, tuple[Quota, ...], Task, Task, bool]] = [
    ("within the total", (a_quota("total:lab", limit=3),), runs(1, "node-1", "node-2", user="ann"), waits(2), True),
    (
        "the total is reached by another member",
        (a_quota("total:lab", limit=2),),
        runs(1, "node-1", "node-2", user="ann"),
        waits(2),
        False,
    ),
    (
        "who is no member is not counted, nor bound",
        (a_quota("total:lab", limit=2),),
        runs(1, "node-1", "node-2", user="ann"),
        waits(2, user="cy"),
        True,
    ),
    (
        "what others hold is not counted",
        (a_quota("total:lab", limit=1),),
        runs(1, "node-1", "node-2", user="cy"),
        waits(2),
        True,
    ),
    (
        "another level is not counted",
        (a_quota("total:lab", limit=1),),
        runs(1, "node-1", user="ann", level=HIGH),
        waits(2),
        True,
    ),
    ("a total without a limit", (a_quota("total:lab", limit=None),), runs(1, "node-1", user="ann"), waits(2), True),
    (
        "a total does not give what the user's own row does not",
        (a_quota("total:lab", limit=9), a_quota("user:bob", limit=0)),
        runs(1, "node-1", user="ann"),
        waits(2),
        False,
    ),
    (
        "an own row does not lift the total",
        (a_quota("total:lab", limit=2), a_quota("user:bob", limit=9)),
        runs(1, "node-1", "node-2", user="ann"),
        waits(2),
        False,
    ),
]


@pytest.mark.parametrize(("rows", "there", "task", "begins"), [r[1:] for r in TOTALS], ids=[r[0] for r in TOTALS])
def test_q2_a_group_may_have_a_cap_over_all_its_members(
    rows: tuple[Quota, ...], there: Task, task: Task, begins: bool
) -> None:
    if task.user == "user2":
        task = waits(2, user="bob")
    made = decide(snapshot(there, task, quotas=(*EVERYBODY, *rows), groups_of=LAB))
    assert (2 in starts(made)) is begins


def test_q2_members_who_start_together_share_the_total_in_the_order_of_the_queue() -> None:
    quotas = (*EVERYBODY, a_quota("total:lab", limit=3))
    tasks = (waits(1, 2, user="ann"), waits(2, 2, user="bob"), waits(3, 1, user="bob"))
    made = decide(snapshot(*tasks, nodes=8, quotas=quotas, groups_of=LAB))
    assert set(starts(made)) == {1, 3}
    verdict = made.verdicts[2]
    assert (verdict.kind, verdict.data["subject"], verdict.data["used"]) == (QUOTA, "total:lab", 3)


def test_q2_a_task_larger_than_the_total_never_starts() -> None:
    made = decide(snapshot(waits(1, 3, user="ann"), quotas=(*EVERYBODY, a_quota("total:lab", limit=2)), groups_of=LAB))
    assert (made.verdicts[1].kind, made.verdicts[1].data["cause"]) == (NEVER, "total:lab")


def test_q2_who_is_in_two_groups_is_bound_by_both() -> None:
    groups = {"ann": frozenset({"lab", "all"})}
    quotas = (*EVERYBODY, a_quota("total:lab", limit=4), a_quota("total:all", limit=1))
    made = decide(snapshot(waits(1, user="ann"), waits(2, user="ann"), quotas=quotas, groups_of=groups))
    assert set(starts(made)) == {1}
    assert made.verdicts[2].data["subject"] == "total:all"


# -- Q3: rows that expire -----------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "counts"), [(1, True), (0, False), (-1, False)])
def test_q3_a_row_counts_until_it_expires(seconds: int, counts: bool) -> None:
    more = a_quota("user:ann", limit=2, expires_at=NOW + timedelta(seconds=seconds))
    made = decide(snapshot(waits(1, 2, user="ann"), quotas=(a_quota("public", limit=1), more)))
    assert (1 in starts(made)) is counts


def test_q3_when_the_own_row_expires_the_next_best_counts() -> None:
    over = a_quota("user:ann", limit=0, expires_at=NOW)
    made = decide(snapshot(waits(1, 2, user="ann"), quotas=(over, a_quota("group:lab", limit=2)), groups_of=LAB))
    assert set(starts(made)) == {1}


def test_q3_an_expired_total_binds_nobody() -> None:
    quotas = (*EVERYBODY, a_quota("total:lab", limit=0, expires_at=NOW))
    assert set(starts(decide(snapshot(waits(1, user="ann"), quotas=quotas, groups_of=LAB)))) == {1}


def test_q3_a_running_task_is_not_told_to_leave_when_its_row_expires() -> None:
    quotas = (a_quota("user:ann", limit=2, expires_at=NOW),)
    assert decide(snapshot(runs(1, "node-1", "node-2", user="ann"), quotas=quotas)).decisions == ()


def test_q3_the_plan_looks_again_when_a_row_expires() -> None:
    soon = NOW + timedelta(seconds=90)
    quotas = (a_quota("public", limit=0), a_quota("group:none", limit=1, expires_at=soon))
    assert decide(snapshot(waits(1), quotas=quotas)).look_again == soon


# -- Q4: AUTO -----------------------------------------------------------------------------------------


def levels(*tasks: Task, quotas: tuple[Quota, ...], **more: object) -> dict[int, Priority]:
    made = decide(snapshot(*tasks, quotas=quotas, **more))
    begun = {d.task_id: d.priority for d in made.decisions if isinstance(d, Start)}
    return begun | {task_id: verdict.priority for task_id, verdict in made.verdicts.items()}


def test_q4_auto_takes_the_highest_level_that_still_has_quota() -> None:
    quotas = (a_quota("public", priority=HIGH, limit=2), a_quota("public", limit=9))
    tasks = [waits(n, 1, user="ann", priority=None) for n in (1, 2, 3)]
    assert levels(*tasks, quotas=quotas) == {1: HIGH, 2: HIGH, 3: NORMAL}


def test_q4_auto_takes_a_lower_level_when_a_running_task_holds_the_higher_one() -> None:
    quotas = (a_quota("public", priority=HIGH, limit=2), a_quota("public", limit=9))
    running = runs(1, "node-1", user="ann", level=HIGH)
    assert levels(running, waits(2, 2, user="ann", priority=None), quotas=quotas)[2] is NORMAL
    assert levels(running, waits(2, 1, user="ann", priority=None), quotas=quotas)[2] is HIGH


def test_q4_auto_looks_at_totals_as_well() -> None:
    quotas = (*EVERYBODY, *(a_quota("total:lab", priority=one, limit=0) for one in Priority if one > NORMAL))
    assert levels(waits(1, user="ann", priority=None), quotas=quotas, groups_of=LAB)[1] is NORMAL


def test_q4_auto_without_quota_anywhere_waits_at_the_best_level_that_could_ever_hold_it() -> None:
    quotas = (
        a_quota("public", priority=HIGH, limit=1),
        a_quota("public", limit=2),
        a_quota("public", priority=LOW, limit=2),
    )
    there = (runs(1, "node-1", "node-2", user="ann"), runs(2, "node-3", "node-4", user="ann", level=LOW))
    made = decide(snapshot(*there, waits(3, 2, user="ann", priority=None), nodes=6, quotas=quotas))
    assert (made.verdicts[3].kind, made.verdicts[3].priority) == (QUOTA, NORMAL)


def test_q4_auto_that_no_level_could_ever_hold_is_never() -> None:
    made = decide(snapshot(waits(1, 5, priority=None), nodes=8, quotas=(a_quota("public", limit=4),)))
    assert (made.verdicts[1].kind, made.verdicts[1].priority) == (NEVER, LOW)


def test_q4_auto_is_judged_again_while_it_waits_and_not_while_it_runs() -> None:
    quotas = (a_quota("public", priority=HIGH, limit=1), a_quota("public", limit=9))
    running = runs(1, "node-1", user="ann", priority=None, level=NORMAL)
    made = decide(snapshot(running, waits(2, user="ann", priority=None), quotas=quotas))
    assert [d.priority for d in made.decisions if isinstance(d, Start)] == [HIGH], "task 1 holds NORMAL, not HIGH"


def test_q4_auto_keeps_the_level_for_which_others_were_told_to_leave() -> None:
    """Quota is set aside for it, so that no task has left for nothing."""
    quotas = (a_quota("public", priority=HIGH, limit=1), a_quota("public", limit=9))
    promised = waits(2, user="ann", priority=None, promise=frozenset({"node-1"}))
    first = waits(1, user="ann", priority=None)
    made = decide(snapshot(leaving(runs(3, "node-1", level=NORMAL), 2), first, promised, nodes=1, quotas=quotas))
    assert (made.verdicts[2].kind, made.verdicts[2].priority) == (VerdictKind.DRAINING, HIGH)
    assert made.verdicts[1].priority is NORMAL


# -- Q5: never ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "nodes", "quotas", "cause"),
    [
        ("larger than the group", 5, EVERYBODY, "group"),
        ("larger than the cap", 3, (a_quota("public", limit=2),), "public"),
        ("larger than the cap of the user's own row", 2, (*EVERYBODY, a_quota("user:user1", limit=1)), "user:user1"),
        ("without any row", 1, (), "none"),
    ],
)
def test_q5_what_can_never_fit_says_so(sentence: str, nodes: int, quotas: tuple[Quota, ...], cause: str) -> None:
    made = decide(snapshot(waits(1, nodes), quotas=quotas))
    assert (made.verdicts[1].kind, made.verdicts[1].data["cause"]) == (NEVER, cause), sentence


@pytest.mark.parametrize(("nodes", "kind"), [(4, VerdictKind.TURN), (5, NEVER)])
def test_q5_a_full_group_is_not_never(nodes: int, kind: VerdictKind) -> None:
    made = decide(snapshot(*(runs(n, f"node-{n}", minutes=1) for n in range(1, 5)), waits(9, nodes)))
    assert kinds(made) == {9: kind}


def test_q5_who_can_never_start_stands_in_nobodys_way() -> None:
    made = decide(snapshot(waits(1, 9, priority=HIGH), waits(2, 4), nodes=4))
    assert set(starts(made)) == {2}


# -- Q6: who holds first ------------------------------------------------------------------------------


def test_q6_running_tasks_hold_their_quota_first() -> None:
    running = runs(1, "node-1", "node-2", user="ann")
    made = decide(snapshot(running, waits(2, 1, user="ann"), quotas=(a_quota("public", limit=2),)))
    verdict = made.verdicts[2]
    assert (verdict.kind, verdict.data["used"], verdict.data["limit"]) == (QUOTA, 2, 2)


def test_q6_a_task_that_is_leaving_holds_its_quota_until_it_has_left() -> None:
    going = leaving(runs(1, "node-1", user="ann"), None)
    made = decide(snapshot(going, waits(2, user="ann"), quotas=(a_quota("public", limit=1),)))
    assert kinds(made) == {2: QUOTA}


def test_q6_quota_goes_round_in_the_order_of_the_queue_past_those_that_do_not_fit() -> None:
    tasks = (waits(1, 2, user="ann"), waits(2, 2, user="ann"), waits(3, 1, user="ann"))
    made = decide(snapshot(*tasks, nodes=8, quotas=(a_quota("public", limit=3),)))
    assert set(starts(made)) == {1, 3}
    assert kinds(made) == {2: QUOTA}


def test_q6_nobody_is_suspended_for_a_task_without_quota() -> None:
    quotas = (a_quota("public", priority=HIGH, limit=1), a_quota("public", limit=None))
    there = (runs(1, "node-1", user="ann", level=HIGH), runs(2, "node-2"))
    made = decide(snapshot(*there, waits(3, user="ann", priority=HIGH), nodes=2, quotas=quotas))
    assert suspends(made) == {}
    assert kinds(made) == {3: QUOTA}


def test_q6_a_task_whose_ranks_are_being_started_holds_quota() -> None:
    starting = a_task(1, state=TaskState.STARTING, user="ann")
    made = decide(snapshot(starting, waits(2, user="ann"), quotas=(a_quota("public", limit=1),)))
    assert kinds(made) == {2: QUOTA}
