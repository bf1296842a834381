"""What becomes of the tasks of a user who is archived."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.ports.values import ArchivedUser, UserRecord
from hai_scheduler.service.people import stopping
from hai_scheduler.service.shared.caller import SCOPE_ARCHIVE, Caller
from hai_scheduler.service.shared.errors import Conflict, Forbidden
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, Service, user


@pytest.fixture
async def service() -> Service:
    service = await Service().open()
    async with service.store.write() as tx:
        for name in ("ann", "bob"):
            await tx.users.put(UserRecord(name=name))
    return service


async def test_live_tasks_save_and_are_stopped_and_those_of_others_go_on(service: Service) -> None:
    running = await service.submit("running", "ann", 2, Behaviour(saves_in=timedelta(seconds=5)))
    other = await service.submit("other", "bob", 1)
    await service.step(60)
    waiting = await service.submit("waiting", "ann", 4)
    held = await service.submit("held", "ann", 1, hold=True)
    await service.step()
    assert await service.states(running, other, waiting, held) == ["running", "running", "queued", "queued"]
    done = await service.platform.people.archiving.archive(ADMIN, "ann", "left")
    assert (done.user.by, done.user.note, done.stopped) == ("root", "left", 3)
    assert await service.states(running, waiting, held) == ["stopping", "stopped", "stopped"]
    await service.step()
    await service.step(6)
    assert await service.states(running, other) == ["stopped", "running"]
    ended = await service.task(running)
    assert (ended.reason, ended.run.reason, ended.run.left) == (
        Reason.OWNER_ARCHIVED,
        Reason.OWNER_ARCHIVED,
        Left.SAVED,
    )


async def test_nobody_archives_themselves_and_a_service_with_a_users_name_is_not_that_user(service: Service) -> None:
    archiving = service.platform.people.archiving
    with pytest.raises(Conflict, match="nobody can archive themselves"):
        await archiving.archive(ADMIN, ADMIN.name)
    hub = Caller(name="ann", kind="service", scopes=frozenset({SCOPE_ARCHIVE}))
    assert (await archiving.archive(hub, "ann")).user.name == "ann"


async def test_tasks_are_stopped_in_several_transactions(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "BATCH", 3)
    ids = [await service.submit(f"t{number}", "ann", 1, hold=True) for number in range(7)]
    done = await service.platform.people.archiving.archive(ADMIN, "ann")
    assert done.stopped == 7
    assert set(await service.states(*ids)) == {"stopped"}


async def test_the_loop_stops_what_an_api_that_died_has_left(service: Service) -> None:
    task = await service.submit("t", "ann", 1)
    await service.step(10)
    async with service.store.write() as tx:
        await tx.users.archive(ArchivedUser(name="ann", at=service.clock.now(), by="root"))
    assert await service.loop.housekeeping.stop_tasks_of_archived() == 1
    assert await service.loop.housekeeping.stop_tasks_of_archived() == 0
    await service.step(60)
    assert await service.states(task) == ["stopped"]
    (line,) = [event for event in await service.events("run.notice") if event.task_id == task]
    assert line.actor == "scheduler"


async def test_a_submission_that_has_passed_all_checks_is_refused_at_last(service: Service) -> None:
    async with service.store.write() as tx:
        await tx.users.archive(ArchivedUser(name="ann", at=service.clock.now(), by="root"))
    with pytest.raises(Forbidden, match="ann is archived"):
        await service.submit("t", "ann", 1)
    await service.submit("t", "bob", 1)


async def test_only_admins_archive(service: Service) -> None:
    archives = service.platform.people.archiving
    for act in (archives.archive(user("bob"), "ann"), archives.restore(user("bob"), "ann")):
        with pytest.raises(Forbidden):
            await act
    async with service.store.read() as tx:
        assert await tx.users.archived() == {}


async def test_old_entries_of_the_audit_are_forgotten_by_the_policy_number(service: Service) -> None:
    await service.platform.people.archiving.archive(ADMIN, "ann")
    await service.platform.people.archiving.restore(ADMIN, "ann")
    keep = service.loop.housekeeping.policies.current.default.keep_audit
    assert keep == timedelta(days=400)
    await service.clock.advance((keep - timedelta(hours=1)).total_seconds())
    assert await service.loop.housekeeping.sweep_audit() == 0
    await service.clock.advance(7200)
    assert await service.loop.housekeeping.sweep_audit() == 2
