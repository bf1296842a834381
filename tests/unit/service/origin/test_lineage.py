"""Whether the database is older than the runs on its cluster, and the epoch that begins then (decision 0016)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.origin.lineage import begin_epoch, is_behind, parts_of
from kit.builders import at
from kit.memory.behaviour import Behaviour
from kit.memory.store import MemoryStore
from unit.service.origin.restored_world import LONG, SHORT, World, take_over
from unit.service.service_world import user


async def test_an_id_is_not_given_again_and_no_user_sees_anothers_log(world: World) -> None:
    backup = world.backup()
    old = await world.submit("secret", "alice", does=Behaviour(work=timedelta(seconds=5), prints=("alice's own",)))
    await world.step(1)
    await world.step(20)
    assert await world.states(old) == ["succeeded"]
    world.restore(backup)
    await take_over(world)
    new = await world.submit("mine", "bob", does=Behaviour(work=timedelta(seconds=60), prints=("bob's own",)))
    assert new > old
    await world.step(1)
    assert await world.states(new) == ["running"], "it does not succeed without a process"
    await world.step(70)
    assert await world.states(new) == ["succeeded"]
    assert await world.log(new, "bob") == ["bob's own"]


@pytest.mark.parametrize("how", ["an older copy", "no database"])
async def test_ids_go_on_beyond_all_that_were_accepted(world: World, how: str) -> None:
    backup = world.backup()
    await world.submit("first", "alice", nodes=2, does=LONG)
    given = [await world.submit(f"t{n}", "alice", nodes=2) for n in range(20)]
    await world.step(1)
    late = [await world.submit(f"late{n}", "alice", nodes=2) for n in range(5)]  # no tick has reported these runs
    if how == "no database":
        await world.lose_database()
    else:
        world.restore(backup)
    await take_over(world)
    assert await world.submit("new", "bob") > max(given + late)


async def test_a_known_task_gets_a_run_with_a_number_that_none_has_had(world: World) -> None:
    task = await world.submit("t", "alice", does=Behaviour(work=timedelta(minutes=10)))
    await world.step(1)
    backup = world.backup()
    for _ in range(2):  # runs 2 and 3 of the task, in the past that is lost
        await world.platform.tasks.submissions.suspend(user("alice"), str(task))
        await world.step(60)
        await world.platform.tasks.submissions.resume(user("alice"), str(task))
        await world.step(1)
    assert (await world.task(task)).run.number == 3
    world.cluster.jobs.finish(RunId(f"{task}.3"), 1)
    await world.step(1)
    world.restore(backup)
    await take_over(world)
    run = (await world.task(task)).run
    assert run.number == 4
    assert run.origin == Origin((await world.mark()).database, 2)
    assert await world.states(task) == ["running"]
    page = await world.platform.logs.reading.page(user("alice"), str(task))
    assert [line.run for line in page.lines if "started" in line.text] == [1, 4], "the log goes on over the gap"


async def test_an_epoch_begins_once_and_only_if_the_database_is_behind(world: World) -> None:
    await world.submit("a", "alice", does=SHORT)
    await world.step(20)
    world.restart()
    await take_over(world)
    assert (await world.mark()).epoch == 1, "a restart is no restore"
    backup = world.backup()
    await world.submit("b", "alice", does=SHORT)
    await world.step(20)
    world.restore(backup)
    await take_over(world)
    world.restart()
    await take_over(world)
    assert (await world.mark()).epoch == 2
    (event,) = await world.events("database.epoch")
    assert (event.data["epoch"], event.data["before"], event.data["first_task"]) == (2, 1, 1001)


async def test_a_database_that_goes_back_under_its_leader_is_noticed(world: World) -> None:
    backup = world.backup()
    await world.submit("a", "alice", does=LONG)
    await world.step(1)
    world.store._state = replace(backup, lease=world.store._state.lease)  # a failover to a replica that lagged
    await world.step(1)
    assert (await world.mark()).epoch == 2
    assert await world.orphans() == [RunId("1.1")]
    assert world.cluster.record.kills == []


async def test_restored_twice_to_the_same_copy_ids_still_do_not_repeat(world: World) -> None:
    backup = world.backup()
    ids = []
    for _ in range(3):
        ids.append(await world.submit("t", "alice", does=LONG))
        await world.step(1)
        world.restore(backup)
        await take_over(world)
    assert ids == sorted(set(ids))
    assert (await world.mark()).epoch == 4
    assert len(await world.orphans()) == 2, "the third found no free node"


# -- the decisions by themselves -----------------------------------------------------------------------------

OWN = Mark(database="own", epoch=2, steps=10, task=7, number=3)
OTHER = Mark(database="other", epoch=9, steps=99, task=99, number=9)

#: sentence, the marks of the cluster, whether it shows runs that the database does not know, whether it is behind
BEHIND = [
    ("a new cluster", [], False, False),
    ("a cluster with runs of an older version", [], True, True),
    ("its own mark", [OWN], False, False),
    ("its own mark, beside strange runs", [OWN], True, False),
    ("its own mark of before", [replace(OWN, steps=9)], False, False),
    ("more steps", [replace(OWN, steps=11)], False, True),
    ("a later epoch", [replace(OWN, epoch=3, steps=0, task=0, number=0)], False, True),
    ("a greater task", [replace(OWN, task=8)], False, True),
    ("a greater run number", [replace(OWN, number=4)], False, True),
    ("another database alone", [OTHER], False, True),
    ("another database beside its own mark", [OTHER, OWN], True, False),
    ("another database, and it is behind", [OTHER, replace(OWN, steps=11)], False, True),
]


@pytest.mark.parametrize(("marks", "strangers", "behind"), [row[1:] for row in BEHIND], ids=[row[0] for row in BEHIND])
def test_whether_a_database_is_behind(marks: list[Mark], strangers: bool, behind: bool) -> None:
    assert is_behind(OWN, iter(marks), strangers=strangers) is behind


async def new_mark(store: MemoryStore, marks: list[Mark], *runs: str) -> Mark:
    async with store.write() as tx:
        return await begin_epoch(tx, marks, [RunId(run) for run in runs], at())


async def test_the_ids_of_an_epoch_are_greater_than_all_that_are_known() -> None:
    store = MemoryStore()
    async with store.read() as tx:
        own = await tx.database.mark()
    made = await new_mark(store, [replace(own, steps=40, task=120), OTHER], "7000.2", "3.12")
    assert (made.database, made.epoch, made.steps) == (own.database, 10, 40), "steps of another database count not"
    async with store.read() as tx:
        past = await tx.database.lost_past()
    assert (past.first_task, past.above) == (8001, 12)
    (event,) = await events_of(store)
    assert event.data == {"database": own.database, "epoch": 10, "before": 1, "first_task": 8001, "above": 12}
    again = await new_mark(store, [made])
    assert again.epoch == 11


@pytest.mark.parametrize(("task", "first"), [(0, 1001), (499, 1001), (500, 1001), (501, 2001), (1500, 2001)])
async def test_tasks_that_came_after_the_last_mark_have_room_before_the_next_round_number(
    task: int, first: int
) -> None:
    store = MemoryStore()
    await new_mark(store, [replace(OTHER, task=task)])
    async with store.read() as tx:
        assert (await tx.database.lost_past()).first_task == first


def test_a_run_is_known_by_task_and_number() -> None:
    assert parts_of(RunId("12.3")) == (12, 3)


async def events_of(store: MemoryStore) -> list[HistoryEvent]:
    async with store.read() as tx:
        return list(await tx.events.page(after=0, limit=100))
