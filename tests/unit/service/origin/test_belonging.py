"""Runs of the database and orphaned ones, after its restore and beside another platform (decision 0016)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.verdicts import why
from hai_scheduler.service.origin.lineage import begin_epoch
from kit.builders import a_launch
from kit.memory.behaviour import Behaviour
from unit.service.origin.restored_world import LONG, SHORT, World, take_over
from unit.service.service_world import ADMIN, user


async def test_a_live_run_of_a_forgotten_task_is_left_alone_and_its_node_is_not_used(world: World) -> None:
    backup = world.backup()
    old = await world.submit("old", "alice", does=LONG)
    await world.step(1)
    ((node, (run,)),) = world.cluster.record.holders().items()
    world.restore(backup)
    await take_over(world)
    assert world.cluster.record.kills == []
    assert world.cluster.record.holders() == {node: (run,)}
    assert await world.orphans() == [run] == [RunId(f"{old}.1")]
    both = await world.submit("both", "bob", nodes=2)
    one = await world.submit("one", "bob", does=LONG)
    await world.step(1)
    assert await world.states(both, one) == ["queued", "running"]
    verdict = world.loop.cycle.latest_plan.verdicts[both]
    assert "1 node is held by runs that belong to no task any more" in why(ENGLISH, verdict, world.clock.now())
    (event,) = await world.events("run.orphaned")
    assert (event.data["run"], event.data["user"], event.data["nodes"]) == (run, "alice", [node])
    await world.loop.cycle.telling.at_once()
    assert "`hai admin orphans list`" in str((await world.platform.health.look()).wrong)


async def test_a_start_of_which_only_the_order_to_end_it_is_left_is_not_repeated(world: World) -> None:
    """The run was decided before the backup, and ended after it without having been launched."""
    launch = world.cluster.launch

    async def away(_: object) -> None:
        raise Temporary("the nodes cannot be reached")

    world.cluster.launch = away  # type: ignore[method-assign]
    task = await world.submit("old", "alice", does=LONG)
    await world.step()
    backup = world.backup()
    await world.platform.tasks.submissions.stop(user("alice"), str(task))
    await world.step(1)
    assert await world.states(task) == ["stopped"]
    world.cluster.launch = launch  # type: ignore[method-assign]
    world.restore(backup)
    await take_over(world)
    await world.step(60)
    assert await world.states(task) == ["running"]
    run = (await world.task(task)).run
    assert run is not None
    assert run.id != f"{task}.1"


async def test_after_hai_restore_too_no_start_of_the_lost_past_is_repeated(world: World) -> None:
    """The command begins the epoch itself, so the service that starts then finds nothing to begin."""
    launch = world.cluster.launch

    async def away(_: object) -> None:
        raise Temporary("the nodes cannot be reached")

    world.cluster.launch = away  # type: ignore[method-assign]
    task = await world.submit("old", "alice", does=SHORT)
    await world.step()
    backup = world.backup()
    world.cluster.launch = launch  # type: ignore[method-assign]
    await world.step(10)
    await world.step(30)
    assert await world.states(task) == ["succeeded"]
    await world.cluster.forget(RunId(f"{task}.1"))
    world.restore(backup)
    async with world.store.write() as tx:
        mark = await begin_epoch(tx, await world.cluster.marks(), [], world.clock.now())
    await world.cluster.put_mark(mark)
    await take_over(world)
    await world.step(60)
    assert world.cluster.record.launches.count(RunId(f"{task}.1")) == 1
    assert await world.states(task) == ["succeeded"]


async def test_when_an_orphan_has_ended_it_is_put_aside_and_its_node_is_used_again(world: World) -> None:
    backup = world.backup()
    await world.submit("old", "alice", nodes=2, does=Behaviour(work=timedelta(seconds=60)))
    await world.step(1)
    world.restore(backup)
    await take_over(world)
    new = await world.submit("new", "bob", nodes=2, does=LONG)
    await world.step(1)
    assert await world.states(new) == ["queued"]
    await world.step(100)
    assert await world.states(new) == ["running"]
    assert await world.orphans() == []
    assert list(world.cluster.record.aside) == [RunId("1.1")]
    assert len(await world.events("run.orphan_ended")) == 1
    (aside,) = await world.events("runs.aside")
    assert aside.data["runs"] == [{"run": "1.1", "user": "alice", "origin": str(await self_origin(world))}]
    await world.loop.cycle.telling.at_once()
    assert (await world.platform.health.look()).wrong is None


async def self_origin(world: World) -> Origin:
    """The origin with which runs were marked before the restore."""
    mark = await world.mark()
    return Origin(mark.database, mark.epoch - 1)


async def test_runs_that_the_older_database_knows_are_adopted(world: World) -> None:
    known = await world.submit("known", "alice", does=Behaviour(work=timedelta(minutes=10)))
    await world.step(30)
    backup = world.backup()
    other = await world.submit("other", "alice", does=SHORT)
    await world.step(20)
    world.restore(backup)
    await take_over(world)
    assert await world.states(known) == ["running"]
    assert (await world.task(known)).run.number == 1
    await world.step(700)
    assert await world.states(known) == ["succeeded"]
    assert world.cluster.record.kills == []
    assert RunId(f"{other}.1") in world.cluster.record.aside


async def test_a_task_does_not_run_beside_an_orphan_of_its_own(world: World) -> None:
    task = await world.submit("t", "alice", does=Behaviour(work=timedelta(minutes=10)))
    backup = world.backup()
    await world.step(1)
    world.restore(backup)
    await take_over(world)
    assert await world.states(task) == ["queued"]
    assert (await world.task(task)).held
    assert await world.orphans() == [RunId(f"{task}.1")]
    await world.step(900)
    assert not (await world.task(task)).held, "it is released when the orphan has ended"
    assert (await world.task(task)).run.number == 2


async def test_a_start_that_nothing_is_seen_of_is_not_repeated_under_its_old_number(world: World) -> None:
    task = await world.submit("t", "alice", does=SHORT)
    world.cluster.launch, launch = refuse, world.cluster.launch
    await world.step(0, ticks=1)
    assert await world.states(task) == ["starting"]
    backup = world.backup()
    world.cluster.launch = launch
    await world.step(1)
    await world.step(30)
    assert await world.states(task) == ["succeeded"]
    await world.cluster.forget(RunId(f"{task}.1"))  # as a cluster does that keeps no run that is settled
    world.restore(backup)
    await take_over(world)
    assert (await world.task(task)).run.number == 2
    assert world.cluster.record.launches.count(RunId(f"{task}.1")) == 1


async def refuse(_order: object) -> None:
    raise Temporary("the cluster takes nothing now")


class TestTheMark:
    async def test_it_is_written_before_anything_is_launched(self, world: World) -> None:
        async def put_mark(_mark: object) -> None:
            raise Temporary("the disk is full")

        world.cluster.put_mark, put = put_mark, world.cluster.put_mark
        task = await world.submit("t", "alice", does=SHORT)
        await world.step(1)
        assert world.cluster.record.launches == []
        assert "disk is full" in world.loop.cycle.latest_plan.trouble
        world.cluster.put_mark = put
        await world.step(1)
        assert await world.states(task) == ["running"]
        assert world.loop.cycle.latest_plan.trouble is None

    async def test_ticks_that_change_nothing_write_nothing(self, world: World) -> None:
        await world.submit("t", "alice", does=LONG)
        await world.step(1)
        before = world.cluster.record.marks_written
        await world.step(100, ticks=20)
        assert world.cluster.record.marks_written == before

    async def test_a_leader_that_another_has_followed_launches_nothing(self, world: World) -> None:
        await world.submit("t", "alice", does=SHORT)
        mark = await world.mark()
        await world.cluster.put_mark(replace(mark, steps=mark.steps + 5))
        await world.step(1, ticks=1)
        assert world.cluster.record.launches == []


class TestAnotherPlatform:
    """Two platforms that share a namespace of Kubernetes, though they should not."""

    async def test_its_runs_are_never_touched(self, world: World) -> None:
        world.cluster.exclusive = False
        theirs = replace(a_launch_of(world), origin=Origin("somebodyelse", 1))
        await world.cluster.launch(theirs)
        world.cluster.jobs.script(theirs.task_id, SHORT)
        await world.step(1)
        assert world.cluster.record.kills == []
        await world.step(10_000)
        assert (world.cluster.record.aside, world.cluster.record.finalized) == ({}, [])

    async def test_an_order_to_end_what_never_began_stays_no_longer_than_it_is_of_use(self, world: World) -> None:
        world.cluster.exclusive = False
        backup = world.backup()
        task = await world.submit("t", "alice", does=SHORT)
        await world.cluster.kill(RunId(f"{task}.1"))
        world.restore(backup)
        await take_over(world)
        (shown,) = await world.platform.orphans.show(ADMIN)
        assert (shown.run_id, shown.live) == (f"{task}.1", False)
        await world.step(3600, ticks=3)
        assert await world.platform.orphans.show(ADMIN) == ()
        assert await world.cluster.observe() == []

    async def test_an_older_epoch_of_our_own_is_put_aside_there_as_well(self, world: World) -> None:
        world.cluster.exclusive = False
        backup = world.backup()
        await world.submit("t", "alice", does=SHORT)
        await world.step(20)
        world.restore(backup)
        await take_over(world)
        assert list(world.cluster.record.aside) == [RunId("1.1")]


def a_launch_of(world: World):
    return a_launch(7, nodes=(min(world.cluster._nodes),))


class TestUpgrades:
    async def test_runs_without_a_mark_stay_with_a_database_that_knows_them(self, world: World) -> None:
        task = await world.submit("t", "alice", does=LONG)
        await world.step(1)
        # As an older version would have left it.
        world.cluster._marks.clear()
        run = world.cluster.record.runs[RunId(f"{task}.1")]
        run.launch = replace(run.launch, origin=None)
        stored = await world.task(task)
        async with world.store.write() as tx:
            await tx.tasks.save(replace(stored, run=replace(stored.run, origin=None)))
        world.restart()
        await take_over(world)
        assert await world.states(task) == ["running"]
        assert (await world.mark()).epoch == 1
        assert await world.orphans() == []
        assert world.cluster.record.kills == []

    async def test_those_that_it_does_not_know_are_orphans_and_their_ids_are_left_out(self, world: World) -> None:
        await world.lose_database()
        world.cluster._marks.clear()
        await world.cluster.launch(replace(a_launch_of(world), origin=None))
        await take_over(world)
        assert await world.orphans() == [a_launch_of(world).run_id]
        assert await world.submit("t", "alice") > 7
