"""Forecasts of starts: the planner is run forward over the queue, under assumptions that the forecast names."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.service.insight.forecast import (
    Forecast,
    Outcome,
    assumption_text,
    forecast_start,
    sentence_of_forecast,
    step_for,
)
from hai_scheduler.service.insight.history import History
from hai_scheduler.service.shared.errors import Conflict, Invalid, NotFound, QuotaExceeded
from hai_scheduler.service.shared.orders import Bounds
from hai_scheduler.service.tasks.submission import Submission
from kit.builders import a_quota, a_task, at, some_nodes
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service, user

MINUTES = timedelta(minutes=1)


def a_submission(**fields: object) -> Submission:
    return Submission(**{"name": "new", "command": ("train",), "cwd": "/", **fields})


async def forecast(service: Service, who: str = "ann", **fields: object) -> Forecast:
    """The forecast of a task that is not submitted."""
    return await service.platform.insight.forecasts.of_submission(user(who), a_submission(**fields))


def after(found: Forecast) -> float | None:
    return None if found.starts_at is None else (found.starts_at - found.at).total_seconds()


async def test_a_task_for_free_nodes_would_start_now() -> None:
    service = await Service(nodes=2).open()
    found = await forecast(service, nodes=2)
    assert (found.outcome, after(found), found.nodes) == (Outcome.NOW, 0, ("node-1", "node-2"))
    assert sentence_of_forecast(ENGLISH, found) == "It would start now, on node-1, node-2."
    assert found.hypothetical


async def test_nothing_is_submitted_by_a_forecast() -> None:
    service = await Service().open()
    before = await service.events("task.submitted")
    await forecast(service)
    async with service.store.read() as tx:
        assert await tx.tasks.unfinished() == []
    assert await service.events("task.submitted") == before
    assert service.cluster.record.launches == []


async def test_a_task_of_the_same_user_is_waited_for_until_its_time_limit_and_its_grace_are_over() -> None:
    service = await Service(nodes=1).open()
    await service.submit("limited", "ann", time_limit=10 * MINUTES)
    await service.step()
    await service.step(120)
    found = await forecast(service)
    assert (found.outcome, after(found)) == (Outcome.LATER, 500)
    lengths = {one.name: one for one in found.assumptions}["lengths"]
    assert lengths.tasks == {"time_limit": 1, "unknown": 1}
    assert found.verdict is not None
    assert (found.verdict.kind, found.verdict.position) == (VerdictKind.CAPACITY, 1)


async def test_without_a_limit_the_history_of_its_kind_says_how_long_a_task_runs() -> None:
    service = await Service(nodes=1).open()
    for minutes in (4, 8, 30):
        task = await service.submit("daily", "ann", does=Behaviour(work=minutes * MINUTES))
        await service.step()
        await service.step(minutes * 60)
        assert await service.states(task) == ["succeeded"]
    await service.submit("daily", "ann")
    await service.step()
    assert after(await forecast(service)) == 480, "the median of 4, 8 and 30 minutes"
    await service.step(600)
    assert after(await forecast(service)) == 1200, "it has outlived two of them: the third is left"


async def test_a_task_of_unknown_length_never_ends_by_itself() -> None:
    service = await Service(nodes=1).open()
    await service.submit("endless", "ann")
    await service.step()
    found = await forecast(service)
    assert (found.outcome, found.starts_at, found.nodes) == (Outcome.NEVER, None, ())
    assert "task 1 of ann" in sentence_of_forecast(ENGLISH, found)


async def test_an_equal_makes_room_when_its_turn_is_over_and_what_that_costs_it_is_said() -> None:
    service = await Service(nodes=2).open()
    other = await service.submit("other", "bob", nodes=2)
    await service.step()
    await service.step(10)
    found = await forecast(service, nodes=2)
    # 60 s of a slice, then 20 s of grace, because it is not known yet how long the task takes to leave.
    assert (found.outcome, after(found)) == (Outcome.LATER, 70)
    cost = found.suspends[0]
    assert (cost.task.id, cost.nodes, (cost.at - found.at).total_seconds()) == (other, 2, 50)
    assert (cost.unsaved, cost.switch) == (120 * timedelta(seconds=1), timedelta(0))
    assert "after task 1 of bob (NORMAL, 2 nodes) made room" in sentence_of_forecast(ENGLISH, found)


async def test_a_higher_task_would_have_a_lower_one_leave_at_once() -> None:
    service = await Service(nodes=1).open()
    other = await service.submit("other", "bob", does=Behaviour(saves_every=timedelta(seconds=25)))
    await service.step()
    await service.step(25)
    await service.step(5)
    found = await forecast(service, priority=Priority.HIGH)
    assert (after(found), [cost.task.id for cost in found.suspends]) == (20, [other])
    assert found.suspends[0].unsaved == timedelta(seconds=5)


async def test_a_waiting_task_is_forecast_and_then_starts_as_forecast() -> None:
    service = await Service(nodes=1).open()
    await service.submit("limited", "ann", time_limit=10 * MINUTES, does=Behaviour(saves_in=None))
    await service.step()
    mine = await service.submit("mine", "ann")
    await service.step()
    found = await service.platform.insight.forecasts.of_task(user("ann"), "mine")
    assert (found.task.id, found.hypothetical, after(found)) == (mine, False, 620)
    await service.step(600)
    await service.step(19)
    assert await service.states(mine) == ["queued"]
    await service.step(1)
    assert await service.states(mine) == ["running"]


async def test_a_task_that_has_its_nodes_is_not_waited_for() -> None:
    service = await Service(nodes=1).open()
    mine = await service.submit("mine", "ann")
    await service.step()
    found = await service.platform.insight.forecasts.of_task(user("ann"), str(mine))
    assert (found.outcome, found.nodes) == (Outcome.RUNNING, ("node-1",))


async def test_a_held_task_is_taken_as_resumed_now_and_that_is_said() -> None:
    service = await Service(nodes=1).open()
    await service.submit("mine", "ann", hold=True)
    await service.step()
    found = await service.platform.insight.forecasts.of_task(user("ann"), "mine")
    assert found.outcome is Outcome.NOW
    assert "held" in [one.name for one in found.assumptions]


async def test_beyond_the_horizon_is_an_answer() -> None:
    service = await Service(nodes=1).open()
    await service.submit("limited", "ann", time_limit=timedelta(hours=2))
    await service.step()
    of_submission = service.platform.insight.forecasts.of_submission
    found = await of_submission(user("ann"), a_submission(), horizon=timedelta(hours=1))
    assert (found.outcome, sentence_of_forecast(ENGLISH, found)) == (
        Outcome.BEYOND_HORIZON,
        "It would not start within 1 h.",
    )
    found = await of_submission(user("ann"), a_submission(), horizon=timedelta(hours=3))
    assert found.outcome is Outcome.LATER


@pytest.mark.parametrize("bounds", [Bounds(plans=3), Bounds(seconds=0.0)], ids=["plans", "seconds"])
async def test_beyond_what_was_computed_is_an_answer(bounds: Bounds) -> None:
    service = await Service(nodes=1).open()
    for number in range(5):
        await service.submit(f"job-{number}", "ann", time_limit=timedelta(hours=1))
    await service.step()
    service.platform.insight.forecasts.bounds = bounds
    found = await forecast(service)
    assert found.outcome is Outcome.BEYOND_COMPUTED
    assert sentence_of_forecast(ENGLISH, found).endswith("what comes then is beyond what was computed.")


@pytest.mark.parametrize(("tasks", "seconds"), [(0, 1), (99, 1), (100, 2), (1000, 20), (3000, 60), (50_000, 60)])
def test_a_longer_queue_is_looked_at_less_often(tasks: int, seconds: int) -> None:
    assert step_for(tasks) == timedelta(seconds=seconds)


@pytest.mark.parametrize(("queue", "start", "said"), [(0, 101, False), (998, 120, True)], ids=["short", "long"])
def test_in_a_long_queue_times_are_rounded_up_and_that_is_said(queue: int, start: int, said: bool) -> None:
    limit = timedelta(seconds=101)
    running = a_task(1, state=TaskState.RUNNING, user="bob", profile=Profile.KILL, time_limit=limit)
    asked = a_task(2, priority=Priority.NORMAL)
    low = [a_task(number, user="cy", priority=Priority.LOW) for number in range(3, 3 + queue)]
    everybody = tuple(a_quota("public", priority=level, limit=None) for level in Priority)
    shot = Snapshot(now=at(), nodes=some_nodes(1), tasks=(running, asked, *low), quotas=everybody)
    found = forecast_start(shot, Policies(), asked, History([]), Bounds(), hypothetical=False)
    assert (found.outcome, found.starts_at) == (Outcome.LATER, at(start))
    assert [assumption_text(ENGLISH, one) for one in found.assumptions if one.name == "steps"] == (
        ["The queue is long: it is looked at every 20 s, so each turn in it may end that much late."] if said else []
    )


async def test_a_forecast_is_refused_as_the_submission_would_be() -> None:
    service = await Service(nodes=2).open()
    async with service.store.write() as tx:
        await tx.quotas.put(Quota(subject="user:ann", group="training", priority=Priority.HIGH, limit=0))
    with pytest.raises(QuotaExceeded):
        await forecast(service, nodes=3)
    with pytest.raises(QuotaExceeded):
        await forecast(service, priority=Priority.HIGH)
    with pytest.raises(Invalid, match="name"):
        await forecast(service, name="1")
    with pytest.raises(Invalid, match="group"):
        await forecast(service, group="nowhere")


async def test_what_cannot_be_forecast_says_so() -> None:
    service = await Service(nodes=1).open()
    mine = await service.submit("mine", "ann")
    await service.platform.tasks.submissions.stop(user("ann"), str(mine))
    forecasts = service.platform.insight.forecasts
    with pytest.raises(Conflict, match="stopped"):
        await forecasts.of_task(user("ann"), str(mine))
    with pytest.raises(NotFound):
        await forecasts.of_task(user("eve"), str(mine))
    for days in (0, 91):
        with pytest.raises(Invalid, match="horizon_s"):
            await forecasts.of_submission(user("ann"), a_submission(), horizon=timedelta(days=days))


async def test_a_user_with_the_most_tasks_allowed_is_refused_before_the_one_too_many() -> None:
    service = Service(nodes=1)
    service.settings = type(service.settings)(policy=service.settings.policy, tasks_per_user=1)
    service.restart()
    await service.open()
    await forecast(service)
    await service.submit("only", "ann")
    with pytest.raises(Conflict, match="1 unfinished"):
        await forecast(service)


async def test_a_forecast_knows_what_the_jobs_before_it_report() -> None:
    service = await Service(nodes=1).open()
    other = await service.submit("other", "bob", priority=Priority.HIGH)
    await service.step()
    assert (await forecast(service)).outcome is Outcome.NEVER
    now = service.clock.now()
    report = StepProgress(run=1, rank=0, step=10, total=20, at=now, begin_step=0, begin_at=now, pace_s=60)
    async with service.store.write() as tx:
        await tx.progress.put(other, report)
    found = await forecast(service)
    assert (found.outcome, after(found)) == (Outcome.LATER, 600)
    assert found.assumptions[0].tasks == {"progress": 1, "unknown": 1}
    assert "1 by the steps that they report" in assumption_text(ENGLISH, found.assumptions[0])
