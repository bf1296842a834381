"""What supervisors of ranks ask and report."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.leaving import Source
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.service.runs.moments import LEAD
from hai_scheduler.service.runs.rank_reports import RankReports, RunNotice, RunReport
from hai_scheduler.service.shared.errors import Conflict, Invalid
from hai_scheduler.service.shared.topics import TICK
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service, user

#: A job that does nothing after a notice by itself.
DEAF = Behaviour(work=timedelta(hours=9), saves_in=None)
RUN = RunId("1.1")


@pytest.fixture
async def service() -> Service:
    """A service on which task 1 runs on two of three nodes."""
    made = await Service(nodes=3).open()
    await made.submit("t", "ann", nodes=2, does=DEAF)
    await made.step(1)
    assert await made.states(TaskId(1)) == ["running"]
    return made


def use(service: Service) -> RankReports:
    return service.platform.runs.reports


async def report(service: Service, kind: str, rank: int = 0, run: RunId = RUN, **fields: Any) -> None:
    made = RunReport(kind=kind, at=fields.pop("at", service.clock.now()), **fields)  # type: ignore[arg-type]
    await use(service).report(run, rank, made)


async def told(service: Service, rank: int = 0, *, seen: int = 0) -> RunNotice | None:
    return (await use(service).notice(RUN, rank, seen=seen, wait=0))[0]


async def suspend(service: Service) -> None:
    await service.platform.tasks.submissions.suspend(user("ann"), "1")


# -- notices -------------------------------------------------------------------------------------------------


async def test_without_a_notice_there_is_none(service: Service) -> None:
    assert await told(service) is None


@pytest.mark.parametrize(("verb", "kind"), [("suspend", "suspend"), ("stop", "stop")])
async def test_a_notice_says_what_for_and_until_when(service: Service, verb: str, kind: str) -> None:
    await getattr(service.platform.tasks.submissions, verb)(user("ann"), "1")
    notice = await told(service)
    assert notice is not None
    assert (notice.kind, notice.notice.revision) == (kind, 1)
    assert notice.notice.deadline - service.clock.now() == timedelta(seconds=20)
    assert notice.message
    assert await told(service, seen=1) is None, "it has been seen"


async def test_who_it_leaves_for_is_named(service: Service) -> None:
    urgent = await service.submit("urgent-one", "bob", nodes=2, priority=Priority.HIGH)
    await service.step(ticks=1)
    notice = await told(service)
    assert notice is not None
    assert (notice.notice.reason, notice.notice.beneficiary) == (Reason.PREEMPTED, urgent)
    assert "bob" in notice.message or str(urgent) in notice.message


async def test_a_beneficiary_that_is_gone_is_no_error(service: Service) -> None:
    await suspend(service)
    async with service.store.write() as tx:
        task = await tx.tasks.get(TaskId(1))
        assert task.run is not None
        assert task.run.notice is not None
        gone = replace(task.run.notice, beneficiary=TaskId(99))
        await tx.tasks.save(replace(task, run=replace(task.run, notice=gone)))
    assert await told(service) is not None


async def test_all_ranks_send_their_signals_at_one_moment(service: Service) -> None:
    await suspend(service)
    first = await told(service, 0)
    await service.clock.advance(1)
    second = await told(service, 1)
    assert first is not None
    assert second is not None
    assert first.signal_at == second.signal_at == service.clock.now() - timedelta(seconds=1) + LEAD


async def test_a_later_revision_and_a_single_rank_wait_for_no_moment(service: Service) -> None:
    await suspend(service)
    await service.platform.tasks.submissions.stop(user("ann"), "1")
    later = await told(service, seen=1)
    assert later is not None
    assert (later.kind, later.notice.revision, later.signal_at) == ("stop", 2, None)
    alone = await service.submit("alone", "ann", does=DEAF)
    await service.step(1)
    await service.platform.tasks.submissions.suspend(user("ann"), str(alone))
    single, _ = await use(service).notice(RunId(f"{alone}.1"), 0, seen=0, wait=0)
    assert single is not None
    assert single.signal_at is None


async def test_a_rank_waits_and_is_woken_by_its_notice(service: Service) -> None:
    waiting = asyncio.ensure_future(use(service).notice(RUN, 0, seen=0, wait=60))
    await service.clock.settle()
    assert not waiting.done()
    await suspend(service)
    await service.clock.settle()
    assert waiting.done()
    assert (await waiting)[0] is not None


async def test_a_lost_ring_delays_a_notice_by_the_time_between_two_looks(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(_: str) -> None:
        """Ring for nobody."""

    waiting = asyncio.ensure_future(use(service).notice(RUN, 0, seen=0, wait=60))
    await service.clock.settle()
    monkeypatch.setattr(service.bus, "ring", lost)
    await suspend(service)
    await service.clock.advance(9)
    assert not waiting.done()
    await service.clock.advance(2)
    assert (await asyncio.wait_for(waiting, 5))[0] is not None


async def test_a_wait_without_a_notice_ends_in_time(service: Service) -> None:
    waiting = asyncio.ensure_future(use(service).notice(RUN, 0, seen=0, wait=25))
    await service.clock.advance(24)
    assert not waiting.done()
    await service.clock.advance(2)
    assert await asyncio.wait_for(waiting, 5) == (None, None)


# -- reports -------------------------------------------------------------------------------------------------


async def test_a_checkpoint_is_recorded_with_its_evidence(service: Service) -> None:
    at = service.clock.now() - timedelta(seconds=3)
    await report(service, "saved", at=at, step=7, path="ckpt/7", source=Source.TOLD)
    await report(service, "saved", at=at, step=7, path="ckpt/7", source=Source.TOLD)
    task = await service.task(TaskId(1))
    assert task.run is not None
    assert task.run.checkpoint is not None
    assert (task.run.checkpoint.at, task.run.checkpoint.step, task.run.checkpoint.path) == (at, 7, "ckpt/7")
    assert [event.actor for event in await service.events("task.checkpoint")] == [f"run {RUN}"], "a repeat is no news"


async def test_a_rank_may_be_done_for_itself_or_for_all(service: Service) -> None:
    await suspend(service)
    await report(service, "done", rank=1)
    run = (await service.task(TaskId(1))).run
    assert run is not None
    assert [rank.done for rank in run.ranks] == [False, True]
    await report(service, "done", all_ranks=True, step=9)
    run = (await service.task(TaskId(1))).run
    assert run is not None
    assert [rank.done for rank in run.ranks] == [True, True]
    assert run.checkpoint is not None
    assert run.checkpoint.step == 9, "done with a step is a checkpoint as well"


async def test_done_without_a_step_is_no_checkpoint(service: Service) -> None:
    await suspend(service)
    await report(service, "done")
    run = (await service.task(TaskId(1))).run
    assert run is not None
    assert run.checkpoint is None


async def test_a_job_that_saves_gets_more_time(service: Service) -> None:
    await suspend(service)
    before = (await told(service)).notice.deadline  # type: ignore[union-attr]
    await report(service, "saving", seconds=60)
    after = await told(service, seen=1)
    assert after is not None
    assert after.notice.deadline == service.clock.now() + timedelta(seconds=60) > before
    assert after.signal_at is None, "signals are sent once"


@pytest.mark.parametrize(("kind", "remedy"), [("saving", "how many seconds more"), ("leaving", "seconds are left")])
async def test_a_report_of_time_without_seconds_is_refused(service: Service, kind: str, remedy: str) -> None:
    with pytest.raises(Invalid, match=remedy) as refused:
        await report(service, kind)
    assert refused.value.field == "seconds"


async def test_a_rank_that_the_cluster_ends_makes_the_whole_run_leave(service: Service) -> None:
    await report(service, "leaving", rank=1, seconds=5)
    task = await service.task(TaskId(1))
    assert task.state.value == "suspending"
    notice = await told(service)
    assert notice is not None
    assert notice.notice.reason is Reason.EVICTED
    assert notice.notice.deadline == service.clock.now() + timedelta(seconds=5)


async def test_after_a_kill_nobody_has_to_be_told_that_a_rank_leaves(service: Service) -> None:
    await suspend(service)
    await report(service, "done", all_ranks=True)
    with pytest.raises(Conflict, match=f"Run {RUN} was ended"):
        await report(service, "leaving", seconds=5)


async def test_a_state_is_kept_for_later_runs(service: Service) -> None:
    await report(service, "state", text="epoch 3")
    assert (await service.task(TaskId(1))).job_state == "epoch 3"
    await report(service, "state", text=None)
    assert (await service.task(TaskId(1))).job_state in ("", None)


async def test_what_changes_a_task_rings_for_a_tick_and_a_repeat_does_not(service: Service) -> None:
    async with service.bus.listen(TICK) as ears:
        await report(service, "state", text="a")
        assert await ears.wait(0)
        await report(service, "state", text="a")
        assert not await ears.wait(0)


async def test_a_notice_is_received_once_by_each_rank(service: Service) -> None:
    await suspend(service)
    for rank in (0, 1):
        await report(service, "received", rank=rank)
    run = (await service.task(TaskId(1))).run
    assert run is not None
    assert [rank.notified_at for rank in run.ranks] == [service.clock.now()] * 2


@pytest.mark.parametrize("run", ["1.2", "9.1", "x.1", "", "-1.1", "1", "\u0661.1"])
async def test_a_run_that_is_over_or_unknown_is_told_so(service: Service, run: str) -> None:
    with pytest.raises(Conflict, match="is over"):
        await use(service).notice(RunId(run), 0, seen=0, wait=0)
    with pytest.raises(Conflict, match="is over"):
        await report(service, "received", run=RunId(run))


@pytest.mark.parametrize("rank", [-1, 2])
async def test_a_rank_that_the_run_has_not_is_refused(service: Service, rank: int) -> None:
    with pytest.raises(Invalid, match="has ranks 0 to 1") as refused:
        await report(service, "received", rank=rank)
    assert (refused.value.field, refused.value.value) == ("rank", rank)
