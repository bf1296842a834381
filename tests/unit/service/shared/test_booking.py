"""Runs in the ledger, written by what begins and ends them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.row import LedgerOutcome
from hai_scheduler.core.lifecycle.events import StartFailed
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.usage_summary import UsageSummary
from hai_scheduler.core.workspace.builds import VARIABLE
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.shared.booking import Booking, book, booking_of, gpus_of, keep_gpus
from hai_scheduler.service.shared.changes import SCHEDULER, change
from kit.builders import a_spec, a_task, at
from kit.ledger import check_ledger
from kit.memory.behaviour import Behaviour
from unit.service.ledger_kit import HOUR, HOUR_US, LONG, ask, rows_of_run
from unit.service.service_world import Service, user


async def test_a_run_is_in_the_ledger_from_its_start_with_what_was_known_then() -> None:
    service = await Service().open()
    async with service.store.write() as tx:
        await tx.users.put(UserRecord(name="ann", groups=frozenset({"nlp", "ai"})))
    task = await service.submit("one", "ann", 2, LONG, priority=Priority.HIGH)
    await service.clock.advance(7)
    await service.step()
    (row,) = await rows_of_run(service, f"{task}.1")
    assert row.facts.key.groups == ("ai", "nlp")
    assert (row.facts.key.user, row.facts.key.priority, row.facts.key.kind) == ("ann", Priority.HIGH, WorkKind.TASK)
    assert (row.facts.nodes, row.facts.gpus, row.facts.wait) == (2, 16, timedelta(seconds=7))
    assert (row.outcome, row.last, row.length) == (None, False, timedelta(0))
    async with service.store.write() as tx:
        await tx.users.put(UserRecord(name="ann", groups=frozenset({"vision"})))
    await service.step(3600)
    await service.platform.tasks.submissions.stop(user("ann"), str(task))
    await service.step(30)
    (row,) = await rows_of_run(service, f"{task}.1")
    assert row.facts.key.groups == ("ai", "nlp"), "the groups as they were when the run started"
    assert (row.outcome, row.reason, row.last) == (LedgerOutcome.STOPPED, Reason.USER_STOPPED, True)
    assert row.useful == HOUR
    assert row.saving == timedelta(seconds=30), "until the next tick saw that it had ended"
    await check_ledger(service.store)


async def test_a_run_that_shares_its_nodes_counts_by_its_gpus() -> None:
    service = await Service(nodes=1).open()
    for name in ("one", "two"):
        await service.submit(name, "ann", 1, Behaviour(work=HOUR), gpus=2)
    await service.step()
    await service.step(3600)
    (line,) = await ask(service)
    assert (line.sums.starts, line.sums.ends) == (2, 2)
    assert (line.sums.gpu_us, line.sums.node_us) == (4 * HOUR_US, HOUR_US // 2)


async def test_idle_gpus_and_energy_are_those_that_the_ranks_have_measured() -> None:
    service = await Service(nodes=1).open()
    number = await service.submit("one", "ann", 1, Behaviour(work=timedelta(hours=30)))
    await service.step()
    await service.step(30 * 3600)
    measured = UsageSummary(seconds=108000, gpus=8, gpu_seconds=864000, gpu_idle_seconds=7200, joules=5_000_000.4)
    async with service.store.write() as tx:
        task = await tx.tasks.get(TaskId(number))
        (run,) = await tx.runs.of_task(task.id)
        await book(tx, [Booking(task, replace(run, summary=measured))], until=service.clock.now())
    rows = await rows_of_run(service, f"{number}.1")
    assert len(rows) > 1, "it has run over midnight"
    assert sum((row.idle for row in rows), timedelta()) == timedelta(hours=2)
    assert sum(row.energy_j or 0 for row in rows) == 5_000_000
    await check_ledger(service.store)


async def test_kinds_of_work() -> None:
    service = await Service().open()
    spot = await service.submit("spot-ann", "ann", tags=("spot",))
    named = await service.submit("mine", "ann", tags=("spot", "build"))
    async with service.store.write() as tx:
        build = await tx.tasks.add(a_task(user="ann"), a_spec(env={VARIABLE: "create users/ann/x"}))
    await service.step()
    kinds = [(await rows_of_run(service, f"{number}.1"))[0].facts.key.kind for number in (spot, named, build.id)]
    assert kinds == [WorkKind.SPOT, WorkKind.TASK, WorkKind.BUILD], "a tag alone makes no kind"


async def test_a_run_that_cannot_be_started_is_in_the_ledger_on_every_path() -> None:
    service = await Service(nodes=1).open()
    task = await service.submit("bad", "ann", 1, Behaviour(start_error="the disk is full"))
    await service.step()
    assert [row.outcome for row in await rows_of_run(service, f"{task}.1")] == [LedgerOutcome.BROKEN]
    other = await service.submit("lost", "ann", 1, LONG, environment=None)
    await service.step(600)
    service.cluster.faults.lose_node("node-1")
    await service.step(60)
    assert (await check_ledger(service.store)) >= 1
    (line,) = await ask(service)
    assert line.sums.broken == line.sums.interruptions >= 1
    assert other


async def test_a_deleted_task_leaves_its_rows_behind() -> None:
    service = await Service().open()
    task = await service.submit("old", "ann", 1, Behaviour(work=HOUR))
    await service.step()
    await service.step(3600)
    before = await ask(service)
    await service.clock.advance(31 * 24 * 3600)
    assert await service.loop.housekeeping.sweep() == 1
    assert await ask(service) == before
    assert await rows_of_run(service, f"{task}.1")


async def test_gpus_of_nodes_are_remembered_for_what_does_not_see_the_cluster() -> None:
    service = await Service(nodes=1).open()
    async with service.store.write() as tx:
        assert await gpus_of(tx) == {"training": 8}
        await keep_gpus(tx, {"big": 16})
        assert await gpus_of(tx) == {"training": 8, "big": 16}
    before = service.store._state
    await service.loop.cycle.tick()
    async with service.store.read() as tx:
        assert await tx.settings.get("ledger_gpus") == before.settings["ledger_gpus"]


def test_what_neither_begins_nor_ends_a_run_is_not_written() -> None:
    waits, runs = a_task(), a_task(state="running")
    assert runs.run is not None
    over = replace(runs.run, ended_at=at(5), reason=Reason.SUCCEEDED)
    ended = replace(runs, run=over)
    assert booking_of(waits, waits) is None
    assert booking_of(waits, runs) == Booking(runs, runs.run)
    assert booking_of(runs, replace(runs, held=True)) is None
    assert booking_of(runs, ended) == Booking(runs, over)
    assert booking_of(ended, replace(ended, held=True)) is None


async def test_an_empty_booking_asks_the_store_nothing() -> None:
    service = await Service().open()
    async with service.store.read() as tx:
        await book(tx, [], until=at())


async def test_a_change_by_itself_is_in_the_ledger_when_it_is_committed() -> None:
    """As effects write a run that cannot be started, outside of any tick."""
    service = await Service(nodes=1).open()
    async with service.store.write() as tx:
        task = await tx.tasks.add(a_task(state="starting", user="ann"), a_spec())
        failed = StartFailed(at=at(7), message="no such mount", nodes=frozenset(), give_up=True)
        await change(tx, task, failed, actor=SCHEDULER)
    (row,) = await rows_of_run(service, f"{task.id}.1")
    assert (row.outcome, row.reason, row.length) == (LedgerOutcome.BROKEN, Reason.START_FAILED, timedelta(seconds=7))
