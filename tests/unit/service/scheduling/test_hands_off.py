"""The next tick of the loop carries out what the API has written: the API never changes the cluster."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.service.runs.rank_reports import RunReport
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service, user


@pytest.mark.parametrize("kind", ["done", "leaving"])
async def test_what_a_rank_reports_ends_its_run_at_the_next_tick(kind: str) -> None:
    service = await Service(nodes=1).open()
    task = await service.submit("one", "ann", does=Behaviour(work=timedelta(hours=1), saves_in=None))
    await service.step(1)
    assert await service.states(task) == ["running"]
    report = RunReport(kind=kind, at=service.clock.now(), all_ranks=True, seconds=0.0)  # type: ignore[arg-type]
    await service.platform.runs.reports.report(RunId(f"{task}.1"), 0, report)
    assert service.cluster.record.kills == []
    run = (await service.task(task)).run
    assert run is not None
    if kind == "done":
        assert run.killed_at is not None, "it is written, and that is all"
    await service.loop.cycle.tick()
    assert service.cluster.record.kills == [RunId(f"{task}.1")]


async def test_a_task_without_grace_that_is_stopped_is_ended_by_the_next_tick() -> None:
    service = await Service(nodes=1).open()
    long = Behaviour(work=timedelta(hours=1), saves_in=None)
    task = await service.submit("one", "ann", does=long, profile=Profile.KILL)
    await service.step(1)
    await service.platform.tasks.submissions.stop(user("ann"), str(task))
    assert service.cluster.record.kills == []
    await service.loop.cycle.tick()
    assert service.cluster.record.kills == [RunId(f"{task}.1")]
    await service.step(1)
    assert await service.states(task) == ["stopped"]
