"""A plan that knows what the plan before knew decides what a plan from scratch decides (decision 0015)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hai_scheduler.core.model.decisions import Plan
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.rules import HaiRules
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.core.planning.plan_cache import PlanCache, differences
from kit.builders import T0, a_quota, a_task, some_nodes
from kit.busy_cluster import World
from kit.seeded_clusters import Shape

POLICY = Policy()


def everything(made: Plan) -> tuple[object, ...]:
    """All values of a plan, with the verdicts of every seventh task, because verdicts have positions in the queue."""
    verdicts = {task_id: made.verdicts[task_id] for task_id in made.verdicts if int(task_id) % 7 == 0}
    return made.decisions, len(made.verdicts), verdicts, made.look_again


@pytest.mark.parametrize(("nodes", "tasks", "seed"), [(100, 300, 0), (150, 250, 1), (100, 500, 2)])
def test_it_decides_the_same_as_from_scratch_over_hours(nodes: int, tasks: int, seed: int) -> None:
    """Turns end, tasks come, starve, are promised nodes and start."""
    world, cache, decided = World(Shape(nodes, tasks), seed=seed, policy=POLICY), PlanCache(), 0
    world.fill(lambda snapshot: plan(snapshot, POLICY))
    for number in range(30):
        if number % 5 == 4:
            world.now += timedelta(minutes=20)
        world.step()
        snapshot = world.snapshot()
        made = plan(snapshot, POLICY, cache=cache)
        assert everything(made) == everything(plan(snapshot, POLICY)), f"round {number}"
        decided += len(made.decisions)
        world.carry_out(made)
    assert decided > 30


def of(*tasks: Task) -> Snapshot:
    return Snapshot(now=T0, nodes=some_nodes(1), tasks=tasks)


def task_index(
    snapshot: Snapshot, cache: PlanCache, policy: Policy = POLICY
) -> dict[tuple[Priority, float], list[int]]:
    """The ids of the waiting tasks by priority and rank, after a plan was made."""
    plan(snapshot, policy, cache=cache)
    found = cache.groups["training"]
    return {
        (level, rank): sorted(int(task.id) for task in part.tasks())
        for level in Priority
        for (rank, _), part in found.plain(level).items()
    }


def test_a_task_that_has_waited_too_long_moves_although_nothing_else_happens() -> None:
    task = a_task(1, priority=Priority.NORMAL, served=timedelta(days=2), waiting_since=T0)
    snapshot, cache = of(task), PlanCache()
    assert task_index(snapshot, cache) == {(Priority.NORMAL, 2): [1]}
    assert task_index(replace(snapshot, now=T0 + POLICY.starve_after), cache) == {(Priority.NORMAL, 2): [1]}
    later = replace(snapshot, now=T0 + POLICY.starve_after + timedelta(microseconds=1))
    assert task_index(later, cache) == {(Priority.NORMAL, 0): [1]}
    assert task_index(snapshot, cache) == {(Priority.NORMAL, 2): [1]}, "the clock was set back"


def test_other_policy_numbers_make_other_precedences() -> None:
    task = a_task(1, priority=Priority.NORMAL, served=timedelta(minutes=40), waiting_since=T0)
    snapshot, cache = of(task), PlanCache()
    assert task_index(snapshot, cache) == {(Priority.NORMAL, 1): [1]}
    assert task_index(snapshot, cache, replace(POLICY, slice=timedelta(hours=1))) == {(Priority.NORMAL, 0): [1]}


def test_tasks_change_come_and_go() -> None:
    first, second = (a_task(number, priority=Priority.NORMAL) for number in (1, 2))
    snapshot, cache = of(first, second), PlanCache()
    assert task_index(snapshot, cache) == {(Priority.NORMAL, 0): [1, 2]}
    raised = replace(first, priority=Priority.HIGH)
    assert task_index(replace(snapshot, tasks=(raised, second)), cache) == {
        (Priority.HIGH, 0): [1],
        (Priority.NORMAL, 0): [2],
    }
    assert task_index(replace(snapshot, tasks=(raised, replace(second, held=True))), cache) == {(Priority.HIGH, 0): [1]}
    auto = replace(raised, priority=None)
    assert task_index(replace(snapshot, tasks=(second, auto)), cache) == {(Priority.NORMAL, 0): [2]}
    assert [part.tasks() for _, part in cache.groups["training"].auto()] == [[auto]]
    third = a_task(3, priority=Priority.NORMAL)
    assert task_index(replace(snapshot, tasks=(third,)), cache) == {(Priority.NORMAL, 0): [3]}
    assert task_index(replace(snapshot, tasks=(third, first)), cache) == {(Priority.NORMAL, 0): [1, 3]}


def test_of_a_plan_that_was_not_finished_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    task, cache = a_task(1, priority=Priority.NORMAL), PlanCache()
    assert task_index(of(task), cache) == {(Priority.NORMAL, 0): [1]}
    raised = of(replace(task, priority=Priority.HIGH))
    with monkeypatch.context() as patch:
        patch.setattr(HaiRules, "precedences", lambda _rules, _tasks: [])
        with pytest.raises(ValueError, match="zip"):
            plan(raised, POLICY, cache=cache)
    assert task_index(raised, cache) == {(Priority.HIGH, 0): [1]}


POOL = {TaskId(number): a_task(number) for number in range(1, 400)}
some_ids = st.sets(st.sampled_from(sorted(POOL)), max_size=8)


@given(st.integers(1, 400), st.integers(2, 9), some_ids, some_ids, some_ids)
@settings(deadline=None)
def test_what_has_come_and_gone_is_found_wherever_it_is(
    dense: int, step: int, gone: set[TaskId], changed: set[TaskId], new: set[TaskId]
) -> None:
    """Whole blocks are compared at once: there are several, and changes at their edges."""
    before = {number: task for number, task in POOL.items() if number < dense or not number % step}
    now = {number: task for number, task in before.items() if number not in gone}
    now |= {number: replace(POOL[number], suspensions=1) for number in changed}
    now |= {number: POOL[number] for number in new - now.keys()}
    now = dict(sorted(now.items()))
    went, came = differences(list(before.values()), list(now.values()))
    assert went == [task for number, task in before.items() if now.get(number) is not task]
    assert came == [task for number, task in now.items() if before.get(number) is not task]


@given(st.permutations(range(1, 7)), st.permutations(range(1, 7)), st.integers(0, 6), st.integers(0, 6))
def test_in_whatever_order_tasks_are_the_differences_lead_from_one_to_the_other(
    first: list[int], second: list[int], some: int, others: int
) -> None:
    before = [POOL[TaskId(number)] for number in first[:some]]
    now = [POOL[TaskId(number)] for number in second[:others]]
    went, came = differences(before, now)
    ids = {task.id for task in before} - {task.id for task in went} | {task.id for task in came}
    assert ids == {task.id for task in now}
    assert {task.id for task in went} <= {task.id for task in before}


def test_nodes_and_rows_of_quota_are_those_of_the_snapshot() -> None:
    cache = PlanCache()

    def starts(quota: Quota, *, nodes: int, now: datetime = T0) -> bool:
        task = a_task(1, nodes=2, priority=Priority.NORMAL)
        snapshot = Snapshot(now=now, nodes=some_nodes(nodes), tasks=(task,), quotas=(quota,))
        return bool(plan(snapshot, POLICY, cache=cache).decisions)

    enough = a_quota("public", limit=2)
    assert starts(enough, nodes=2)
    assert not starts(enough, nodes=1)
    assert starts(enough, nodes=2)
    assert not starts(a_quota("public", limit=1), nodes=2)
    until = replace(enough, expires_at=T0 + timedelta(hours=1))
    assert starts(until, nodes=2)
    assert not starts(until, nodes=2, now=T0 + timedelta(hours=1)), "it has expired"
    assert starts(until, nodes=2), "the clock was set back"


def test_user_groups_are_those_of_the_snapshot() -> None:
    task, cache = a_task(1, user="ann", priority=Priority.NORMAL), PlanCache()
    snapshot = replace(of(task), quotas=(a_quota("group:lab", limit=4),))
    assert not plan(snapshot, POLICY, cache=cache).decisions
    member = replace(snapshot, groups_of={"ann": frozenset({"lab"})})
    assert plan(member, POLICY, cache=cache).decisions


def test_verdicts_are_those_of_their_own_plan_however_late_they_are_read() -> None:
    tasks = tuple(a_task(number, priority=Priority.NORMAL) for number in range(1, 6))
    snapshot, cache = of(*tasks), PlanCache()
    made = plan(snapshot, POLICY, cache=cache)
    plan(replace(snapshot, tasks=tasks[3:]), POLICY, cache=cache)
    expected = plan(snapshot, POLICY)
    assert [made.verdicts[task.id] for task in tasks] == [expected.verdicts[task.id] for task in tasks]


def test_what_is_known_of_durations_may_change_alone() -> None:
    tasks = (a_task(1, priority=Priority.NORMAL), a_task(2, priority=Priority.NORMAL))
    cache = PlanCache()
    for first, last in ((1, 2), (2, 1), (1, 2)):
        remaining = {TaskId(first): timedelta(minutes=1), TaskId(last): timedelta(minutes=9)}
        snapshot = replace(of(*tasks), nodes=(), remaining=remaining)
        made = plan(snapshot, POLICY, Discipline.SJF, cache)
        assert [made.verdicts[TaskId(number)].position for number in (first, last)] == [1, 2]


@pytest.mark.parametrize("discipline", list(Discipline))
def test_no_discipline_is_disturbed_by_it(discipline: Discipline) -> None:
    world, cache = World(Shape(100, 250), seed=5, policy=POLICY), PlanCache()
    for _ in range(10):
        snapshot = replace(
            world.snapshot(), remaining={number: timedelta(seconds=int(number)) for number in world.tasks}
        )
        made = plan(snapshot, POLICY, discipline, cache)
        assert everything(made) == everything(plan(snapshot, POLICY, discipline))
        world.carry_out(made)
        world.step()
