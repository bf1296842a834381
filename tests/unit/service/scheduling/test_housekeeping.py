"""What is deleted because it is old, or too much of a user's."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from hai_scheduler.core.metrics.series import Point, Spread
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.service.origin.orphan_registry import OrphanedRun, write_orphans
from hai_scheduler.service.scheduling import housekeeping as housekeeping_module
from kit.builders import a_quota, a_use
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service, user
from unit.service.storage_kit import KIB, MIB, a_service, ended, flood, submissions


async def test_ended_tasks_make_room_the_oldest_first_with_their_history() -> None:
    service = await a_service(bytes_per_user=10 * MIB)
    keeper = await service.submit("bobs", "bob")
    await submissions(service).stop(user("bob"), str(keeper))
    await flood(service, MIB - KIB, 15)
    newest = await service.submit("newest", "mallory")
    assert await service.loop.housekeeping.sweep_users() == 5
    assert await service.loop.housekeeping.sweep_users() == 0
    async with service.store.read() as tx:
        stored = await tx.storage.of_user("mallory")
        lines = {event.task_id for event in await tx.events.page(after=0, limit=1000)}
        left = [number for number, _ in await tx.storage.ended_of("mallory", limit=100)]
    assert stored.ended_bytes + stored.unfinished_bytes <= 10 * MIB
    assert left == list(range(keeper + 6, keeper + 16))
    assert lines == {keeper, *left, newest}


async def test_more_ended_tasks_than_are_kept_are_forgotten() -> None:
    service = await a_service(ended_per_user=50)
    await flood(service, 10, 80)
    await flood(service, 10, 20, "bob")
    assert await service.loop.housekeeping.sweep_users() == 30
    assert (await ended(service), await ended(service, "bob")) == (50, 20)


async def test_a_run_that_is_forgotten_early_loses_its_log_too() -> None:
    service = await a_service(ended_per_user=1)
    for name in ("first", "second"):
        await service.submit(name, "ann")
        await service.step()
        await submissions(service).stop(user("ann"), name)
        await service.step(30)
    assert await service.loop.housekeeping.sweep_users() == 1
    with pytest.raises(LookupError):
        await service.cluster.read_log("1.1", 0, offset=0, limit=1)
    assert await service.cluster.read_log("2.1", 0, offset=0, limit=1)


async def test_the_loop_forgets_what_is_too_much_each_minute_and_what_is_old_each_hour() -> None:
    service = await a_service(ended_per_user=10, lines_per_task=100)
    sweeping = asyncio.create_task(service.loop.housekeeping.run())
    await service.clock.settle()
    await flood(service, 10, 15)
    task = await service.submit("moody", "ann", hold=True)
    for _ in range(80):
        await submissions(service).resume(user("ann"), str(task))
        await submissions(service).hold(user("ann"), str(task))
    await service.clock.advance(60)
    assert await ended(service) == 10
    await service.clock.advance(3600)
    async with service.store.read() as tx:
        lines = await tx.events.page(after=0, limit=1000, task_id=task)
    assert (len(lines), lines[0].kind) == (100, "task.submitted")
    sweeping.cancel()


# -- what is old ---------------------------------------------------------------------------------------------


async def finished(service: Service, name: str, who: str = "ann") -> TaskId:
    """A task that has run and ended."""
    task = await service.submit(name, who, does=Behaviour(work=timedelta(seconds=1), prints=(name,)))
    await service.step(1)
    await service.step(5)
    assert await service.states(task) == ["succeeded"]
    return task


async def known(service: Service) -> list[TaskId]:
    """The ids of all tasks, ended ones too."""
    async with service.store.read() as tx:
        return sorted(task.id for task in await tx.tasks.page(TaskFilter(), before=None, limit=1000))


async def test_ended_tasks_go_with_their_logs_when_they_are_old_and_others_stay() -> None:
    service = await a_service()
    keep = service.settings.keep_ended
    old = await finished(service, "old")
    waits = await service.submit("waits", "ann", hold=True)
    await service.clock.advance(keep.total_seconds() - 60)
    young = await finished(service, "young")
    assert await service.loop.housekeeping.sweep() == 0
    await service.clock.advance(120)
    assert await service.loop.housekeeping.sweep() == 1
    assert await known(service) == [waits, young]
    with pytest.raises(LookupError):
        await service.cluster.read_log(RunId(f"{old}.1"), 0, offset=0, limit=1)
    assert await service.cluster.read_log(RunId(f"{young}.1"), 0, offset=0, limit=1)


async def test_more_than_one_transaction_takes_are_all_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping_module, "BATCH", 1)
    service = await a_service(ended_per_user=3)
    tasks = [await finished(service, f"t{number}") for number in range(5)]
    assert await service.loop.housekeeping.sweep_users() == 2
    assert await known(service) == tasks[2:]
    await service.clock.advance(service.settings.keep_ended.total_seconds() + 60)
    assert await service.loop.housekeeping.sweep() == 3
    assert await known(service) == []


async def test_a_crash_between_log_and_task_leaves_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service()
    task = await finished(service, "t")
    await service.clock.advance(service.settings.keep_ended.total_seconds() + 60)

    async def crash(_: object) -> None:
        raise Temporary("the node is away")

    with monkeypatch.context() as patch:
        patch.setattr(service.cluster, "forget", crash)
        with pytest.raises(Temporary):
            await service.loop.housekeeping.sweep()
    assert await known(service) == [task]
    assert await service.loop.housekeeping.sweep() == 1


@pytest.mark.parametrize("sweep", ["sweep", "sweep_users"])
async def test_the_log_of_an_orphaned_run_of_that_id_is_not_ours_to_forget(sweep: str) -> None:
    service = await a_service(ended_per_user=0)
    task = await finished(service, "t")
    orphan = OrphanedRun(run_id=RunId(f"{task}.1"), origin=None, user="bob", nodes=(), live=False)
    async with service.store.write() as tx:
        await write_orphans(tx, [orphan])
    await service.clock.advance(service.settings.keep_ended.total_seconds() + 60)
    assert await getattr(service.loop.housekeeping, sweep)() == 1
    assert await service.cluster.read_log(RunId(f"{task}.1"), 0, offset=0, limit=1)


@pytest.mark.parametrize(
    ("days", "removed"), [(-1, 0), (0, 0), (29, 0), (31, 1)], ids=["to come", "just now", "a month", "longer"]
)
async def test_q3_a_row_of_quota_goes_a_month_after_it_has_expired(days: float, removed: int) -> None:
    service = await a_service()
    row = a_quota("user:ann", expires_at=service.clock.now())
    async with service.store.write() as tx:
        await tx.quotas.put(row)
    if days < 0:
        async with service.store.write() as tx:
            await tx.quotas.put(replace(row, expires_at=service.clock.now() + timedelta(days=-days)))
    await service.clock.advance(max(0, days) * 86_400)
    assert await service.loop.housekeeping.sweep_quotas() == removed
    async with service.store.read() as tx:
        assert [one.subject for one in await tx.quotas.all() if one.subject == "user:ann"] == ["user:ann"] * (
            1 - removed
        )
    events = await service.events("quota.deleted")
    assert [(event.actor, event.data["subject"], event.data["because"]) for event in events] == [
        ("scheduler", "user:ann", "it expired")
    ] * removed


async def test_rows_of_quota_without_an_end_stay() -> None:
    service = await a_service()
    await service.clock.advance(400 * 86_400)
    assert await service.loop.housekeeping.sweep_quotas() == 0


@pytest.mark.parametrize(
    ("used", "hours", "removed"),
    [(0.5, 25, 1), (0.5, 23, 0), (1e9, 25, 0), (4000.0, 24 * 30, 1)],
    ids=["little, a day ago", "little, today", "much", "much, long ago"],
)
async def test_o3_use_that_has_decayed_to_nothing_goes_after_a_day_at_the_earliest(
    used: float, hours: float, removed: int
) -> None:
    service = await a_service()
    async with service.store.write() as tx:
        await tx.uses.put(a_use("ann", node_seconds=used, at=service.clock.now()))
    await service.clock.advance(hours * 3600)
    assert await service.loop.housekeeping.sweep_uses() == removed
    async with service.store.read() as tx:
        assert len(await tx.uses.all()) == 1 - removed


async def test_who_does_not_lead_deletes_nothing_and_begins_when_it_leads() -> None:
    service = await a_service(ended_per_user=0)
    task = await finished(service, "t")
    housekeeping = service.loop.housekeeping
    housekeeping.latest_plan.leading = False
    assert not housekeeping.leads()
    sweeping = asyncio.create_task(housekeeping.run())
    await service.clock.advance(600)
    assert await known(service) == [task]
    housekeeping.latest_plan.leading = True
    await service.clock.advance(10)
    assert await known(service) == []
    sweeping.cancel()


async def test_a_sweep_that_fails_is_repeated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service = await a_service(ended_per_user=0)
    task = await finished(service, "t")

    async def away(_: object) -> None:
        raise Temporary("the node is away")

    with monkeypatch.context() as patch:
        patch.setattr(service.cluster, "forget", away)
        sweeping = asyncio.create_task(service.loop.housekeeping.run())
        await service.clock.advance(1)
        assert await known(service) == [task]
    assert "sweeping failed and will be repeated" in caplog.text
    await service.clock.advance(61)
    assert await known(service) == []
    sweeping.cancel()


# -- metrics -------------------------------------------------------------------------------------------------

OF_A_RUN = RunId("77.1")


async def with_hours(service: Service, hours: int, run: RunId = OF_A_RUN) -> None:
    """Store the points of a rank over a number of whole hours, which are over."""
    now = int(service.clock.now().timestamp())
    ends = range(now - hours * 3600 + 10, now + 10, 10)
    await service.store.series.append(run, 0, [Point(end, {"cpu": Spread(1, 1, 1)}) for end in ends])


async def packed(service: Service, run: RunId = OF_A_RUN) -> int:
    """How many hours of the rank are packed: only these are shown by minutes."""
    found = await service.store.series.read(run, since=0, until=2**40, step=60)
    times = [point.at for point in found.get(0, [])]
    return sum(later - earlier == 60 for earlier, later in pairwise([times[0] - 60, *times])) // 60


async def test_packing_gives_way_between_chunks() -> None:
    service = await a_service()
    await with_hours(service, 5)
    assert await packed(service) == 0
    packing = asyncio.create_task(service.loop.housekeeping.pack_series())
    for hours in (2, 4):
        await service.clock.settle()
        assert (await packed(service), packing.done()) == (hours, False)
        await service.clock.advance(housekeeping_module.PACK_PAUSE_S * 0.9)
        assert (await packed(service), packing.done()) == (hours, False), "ticks have this time"
        await service.clock.advance(housekeeping_module.PACK_PAUSE_S * 0.1)
    assert (await packed(service), packing.done()) == (5, True)
    assert await packing == 5
    assert await service.loop.housekeeping.pack_series() == 0, "there is nothing left"


async def test_who_does_not_lead_packs_nothing_and_who_loses_it_stops() -> None:
    service = await a_service()
    await with_hours(service, 5)
    housekeeping = service.loop.housekeeping
    housekeeping.latest_plan.leading = False
    assert (await housekeeping.pack_series(), await packed(service)) == (0, 0)
    housekeeping.latest_plan.leading = True
    packing = asyncio.create_task(housekeeping.pack_series())
    await service.clock.settle()
    housekeeping.latest_plan.leading = False
    await service.clock.advance(60)
    assert (packing.done(), await packed(service)) == (True, 2)
    assert await packing == 2


async def test_an_hour_that_goes_on_is_not_packed() -> None:
    service = await a_service()
    await service.clock.advance(1800)
    await with_hours(service, 2)
    assert await service.clock.run(service.loop.housekeeping.pack_series()) == 2
    await service.clock.advance(1800)
    assert await service.clock.run(service.loop.housekeeping.pack_series()) == 1


async def test_the_loop_packs_each_minute() -> None:
    service = await a_service()
    sweeping = asyncio.create_task(service.loop.housekeeping.run())
    await service.clock.settle()
    await with_hours(service, 3)
    await service.clock.advance(59)
    assert await packed(service) == 0
    await service.clock.advance(2)
    assert await packed(service) == 3
    sweeping.cancel()


@pytest.mark.parametrize("sweep", ["sweep", "sweep_users"])
async def test_a_task_that_is_forgotten_takes_its_metrics_with_it(sweep: str) -> None:
    service = await a_service(ended_per_user=1 if sweep == "sweep_users" else 100)
    old = await finished(service, "old")
    await with_hours(service, 1, RunId(f"{old}.1"))
    if sweep == "sweep":
        await service.clock.advance(service.settings.keep_ended.total_seconds() + 60)
    young = await finished(service, "young")
    await with_hours(service, 1, RunId(f"{young}.1"))
    assert await getattr(service.loop.housekeeping, sweep)() == 1
    found = [await service.store.series.read(RunId(f"{n}.1"), since=0, until=2**40, step=10) for n in (old, young)]
    assert [list(ranks) for ranks in found] == [[], [0]]
