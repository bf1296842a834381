"""Properties of every plan, on clusters and queues that Hypothesis makes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from random import Random
from unittest.mock import patch

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hai_scheduler.core.model.decisions import Keep, Plan, Start, Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import VerdictKind, Verdicts
from hai_scheduler.core.ordering import positions
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.quota import QuotaAccounts, QuotaTable
from hai_scheduler.core.ordering.turns import protected_until
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.core.planning.plan_cache import PlanCache
from kit.snapshots import NOW, USERS, carried_out, emptied, random_snapshot, snapshots
from unit.core.tables import turn_of

POLICY = Policy()
INSTANT, HOUR = timedelta(microseconds=1), timedelta(hours=1)
ROOM = {VerdictKind.TURN, VerdictKind.CAPACITY, VerdictKind.RESERVED, VerdictKind.TOPOLOGY}
#: More of them with, for example, HAI_EXAMPLES=20.
MORE = int(os.environ.get("HAI_EXAMPLES", "1"))
FEW = settings(max_examples=100 * MORE, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
SOME = settings(max_examples=300 * MORE, deadline=None)


def starts(made: Plan) -> list[Start]:
    return [decision for decision in made.decisions if isinstance(decision, Start)]


def told(made: Plan) -> list[Suspend]:
    return [decision for decision in made.decisions if isinstance(decision, Suspend) and decision.beneficiary]


def too_few_others(task: Task, shot: Snapshot) -> bool:
    """Whether too few nodes are left without those that the task avoids (F3)."""
    fit = (node for node in shot.nodes if node.group == task.group and node.schedulable)
    return sum(node.holds(task.gpus) and node.name not in task.avoid for node in fit) < task.nodes


@given(snapshots())
@SOME
def test_gangs_are_whole_and_no_gpu_is_given_twice(shot: Snapshot) -> None:
    made = plan(shot, POLICY)
    tasks = {task.id: task for task in shot.tasks}
    by_name = {node.name: node for node in shot.nodes}
    for start in starts(made):
        task = tasks[start.task_id]
        assert len(set(start.nodes)) == task.nodes
        assert all(by_name[name].schedulable for name in start.nodes)
        assert not task.avoid.intersection(start.nodes) or too_few_others(task, shot)
        assert [len(gpus) for gpus in start.gpus] == [task.gpus] * (task.nodes if task.gpus else 0)
    after = carried_out(shot, made)  # its check refuses a GPU held twice, and a whole node that is shared
    begun = {name for start in starts(made) for name in start.nodes}
    for node in (node for node in after.nodes if node.name in begun):
        assert held(after, node) + node.taken <= node.size, "F5: nothing starts where pods of others have the room"


def held(shot: Snapshot, node: Node) -> int:
    """How many GPUs of the node runs hold."""
    ranks = [rank for task in shot.tasks if task.live_run for rank in task.live_run.ranks if rank.node == node.name]
    return sum(len(rank.gpus) or node.size for rank in ranks)


@given(snapshots())
@SOME
def test_a_start_never_exceeds_quota(shot: Snapshot) -> None:
    made = plan(shot, POLICY)
    tasks = {task.id: task for task in shot.tasks}
    accounts = QuotaAccounts(QuotaTable(shot.quotas, shot.groups_of, NOW), "training", 4)
    for task in shot.tasks:
        if task.live_run:
            accounts.add(task.user, task.live_run.priority, accounts.units(task))
    for start in starts(made):
        task = tasks[start.task_id]
        assert all(account.fits(accounts.units(task)) for account in accounts.of(task.user, start.priority))
        accounts.add(task.user, start.priority, accounts.units(task))


@given(snapshots(), st.sampled_from(Discipline))
@SOME
def test_planning_again_changes_nothing(shot: Snapshot, discipline: Discipline) -> None:
    """P5: no run is told twice, nothing that was decided is taken back, and the plan comes to rest.

    Nodes that are freed for one task may also suit a second task, for which no turn may end (P3). The rest of a node
    is then kept for the second task; and where a task may span zones again (F2), others may leave for it.
    """
    # A user's tasks take seats over from one another (O3); and nothing has been promised by other rules.
    fields = {"custom_rank": None} if discipline is Discipline.HAI else {"custom_rank": None, "promise": frozenset()}
    shot = replace(shot, tasks=tuple(replace(task, **fields) for task in shot.tasks))
    made = plan(shot, POLICY, discipline)
    first = {suspend.beneficiary for suspend in told(made)}
    place = any(over_zones(shot, by_id(shot)[suspend.task_id].run.nodes) for suspend in told(made))
    for _ in range(len(shot.tasks)):
        shot = carried_out(shot, made)
        made = plan(shot, POLICY, discipline)
        assert all(isinstance(decision, Keep) and decision.nodes for decision in made.decisions) or place
        assert not first & {keep.task_id for keep in kept(made) if not keep.nodes}
        if not made.decisions:
            return
    raise AssertionError(f"it does not come to rest: {made.decisions}")


def over_zones(shot: Snapshot, names: Iterable[str]) -> bool:
    zones = {node.name: node.zone for node in shot.nodes}
    return len({zones[name] for name in names}) > 1


@given(snapshots(), st.randoms(use_true_random=False))
@FEW
def test_the_order_of_the_input_does_not_matter(shot: Snapshot, random: Random) -> None:
    parts = [list(shot.nodes), list(shot.tasks), list(shot.quotas), list(shot.uses), list(shot.strikes)]
    for part in parts:
        random.shuffle(part)
    nodes, tasks, quotas, uses, strikes = (tuple(part) for part in parts)
    mixed = replace(shot, nodes=nodes, tasks=tasks, quotas=quotas, uses=uses, strikes=strikes)
    assert plan(mixed, POLICY) == plan(shot, POLICY)


def queue(made: Plan) -> list[TaskId]:
    return sorted(made.verdicts, key=lambda task_id: (made.verdicts[task_id].position or 0, task_id))


def kept(made: Plan) -> list[Keep]:
    return [decision for decision in made.decisions if isinstance(decision, Keep)]


def by_id(shot: Snapshot) -> dict[TaskId, Task]:
    return {task.id: task for task in shot.tasks}


@given(st.lists(snapshots(), min_size=2, max_size=4))
@FEW
def test_what_is_remembered_of_other_clusters_changes_nothing(shots: list[Snapshot]) -> None:
    cache = PlanCache()
    for shot in shots:
        made, scratch = plan(shot, POLICY, cache=cache), plan(shot, POLICY)
        assert made.decisions == scratch.decisions
        assert dict(made.verdicts) == dict(scratch.verdicts)


@given(snapshots(), st.sampled_from([0, 1, 2]))
@FEW
def test_a_verdict_is_the_same_whatever_was_asked_before(shot: Snapshot, enough: int) -> None:
    """What is found for one task and holds for others, or for places, says of each what it says when asked alone."""
    made = plan(shot, POLICY)
    with patch.object(positions, "_ENOUGH", enough):
        after_others = dict(made.verdicts)
    for task_id, verdict in after_others.items():
        assert plan(shot, POLICY).verdicts[task_id] == verdict


@given(snapshots(), st.integers(0, 6))
@FEW
def test_the_queue_in_order_has_every_task_that_waits_at_its_position(shot: Snapshot, after: int) -> None:
    verdicts = plan(shot, POLICY).verdicts
    assert isinstance(verdicts, Verdicts)
    for group in verdicts.groups:
        listed = list(group.in_order())
        numbers = [number for number, _ in listed]
        assert numbers == sorted(set(numbers))
        assert sorted(task.id for _, task in listed) == sorted(group.ids)
        assert {task.group for _, task in listed} <= {group.group}
        queue_length = len(listed) - group.held
        for place, (number, task) in enumerate(listed):
            assert verdicts[task.id].position == (number if place < queue_length else None)
        assert list(group.in_order(after)) == [each for each in listed if each[0] > after]


@given(snapshots())
@SOME
def test_every_suspension_keeps_p1_to_p3_and_p6_and_p7(shot: Snapshot) -> None:
    made = plan(shot, POLICY)
    tasks = {task.id: task for task in shot.tasks}
    for suspend in told(made):
        victim, waiting = turn_of(tasks[suspend.task_id], POLICY, NOW), tasks[suspend.beneficiary]
        verdict = made.verdicts[waiting.id]
        assert victim.priority <= verdict.priority, "P1"
        if victim.priority < verdict.priority:
            assert suspend.reason is Reason.PREEMPTED
            continue
        assert suspend.reason is Reason.TURN_OVER
        assert victim.task.user != waiting.user, "P3"
        lasted = NOW - victim.run.turn_start
        assert lasted >= max(POLICY.min_run, 10 * victim.task.switch_cost), "P2, P6"
        assert protected_until(victim.task, POLICY) is None, "P7"


@given(snapshots())
@SOME
def test_no_task_is_suspended_unless_the_beneficiary_then_starts(shot: Snapshot) -> None:
    made = plan(shot, POLICY)
    after = emptied(carried_out(shot, made))
    then = plan(after, POLICY)
    begun = {start.task_id for start in starts(then)}
    for beneficiary in {suspend.beneficiary for suspend in told(made)} - begun:
        level = made.verdicts[beneficiary].priority
        higher = [start for start in starts(then) if start.priority > level]
        higher += [keep for keep in kept(then) if then.verdicts[keep.task_id].priority > level]
        nodes = {name for other in higher for name in other.nodes}
        assert nodes & by_id(after)[beneficiary].promise, "only a strictly higher task may have its nodes instead"


@given(snapshots())
@FEW
def test_no_task_is_suspended_that_is_not_needed(shot: Snapshot) -> None:
    """P4: had any one of those who were told to leave stayed, the beneficiary could not start, or only over zones.

    Those behind a task that waits for room are left out: what they may use depends on when that can start (B2). So
    are plans that keep nodes for several: one may gain by those who leave for the next; and beneficiaries that start
    after all, where nodes could not be kept for the head of the queue any more, as the turn that ends was the one
    that its start was computed from.
    """
    made = plan(shot, POLICY)
    after = carried_out(shot, made)
    assume(len([task for task in after.tasks if task.promise]) == 1)
    before = by_id(shot)
    for suspend in told(made):
        if suspend.beneficiary not in made.verdicts or is_behind_another(made, suspend.beneficiary):
            continue
        stays = before[suspend.task_id]
        others = replace(after, tasks=tuple(stays if task.id == stays.id else task for task in after.tasks))
        for start in starts(plan(emptied(others), POLICY)):
            assert start.task_id != suspend.beneficiary or over_zones(shot, start.nodes)


def is_behind_another(made: Plan, task_id: TaskId) -> bool:
    """Whether a task of its priority waits for room before it."""
    mine = made.verdicts[task_id]
    waiting = [one for one in made.verdicts.values() if one.priority == mine.priority and one.kind in ROOM]
    return any(one.position < mine.position for one in waiting)


@given(snapshots())
@SOME
def test_every_waiting_task_starts_or_has_a_verdict(shot: Snapshot) -> None:
    made = plan(shot, POLICY)
    waiting = {task.id for task in shot.tasks if task.state.waiting}
    started = {start.task_id for start in starts(made)}
    assert started | set(made.verdicts) == waiting
    assert not started & set(made.verdicts)
    for task_id, verdict in made.verdicts.items():
        assert made.verdicts.kind_of(task_id) is verdict.kind
    positions = [v.position for v in made.verdicts.values() if v.kind is not VerdictKind.HELD]
    assert None not in positions
    assert len(set(positions)) == len(positions)


@given(snapshots(), st.sampled_from(Discipline))
@SOME
def test_a_plan_looks_at_no_more_than_its_work_bound(shot: Snapshot, discipline: Discipline) -> None:
    made = plan(shot, POLICY, discipline)
    kinds = len({(task.priority, task.gpus) for task in shot.tasks}) * len(Priority) * 3
    assert made.work <= (len(shot.nodes) + len(shot.tasks)) * (2 + kinds)


@given(snapshots())
@SOME
def test_time_alone_changes_nothing_before_the_plan_says_look_again(shot: Snapshot) -> None:
    shot = carried_out(shot, plan(shot, POLICY))
    before = plan(shot, POLICY)
    notices = [task.run.notice for task in shot.tasks if task.live_run and task.run.notice]
    times = [notice.deadline for notice in notices] + [before.look_again or NOW]  # at a deadline something happens
    later = min(times)
    almost = replace(shot, now=max(NOW, later - max(INSTANT, (later - NOW) / 1000)))
    after = plan(almost, POLICY)
    assume(queue(after) == queue(before))  # decayed use changes continuously, and the order of users with it (O3)
    assert after.decisions == before.decisions


@given(snapshots(), st.floats(0, 1))
@SOME
def test_time_alone_changes_nothing_while_a_plan_is_good(shot: Snapshot, share: float) -> None:
    for _ in range(20):
        made = plan(shot, POLICY)
        if not made.decisions:
            break
        shot = carried_out(shot, made)
    until = made.good_until
    assert until is None or made.look_again is None or until <= made.look_again
    until = min(until or NOW + HOUR, NOW + HOUR)
    now = max(NOW, min(NOW + (until - NOW) * share, until - INSTANT))
    after = plan(replace(shot, now=now), POLICY)
    assert after.decisions == made.decisions
    assert queue(after) == queue(made)


def test_there_are_examples_of_every_verdict() -> None:
    """The snapshots reach the corners: otherwise the properties above would say little about them."""
    found: Counter[VerdictKind] = Counter()
    for seed in range(900):
        shot = random_snapshot(seed, range(8), range(1, 11))
        found.update(verdict.kind for verdict in plan(shot, POLICY).verdicts.values())
    rare = {kind: found[kind] for kind in VerdictKind if found[kind] < 5}
    assert set(rare) == {VerdictKind.PAUSED, VerdictKind.NEXT}, "neither follows from a plan of these"


@given(snapshots(), st.sets(st.sampled_from(USERS), min_size=1))
@FEW
def test_counted_as_low_is_as_if_the_waiting_tasks_had_asked_for_low(shot: Snapshot, users: set[str]) -> None:
    """Q7. Orders by hand are left out: they hold among tasks that ask for one priority (O3)."""
    tasks = [replace(task, custom_rank=None) for task in shot.tasks]
    low = [
        replace(task, priority=Priority.LOW) if task.user in users and task.state.waiting else task for task in tasks
    ]
    counted = plan(replace(shot, tasks=tuple(tasks), counted_low=frozenset(users)), POLICY)
    asked = plan(replace(shot, tasks=tuple(low)), POLICY)
    assert counted.decisions == asked.decisions
    for task in tasks:
        told = counted.verdicts.get(task.id)
        assert (told is None) == (asked.verdicts.get(task.id) is None)
        if told is not None:
            assert counted.verdicts.level_of(task.id) == asked.verdicts.level_of(task.id)
