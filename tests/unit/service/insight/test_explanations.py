"""Why a task waits and what would let it start, from the latest tick's view."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from hai_scheduler.core.costs.budgets import GroupBudget, Measure, Standing
from hai_scheduler.core.explaining.alternatives import ChangeKind
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.accounting.standings import BudgetUse, write_standings
from hai_scheduler.service.computing import work
from hai_scheduler.service.shared.errors import NotFound
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service, user


async def test_a_waiting_task_is_told_what_would_let_it_start() -> None:
    service = await Service(nodes=4).open()
    big = await service.submit("big", "bob", nodes=3)
    await service.step()
    mine = await service.submit("mine", "ann", nodes=2)
    await service.step()
    found = await service.platform.insight.explanations.explain(user("ann"), str(mine))
    assert found.view.verdict is not None
    assert found.view.verdict.kind is VerdictKind.TURN
    changes = {change.kind: change for change in found.what_if}
    assert changes[ChangeKind.PRIORITY].priority is Priority.ABOVE_NORMAL
    assert [holder.task_id for holder in changes[ChangeKind.PRIORITY].suspends] == [big]
    assert changes[ChangeKind.NODES].nodes == 1


async def test_it_is_true_of_what_the_latest_tick_has_decided_already() -> None:
    """The tick that starts another task leaves no node free, although all nodes were free when it planned."""
    service = await Service(nodes=2).open()
    await service.submit("first", "bob", nodes=2, priority=Priority.HIGH)
    mine = await service.submit("mine", "ann", nodes=2)
    await service.step(ticks=1)
    found = await service.platform.insight.explanations.explain(user("ann"), str(mine))
    level = next(change for change in found.what_if if change.kind is ChangeKind.PRIORITY)
    assert (level.priority, level.starts_now) == (Priority.VERY_HIGH, False)


async def test_a_task_that_came_after_the_latest_tick_is_told_as_well() -> None:
    service = await Service(nodes=1).open()
    await service.submit("first", "bob")
    await service.step()
    mine = await service.submit("mine", "ann")
    found = await service.platform.insight.explanations.explain(user("ann"), str(mine))
    assert [change.kind for change in found.what_if] == [ChangeKind.PRIORITY]


async def test_what_was_found_holds_until_the_next_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await Service(nodes=1).open()
    await service.submit("first", "bob")
    mine = await service.submit("mine", "ann")
    await service.step()
    asked = []
    real = work.counterfactuals
    monkeypatch.setattr(work, "counterfactuals", lambda *given, **more: asked.append(given) or real(*given, **more))
    explain = service.platform.insight.explanations.explain
    first = await explain(user("ann"), str(mine))
    assert (await explain(user("ann"), "mine")).what_if == first.what_if
    assert len(asked) == 1
    await service.step()
    await explain(user("ann"), "mine")
    assert len(asked) == 2
    await service.platform.tasks.submissions.hold(user("ann"), "mine")
    assert (await explain(user("ann"), "mine")).what_if == (), "a task that has changed is looked at again"


async def test_tasks_that_run_have_ended_or_are_others_have_none() -> None:
    service = await Service(nodes=1).open()
    short = await service.submit("short", "ann", does=Behaviour(work=timedelta(seconds=30)))
    await service.step()
    explain = service.platform.insight.explanations.explain
    assert (await explain(user("ann"), str(short))).what_if == ()
    await service.step(31)
    assert (await explain(user("ann"), str(short))).what_if == ()
    with pytest.raises(NotFound):
        await explain(user("eve"), str(short))


async def test_where_plans_take_long_fewer_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await Service(nodes=1).open()
    await service.submit("first", "bob")
    mine = await service.submit("mine", "ann")
    await service.step()
    most = []
    monkeypatch.setattr(work, "counterfactuals", lambda *_, most_plans: most.append(most_plans) or ())
    for seconds in (0.0, 0.5, 30.0):
        await service.step()
        service.loop.cycle.latest_plan.plan_seconds = seconds
        await service.platform.insight.explanations.explain(user("ann"), str(mine))
    assert most == [8, 4], "none where one plan takes all of the time"


async def test_a_task_without_budget_is_told_that_it_counts_as_low_and_why() -> None:
    service = await Service(nodes=1).open()
    await service.submit("first", "bob")
    mine = await service.submit("mine", "ann", priority=Priority.HIGH)
    explanations = service.platform.insight.explanations
    async with service.store.write() as tx:
        await tx.users.put(UserRecord(name="ann", groups=frozenset({"cv", "nlp"})))
        for group in ("cv", "nlp"):
            budget = GroupBudget(group=group, measure=Measure.GPU_HOURS, limit=Decimal(5), window_days=30)
            await tx.budgets.put(budget)
        uses = {"cv": BudgetUse(Decimal(6), Standing.OVER), "nlp": BudgetUse(Decimal(4), Standing.NEAR)}
        await write_standings(tx, uses)
    await service.step()
    found = await explanations.explain(user("ann"), str(mine))
    assert found.view.effective is Priority.LOW
    (sentence,) = found.budgets
    assert sentence.startswith("group cv has used 6 of 5 GPU hours in 30 days: tasks of its members count as LOW until")
    async with service.store.write() as tx:
        await write_standings(tx, {})
    await service.step()
    found = await explanations.explain(user("ann"), str(mine))
    assert (found.view.effective, found.budgets) == (Priority.HIGH, ())


async def test_a_waiting_task_is_told_the_share_of_its_user() -> None:
    service = await Service(nodes=1).open()
    await service.submit("first", "bob")
    await service.step()
    mine = await service.submit("mine", "ann")
    await service.step()
    found = await service.platform.insight.explanations.explain(user("ann"), str(mine))
    assert found.share is not None
    assert (found.share.user, found.share.entitled, found.share.users_before) == ("ann", 0.5, 0)
