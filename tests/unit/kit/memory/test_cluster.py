"""What is particular to the memory cluster: scripts, notices, trouble on demand and what tests can assert."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.core.model.run import Notice, RankState
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.errors import Absent, Temporary
from kit.builders import T0, a_checkpoint, a_launch, a_node, a_notice, a_run, a_spec, a_task, at, some_nodes
from kit.memory.behaviour import Behaviour
from kit.memory.clock import VirtualClock
from kit.memory.cluster import MemoryCluster, notices_of
from kit.stores import ScratchStore

ONE = RunId("1.1")


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


class World:
    """A clock, a cluster of four nodes, and short words for what happens."""

    def __init__(self, **behaviour: Any) -> None:
        self.clock = VirtualClock(T0)
        self.cluster = MemoryCluster(self.clock, some_nodes(4), behaviour=Behaviour(**behaviour))

    async def start(self, task: int = 1, number: int = 1, nodes: int = 2) -> None:
        names = [f"node-{n}" for n in range(1, nodes + 1)]
        await self.cluster.launch(a_launch(task, number, nodes=names))

    async def ranks(self, run_id: str = ONE) -> tuple[RankObservation, ...]:
        return next(seen.ranks for seen in await self.cluster.observe() if seen.run_id == run_id)

    async def states(self, run_id: str = ONE) -> list[str]:
        return [rank.state.value for rank in await self.ranks(run_id)]

    async def tell(self, **notice: Any) -> None:
        self.cluster.jobs.tell(ONE, a_notice(at=self.clock.now(), **notice))


def test_it_is_a_cluster() -> None:
    cluster: Cluster = MemoryCluster(VirtualClock())
    assert cluster


async def test_a_run_takes_its_time_to_start_and_to_work() -> None:
    world = World(start_takes=seconds(5), warm_up=seconds(10), work=seconds(60), exit_code=3)
    await world.start()
    assert await world.states() == ["pending", "pending"]
    await world.clock.advance(5)
    assert await world.states() == ["running", "running"]
    await world.clock.advance(69.999)
    assert await world.states() == ["running", "running"]
    await world.clock.advance(0.001)
    assert [(rank.state, rank.exit_code) for rank in await world.ranks()] == [(RankState.EXITED, 3)] * 2


async def test_one_rank_may_fail_while_the_others_hang() -> None:
    world = World(work=seconds(60), exit_code=1, failing_rank=1)
    await world.start()
    await world.clock.advance(1000)
    assert await world.states() == ["running", "exited"]


async def test_a_rank_that_cannot_be_started_says_why() -> None:
    world = World(start_error="the disk is full")
    await world.start()
    assert [(rank.state, rank.exit_code, rank.start_error) for rank in await world.ranks()] == [
        (RankState.EXITED, None, "the disk is full")
    ] * 2


async def test_a_rank_may_be_lost() -> None:
    world = World(lost_after=seconds(7), lost_rank=1)
    await world.start()
    await world.clock.advance(7)
    assert await world.states() == ["running", "lost"]


async def test_a_told_run_saves_and_leaves() -> None:
    world = World(saves_in=seconds(20), leave_code=143)
    await world.start()
    await world.clock.advance(100)
    await world.tell()
    await world.clock.advance(19)
    ranks = await world.ranks()
    assert [(rank.state, rank.notified_at, rank.done) for rank in ranks] == [(RankState.RUNNING, at(100), False)] * 2
    await world.clock.advance(1)
    ranks = await world.ranks()
    assert [(rank.state, rank.exit_code, rank.done) for rank in ranks] == [(RankState.EXITED, 143, True)] * 2
    assert ranks[0].checkpoint is not None
    assert (ranks[0].checkpoint.at, ranks[0].checkpoint.step) == (at(120), 120)


async def test_one_rank_may_say_done_for_all() -> None:
    world = World(done_for_all=1)
    await world.start()
    await world.tell()
    assert [(rank.done, rank.done_all) for rank in await world.ranks()] == [(False, False), (True, True)]


async def test_a_run_that_is_told_while_it_starts_hears_of_it_when_it_is_up() -> None:
    world = World(start_takes=seconds(30), saves_in=seconds(5))
    await world.start()
    await world.tell()
    await world.clock.advance(29)
    assert await world.states() == ["pending", "pending"]
    assert [rank.notified_at for rank in await world.ranks()] == [None, None]
    await world.clock.advance(5)
    assert await world.states() == ["running", "running"]
    assert [rank.notified_at for rank in await world.ranks()] == [at(30), at(30)]
    await world.clock.advance(1)
    assert await world.states() == ["exited", "exited"]


async def test_an_extension_changes_nothing_for_the_job() -> None:
    world = World(saves_in=seconds(20))
    await world.start()
    await world.tell()
    await world.clock.advance(10)
    await world.tell(revision=2)
    await world.clock.advance(10)
    assert await world.states() == ["exited", "exited"]


async def test_a_job_that_ignores_notices_runs_until_it_is_killed() -> None:
    world = World(saves_in=None, dies_in=seconds(4))
    await world.start()
    await world.tell()
    await world.clock.advance(1000)
    assert await world.states() == ["running", "running"]
    await world.cluster.kill(ONE)
    await world.clock.advance(3.9)
    assert await world.states() == ["running", "running"]
    await world.clock.advance(0.1)
    assert [(rank.exit_code, rank.done) for rank in await world.ranks()] == [(143, False)] * 2
    assert world.cluster.record.kills == [ONE]


async def test_one_who_ignores_sigterm_is_gone_after_ten_seconds() -> None:
    world = World(dies_in=timedelta.max)
    await world.start()
    await world.cluster.kill(ONE)
    await world.clock.advance(10)
    assert [rank.exit_code for rank in await world.ranks()] == [137, 137]


async def test_work_goes_on_from_what_was_saved() -> None:
    world = World(work=seconds(100), warm_up=seconds(10), saves_in=seconds(0))
    await world.start()
    await world.clock.advance(70)
    await world.tell()
    assert world.cluster.record.saved_work(1) == seconds(60)
    await world.cluster.forget(ONE)
    await world.start(number=2)
    await world.clock.advance(49.9)
    assert await world.states("1.2") == ["running", "running"]
    await world.clock.advance(0.1)
    assert await world.states("1.2") == ["exited", "exited"]


@pytest.mark.parametrize(("every", "saved"), [(None, 0), (30, 60)])
async def test_a_killed_run_loses_what_it_had_not_saved(every: float | None, saved: float) -> None:
    world = World(work=seconds(1000), saves_every=None if every is None else seconds(every))
    await world.start()
    await world.clock.advance(80)
    await world.cluster.kill(ONE)
    await world.clock.advance(500)
    assert world.cluster.record.saved_work(1) == seconds(saved)
    checkpoint = (await world.ranks())[0].checkpoint
    assert (checkpoint and checkpoint.step) == (saved or None)


async def test_a_run_that_lost_a_rank_before_it_had_saved_has_not_saved() -> None:
    world = World(work=seconds(1000), saves_in=seconds(20))
    await world.start()
    await world.clock.advance(50)
    await world.tell()
    await world.clock.advance(10)
    world.cluster.faults.lose_rank(ONE, 1)
    await world.clock.advance(10)
    assert world.cluster.record.saved_work(1) == seconds(0)


async def test_a_job_may_leave_by_itself() -> None:
    world = World(yields_after=seconds(30))
    await world.start()
    await world.clock.advance(30)
    assert [(rank.exit_code, rank.done, rank.notified_at) for rank in await world.ranks()] == [(0, True, None)] * 2


async def test_a_script_is_for_one_task_and_a_function_for_all_others() -> None:
    clock = VirtualClock(T0)
    cluster = MemoryCluster(
        clock, some_nodes(4), behaviour=lambda launch: Behaviour(work=seconds(0), exit_code=int(launch.command[1]))
    )
    cluster.jobs.script(1, Behaviour(work=seconds(0), exit_code=9))
    await cluster.launch(a_launch(1, command=("exit", "5")))
    await cluster.launch(a_launch(2, command=("exit", "5"), nodes=("node-2",)))
    assert [seen.ranks[0].exit_code for seen in await cluster.observe()] == [9, 5]


async def test_notices_are_asked_for_at_every_look() -> None:
    clock = VirtualClock(T0)
    given: dict[str, Notice] = {}

    async def notices(run_ids: Collection[RunId]) -> Mapping[RunId, Notice]:
        return {run_id: given[run_id] for run_id in run_ids if run_id in given}

    cluster = MemoryCluster(clock, some_nodes(2), behaviour=Behaviour(saves_in=seconds(5)), notices=notices)
    await cluster.launch(a_launch())
    await cluster.observe()
    await clock.advance(10)
    given[ONE] = a_notice(at=at(10))
    (seen,) = await cluster.observe()
    assert seen.ranks[0].notified_at == at(10)
    await clock.advance(5)
    (seen,) = await cluster.observe()
    assert seen.ranks[0].state is RankState.EXITED


async def test_notices_can_come_from_the_store() -> None:
    store = ScratchStore()
    ask = notices_of(store)
    async with store.write() as tx:
        task = await tx.tasks.add(a_task(), a_spec())
        task = await tx.tasks.save(replace(task, run=a_run(task.id, notice=a_notice())))
        assert task.run is not None
    assert await ask([ONE, RunId("1.2"), RunId("7.1")]) == {ONE: task.run.notice}


async def test_a_node_that_dies_takes_its_ranks_along_until_it_is_brought_back() -> None:
    world = World()
    await world.start()
    world.cluster.faults.lose_node("node-2")
    assert await world.states() == ["running", "lost"]
    assert [node.ready for node in await world.cluster.nodes()] == [True, False, True, True]
    with pytest.raises(Temporary, match="node-2"):
        await world.start(2)
    await world.cluster.kill(ONE)
    world.cluster.faults.put_node(a_node("node-2"))
    await world.start(2)
    assert await world.states("2.1") == ["running", "running"]
    world.cluster.record.check()


async def test_what_runs_on_a_node_that_cannot_be_reached_goes_on() -> None:
    world = World()
    await world.start()
    world.cluster.faults.put_node(a_node("node-2", ready=False))
    assert await world.states() == ["running", "running"]
    await world.start()
    assert world.cluster.record.holders() == {"node-1": (ONE,), "node-2": (ONE,)}


async def test_a_removed_node_is_no_longer_shown() -> None:
    world = World()
    await world.start()
    world.cluster.faults.remove_node("node-1")
    assert await world.states() == ["lost", "running"]
    assert len(await world.cluster.nodes()) == 3


async def test_a_launch_that_broke_off_is_completed_by_the_next() -> None:
    world = World()
    for after, started in [(0, 0), (1, 1)]:
        world.cluster.faults.break_launch(after)
        with pytest.raises(Temporary):
            await world.start()
        assert sum(len(seen.ranks) for seen in await world.cluster.observe()) == started
    await world.clock.advance(9)
    await world.start()
    assert await world.states() == ["running", "running"]
    assert world.cluster.record.launches == [ONE] * 3


async def test_while_it_is_down_nothing_can_be_reached_and_runs_go_on() -> None:
    world = World(work=seconds(5))
    await world.start()
    world.cluster.faults.down = True
    for reach in (
        world.cluster.nodes(),
        world.cluster.observe(),
        world.start(2),
        world.cluster.kill(ONE),
        world.cluster.read_log(ONE, 0, offset=0, limit=10),
    ):
        with pytest.raises(Temporary):
            await reach
    await world.clock.advance(5)
    world.cluster.faults.down = False
    assert await world.states() == ["exited", "exited"]


async def test_two_runs_on_one_node_are_found_out() -> None:
    world = World()
    await world.start(1)
    await world.cluster.launch(a_launch(2, nodes=("node-2", "node-3")))
    (overlap,) = world.cluster.record.overlaps
    assert (overlap.node, overlap.holder, overlap.intruder) == ("node-2", "1.1", "2.1")
    with pytest.raises(AssertionError, match="node-2"):
        world.cluster.record.check()


@pytest.mark.parametrize(
    ("first", "second", "clashes"),
    [
        pytest.param((0, 1), (2, 3), False, id="other GPUs are another's"),
        pytest.param((0, 1), (1, 2), True, id="one GPU in common"),
        pytest.param((0,), (), True, id="the whole node while a GPU is held"),
        pytest.param((), (7,), True, id="a GPU while the whole node is held"),
    ],
)
async def test_a_node_is_shared_by_gpus_and_each_gpu_is_one_runs(
    first: tuple[int, ...], second: tuple[int, ...], clashes: bool
) -> None:
    world = World()
    await world.cluster.launch(a_launch(1, gpus=(first,) if first else ()))
    await world.cluster.launch(a_launch(2, gpus=(second,) if second else ()))
    assert bool(world.cluster.record.overlaps) == clashes
    assert world.cluster.record.holders() == {"node-1": (ONE, "2.1")}
    assert world.cluster.record.peak == 1
    await world.cluster.kill(ONE)
    await world.clock.advance(60)
    assert world.cluster.record.holders() == {"node-1": ("2.1",)}


async def test_a_node_is_free_when_its_rank_is_gone_and_not_before() -> None:
    world = World(dies_in=seconds(2))
    await world.start(1)
    await world.cluster.kill(ONE)
    await world.clock.advance(2)
    await world.start(2)
    world.cluster.record.check()
    await world.cluster.kill(RunId("2.1"))
    await world.clock.advance(1)
    await world.start(3)
    assert len(world.cluster.record.overlaps) == 2


async def test_the_peak_is_the_most_nodes_held_at_once() -> None:
    world = World(work=seconds(10))
    await world.start(nodes=3)
    await world.clock.advance(10)
    await world.start(2, nodes=2)
    assert world.cluster.record.peak == 3


async def test_runs_are_shown_for_a_while_after_their_end_and_kept_until_they_are_forgotten() -> None:
    clock = VirtualClock(T0)
    cluster = MemoryCluster(clock, some_nodes(1), behaviour=Behaviour(work=seconds(0)), remember=seconds(60))
    await cluster.launch(a_launch())
    await clock.advance(60)
    assert len(await cluster.observe()) == 1
    await clock.advance(1)
    assert await cluster.observe() == []
    assert (await cluster.read_log(ONE, 0, offset=0, limit=10)).final
    await cluster.forget(ONE)
    with pytest.raises(Absent):
        await cluster.read_log(ONE, 0, offset=0, limit=10)


async def test_changes_wake_at_orders_and_when_something_happens_by_itself() -> None:
    world = World(start_takes=seconds(5), work=seconds(10))
    wakes: list[float] = []

    async def listen() -> None:
        async for _ in world.cluster.changes():
            wakes.append((world.clock.now() - T0).total_seconds())  # noqa: PERF401 - read while it goes on

    listening = asyncio.create_task(listen())
    await world.clock.advance(1)
    await world.start()
    await world.clock.advance(100)
    assert wakes == [1, 6, 16]
    world.cluster.faults.lose_node("node-4")
    await world.clock.settle()
    assert wakes == [1, 6, 16, 101]
    await world.cluster.close()
    await world.clock.settle()
    assert listening.done()
    await listening


async def test_what_happened_before_the_wait_for_changes_wakes_at_once() -> None:
    world = World(work=seconds(10))
    changes = world.cluster.changes()
    first = asyncio.ensure_future(anext(changes))
    await world.clock.settle()
    await world.start()
    await first
    await world.clock.advance(50)
    async with asyncio.timeout(10):
        await anext(changes)


async def test_by_hand_a_job_speaks_and_a_run_ends() -> None:
    world = World()
    await world.start()
    world.cluster.jobs.say(ONE, 0, checkpoint=a_checkpoint(7), job_state="epoch 3")
    world.cluster.jobs.say(ONE, 1, done=True, for_all=True)
    zero, one = await world.ranks()
    assert (zero.checkpoint, zero.job_state, zero.done) == (a_checkpoint(7), "epoch 3", False)
    assert (one.done, one.done_all, one.state) == (True, True, RankState.RUNNING)
    world.cluster.jobs.finish(ONE, 75)
    assert [rank.exit_code for rank in await world.ranks()] == [75, 75]


async def test_a_log_is_stamped_grows_and_can_be_rotated() -> None:
    world = World(prints=("hello",), start_takes=seconds(1))
    await world.start()
    empty = await world.cluster.read_log(ONE, 0, offset=0, limit=100)
    assert (empty.data, empty.final) == (b"", False)
    await world.clock.advance(2)
    world.cluster.jobs.write_log(ONE, 0, "step 1")
    hello, step = b"2026-01-05T08:00:01.000000Z hello\n", b"2026-01-05T08:00:02.000000Z step 1\n"
    chunk = await world.cluster.read_log(ONE, 0, offset=0, limit=1000)
    assert (chunk.start, chunk.data, chunk.final) == (0, hello + step, False)
    assert (await world.cluster.read_log(ONE, 0, offset=0, limit=len(hello) + 5)).data == hello
    assert (await world.cluster.read_log(ONE, 0, offset=0, limit=5)).data == hello[:5]
    world.cluster.jobs.rotate_log(ONE, 0, before=len(hello))
    chunk = await world.cluster.read_log(ONE, 0, offset=3, limit=1000)
    assert (chunk.start, chunk.next, chunk.data) == (len(hello), len(hello + step), step)
    world.cluster.jobs.finish(ONE)
    assert (await world.cluster.read_log(ONE, 0, offset=chunk.next, limit=1000)).final
