"""Two services compete for the lease, and either is paused, crashes or loses the store at any moment.

More of it with, for example, HAI_EXAMPLES=20.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.ports.errors import LeaseLost, Temporary
from hai_scheduler.service.launch.launching import Launching
from hai_scheduler.service.shared.errors import HaiError
from hai_scheduler.service.shared.topics import TICK, run_topic
from hai_scheduler.service.tasks.submission import Submission
from kit.ledger import check_ledger
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, user
from unit.service.two_replicas import Pair

WORK = timedelta(seconds=60)


async def submit(pair: Pair, which: int, name: str, nodes: int = 1, does: Behaviour | None = None) -> TaskId:
    platform = pair.replicas[which].platform
    made = Submission(name=name, command=("train",), cwd="/", nodes=nodes, priority=Priority.NORMAL)
    task = await platform.tasks.submissions.submit(user("ann"), made)
    pair.cluster.jobs.script(task.id, does or Behaviour(work=WORK))
    return task.id


async def state(pair: Pair, task: TaskId) -> TaskState:
    async with pair.store.read() as tx:
        return (await tx.tasks.get(task)).state


# -- the view of the follower -----------------------------------------------------------------------


async def test_the_follower_sees_what_the_leader_sees_and_writes_nothing() -> None:
    pair = await Pair(nodes=2).open()
    leader, follower = pair.replicas
    await submit(pair, 1, "holds", 2)
    waits = await submit(pair, 1, "waits", 2)
    for _ in range(3):
        await leader.loop.cycle.tick()
    before = pair.store._state
    assert await follower.loop.cycle.tick() is False
    assert await follower.platform.follower.look()
    assert pair.store._state is before
    mine, its = follower.loop.cycle.latest_plan, leader.loop.cycle.latest_plan
    assert mine.verdicts == its.verdicts
    assert mine.nodes == its.nodes
    assert mine.snapshot == its.snapshot
    assert (mine.leading, its.leading) == (False, True)
    told = [await one.platform.insight.explanations.explain(user("ann"), str(waits)) for one in (leader, follower)]
    assert told[0] == told[1]
    assert told[0].what_if


async def test_a_leader_does_not_look_as_a_follower_does() -> None:
    pair = await Pair().open()
    leader = pair.replicas[0]
    ticks = leader.loop.cycle.latest_plan.ticks
    assert await leader.platform.follower.look() is False
    assert leader.loop.cycle.latest_plan.ticks == ticks


async def test_the_followers_loop_looks_when_it_hears_of_something_or_is_asked() -> None:
    pair = await Pair().open()
    leader, follower = pair.replicas
    looking = asyncio.create_task(follower.platform.follower.run())
    await pair.clock.settle()
    task = await submit(pair, 0, "one")
    await leader.loop.cycle.tick()
    await pair.clock.advance(0.6)
    seen = follower.loop.cycle.latest_plan.snapshot
    assert seen is not None
    assert [one.id for one in seen.tasks] == [task]
    looks = follower.loop.cycle.latest_plan.ticks
    await pair.clock.advance(60)
    assert follower.loop.cycle.latest_plan.ticks == looks, "no ring and no request has come"
    pair.cluster.faults.down = True
    await follower.platform.follower.asked()
    assert follower.loop.cycle.latest_plan.trouble == "the cluster cannot be reached"
    assert follower.loop.cycle.latest_plan.blind
    await pair.bus.ring(TICK)
    await pair.clock.advance(6)
    pair.cluster.faults.down = False
    await pair.clock.advance(6)
    assert follower.loop.cycle.latest_plan.trouble is None, "a look that failed is repeated"
    assert not follower.loop.cycle.latest_plan.blind
    assert follower.loop.cycle.latest_plan.ticks == looks + 1
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)


async def test_only_the_leader_forgets_what_is_old() -> None:
    pair = await Pair().open()
    task = await submit(pair, 0, "old", does=Behaviour(work=timedelta(0)))
    for _ in range(3):
        await pair.replicas[0].tick()
    await pair.clock.advance(31 * 86_400)
    sweeping = asyncio.create_task(pair.replicas[1].loop.housekeeping.run())
    await pair.clock.advance(4000)
    assert await state(pair, task) is TaskState.SUCCEEDED
    assert await pair.replicas[1].tick()
    await pair.clock.advance(10)
    with pytest.raises(LookupError):
        await state(pair, task)
    sweeping.cancel()
    await asyncio.gather(sweeping, return_exceptions=True)


# -- the lease --------------------------------------------------------------------------------------


async def test_the_other_leads_when_the_lease_has_run_out_and_at_once_when_it_is_given_up() -> None:
    pair = await Pair().open()
    first, second = pair.replicas
    await pair.clock.advance(4.9)
    assert await second.tick() is False
    await pair.clock.advance(0.2)
    assert await second.tick() is True
    assert await first.tick() is False
    assert first.loop.cycle.latest_plan.leading is False
    await second.loop.cycle.leadership.release()
    assert await first.tick() is True


@pytest.mark.parametrize("ahead", [3600.0, -3600.0], ids=["ahead", "behind"])
async def test_clocks_that_disagree_neither_keep_a_dead_leader_nor_make_leaders_take_turns(ahead: float) -> None:
    pair = await Pair(ahead=ahead).open()
    changes, leading = 0, 0
    for _ in range(40):
        await pair.clock.advance(1)
        for number, replica in enumerate(pair.replicas):
            if await replica.tick() and number != leading:
                changes, leading = changes + 1, number
    assert changes <= 1, "whose clock is ahead may take it once"
    other = pair.replicas[1 - leading]
    for _ in range(7):
        await pair.clock.advance(1)
        await other.tick()
    assert other.loop.cycle.latest_plan.leading, "the leader has died"


async def test_an_extension_that_did_not_go_through_counts_for_nothing() -> None:
    pair = await Pair().open()
    first, second = pair.replicas
    await pair.clock.advance(4)
    first.store.failures = ["at"]
    assert await first.tick() is False
    await pair.clock.advance(0.5)
    assert await first.tick() is True
    await pair.clock.advance(4.5)
    assert await second.tick() is False, "it was extended half a second later"


async def test_a_replica_that_has_lost_the_lease_learns_it_at_its_next_transaction() -> None:
    pair = await Pair().open()
    first, second = (replica.loop.cycle.leadership for replica in pair.replicas)
    await pair.clock.advance(6)
    assert await second.seek()
    assert await first.seek(), "as far as it knows"
    with pytest.raises(LeaseLost):
        async with pair.store.write() as tx:
            await first.hold(tx)
    assert not await first.seek()


async def test_the_lease_runs_out_if_it_cannot_be_given_up() -> None:
    pair = await Pair().open()
    first, second = pair.replicas
    first.store.failures = ["before"]
    await first.loop.cycle.leadership.release()
    assert await second.tick() is False
    await pair.clock.advance(6)
    assert await second.tick() is True


# -- what was decided and not done ------------------------------------------------------------------


async def test_an_observation_from_before_another_led_ends_no_run() -> None:
    pair = await Pair().open()
    first, second = pair.replicas
    task = await submit(pair, 0, "one", does=Behaviour(work=timedelta(hours=1)))
    await first.tick_and_pause(3)  # it has seen the nodes, and that no task runs
    assert first.paused
    await pair.clock.advance(6)
    for _ in range(3):
        await second.tick()
    assert await state(pair, task) is TaskState.RUNNING
    await second.loop.cycle.leadership.release()
    await first.go_on()
    for _ in range(3):
        await first.tick()
    assert first.loop.cycle.latest_plan.leading
    assert await state(pair, task) is TaskState.RUNNING
    assert pair.cluster.record.kills == []


async def test_a_notice_that_was_not_rung_is_rung_by_the_next_leader_until_it_was_heard() -> None:
    pair = await Pair().open()
    first, second = pair.replicas
    task = await submit(pair, 0, "one", does=Behaviour(work=timedelta(hours=1), saves_in=None))
    for _ in range(3):
        await first.tick()
    pair.cluster.notices = None  # the rank has not heard of it yet
    async with pair.bus.listen(run_topic(f"{task}.1")) as ears:
        await pair.replicas[0].platform.tasks.submissions.stop(ADMIN, str(task))
        assert await ears.wait(0)
        # That ring was lost, and the leader is dead.
        await pair.restart(0)
        await pair.clock.advance(6)
        await second.tick()
        assert await ears.wait(0)


async def test_a_kill_that_was_decided_by_one_leader_is_carried_out_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = await Pair().open()
    first, second = pair.replicas
    task = await submit(pair, 0, "deaf", does=Behaviour(work=timedelta(hours=1), saves_in=None))
    for _ in range(3):
        await first.tick()
    await first.platform.tasks.submissions.stop(ADMIN, str(task))
    await pair.clock.advance(21)

    def nothing(*_: object, **__: object) -> None:
        """The process dies after the commit."""

    with monkeypatch.context() as patch:
        patch.setattr(Launching, "hand_over", nothing)
        await first.tick()
    assert pair.cluster.record.kills == []
    await pair.restart(0)
    await pair.clock.advance(6)
    for _ in range(3):
        await second.tick()
    assert f"{task}.1" in pair.cluster.record.kills
    await pair.clock.advance(20)
    for _ in range(3):
        await second.tick()
    assert await state(pair, task) is TaskState.STOPPED


@pytest.mark.parametrize("places", range(3, 9))
async def test_a_leader_that_was_paused_before_its_launch_starts_nothing_beside_the_run_that_has_its_node_now(
    places: int,
) -> None:
    pair = await Pair(nodes=1).open()
    first, second = pair.replicas
    early = await submit(pair, 0, "early", does=Behaviour(work=timedelta(hours=1)))
    await first.tick_and_pause(places)
    await pair.replicas[1].platform.tasks.submissions.stop(ADMIN, str(early))
    later = await submit(pair, 1, "later", does=Behaviour(work=timedelta(hours=1)))
    for _ in range(8):
        await pair.clock.advance(30)
        await second.tick()
    assert await state(pair, early) is TaskState.STOPPED
    assert await state(pair, later) is TaskState.RUNNING
    await first.go_on()
    pair.cluster.record.check()
    assert [run_id for runs in pair.cluster.record.holders().values() for run_id in runs] == [f"{later}.1"]


async def test_a_run_that_was_to_be_ended_and_is_not_seen_is_not_over_before_the_cluster_knows_of_the_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = await Pair(nodes=1).open()
    first, second = pair.replicas
    task = await submit(pair, 0, "one", does=Behaviour(work=timedelta(hours=1)))
    await first.tick_and_pause(6)  # the leader has committed the start of the run, and has not launched it
    assert pair.cluster.record.launches == []
    await second.platform.tasks.submissions.stop(ADMIN, str(task))
    await pair.clock.advance(200)

    async def away(_: RunId) -> None:
        raise Temporary("the API server is away")

    with monkeypatch.context() as patch:
        patch.setattr(second.loop.cycle.cluster, "kill", away)
        for _ in range(4):
            await second.tick()
        assert await state(pair, task) is TaskState.STOPPING, "what was ordered may still come"
        await first.go_on()
    for _ in range(4):
        await pair.clock.advance(20)
        await second.tick()
    assert await state(pair, task) is TaskState.STOPPED
    pair.cluster.record.check()


async def test_an_end_that_one_leader_recorded_and_did_not_settle_is_settled_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = await Pair().open()
    first, second = pair.replicas
    task = await submit(pair, 0, "one", does=Behaviour(work=timedelta(seconds=1)))
    for _ in range(2):
        await first.tick()
    await pair.clock.advance(1)

    def nothing(*_: object, **__: object) -> None:
        """The process dies after the commit."""

    with monkeypatch.context() as patch:
        patch.setattr(Launching, "hand_over", nothing)
        await first.tick()
    assert await state(pair, task) is TaskState.SUCCEEDED
    assert pair.cluster.record.finalized == []
    await pair.restart(0)
    await pair.clock.advance(6)
    for _ in range(3):
        await second.tick()
    assert pair.cluster.record.finalized == [f"{task}.1"], "once, and not again"
    assert pair.cluster.record.kills == []


async def test_an_end_that_cannot_be_settled_now_is_settled_later(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = await Pair().open()
    leader = pair.replicas[0]
    task = await submit(pair, 0, "one", does=Behaviour(work=timedelta(seconds=1)))
    for _ in range(2):
        await leader.tick()
    await pair.clock.advance(1)

    async def away(_: RunId) -> None:
        raise Temporary("the API server is away")

    with monkeypatch.context() as patch:
        patch.setattr(pair.cluster, "finalize", away)
        await leader.tick()
    assert leader.loop.cycle.latest_plan.trouble == "the API server is away"
    await leader.tick()
    assert pair.cluster.record.finalized == [f"{task}.1"]
    assert await state(pair, task) is TaskState.SUCCEEDED


# -- whatever happens -------------------------------------------------------------------------------

which = st.integers(0, 1)
behaviours = st.builds(
    Behaviour,
    work=st.sampled_from([timedelta(seconds=s) for s in (5, 60)]),
    exit_code=st.sampled_from([0, 0, 3]),
    saves_in=st.sampled_from([timedelta(0), timedelta(seconds=5), None]),
    start_takes=st.sampled_from([timedelta(0), timedelta(seconds=2)]),
)
actions = st.one_of(
    st.tuples(st.just("submit"), which, st.integers(1, 3), behaviours),
    st.tuples(st.sampled_from(["stop", "suspend", "resume"]), which, st.integers(1, 5)),
    st.tuples(st.just("submit"), which, st.integers(1, 2), behaviours),
    st.tuples(st.just("tick"), which),
    st.tuples(st.just("tick"), which),
    st.tuples(st.just("pause"), which, st.integers(0, 8)),
    st.tuples(st.sampled_from(["pause", "crash"]), which, st.integers(3, 8)),
    st.tuples(st.sampled_from(["go on", "look", "release", "die"]), which),
    st.tuples(st.just("fail"), which, st.sampled_from(["before", "at", "after"])),
    st.tuples(st.just("time"), st.sampled_from([0.5, 3, 6, 25])),
)


async def act(pair: Pair, action: tuple[object, ...]) -> None:  # noqa: C901  # a table of what may happen
    match action:
        case ("time", float(seconds) | int(seconds)):
            await pair.clock.advance(seconds)
        case ("die", int(number)):
            await pair.restart(number)
        case ("go on", int(number)):
            await pair.replicas[number].go_on()
        case (_, int(number), *_) if pair.replicas[number].paused:
            pass
        case ("submit", int(number), int(nodes), Behaviour() as does):
            await submit(pair, number, "task", nodes, does)
        case (("stop" | "suspend" | "resume") as verb, int(number), int(task)):
            await getattr(pair.replicas[number].platform.tasks.submissions, str(verb))(ADMIN, str(task))
        case ("tick", int(number)):
            await pair.replicas[number].tick()
        case ("pause", int(number), int(places)):
            await pair.replicas[number].tick_and_pause(places)
        case ("crash", int(number), int(places)):
            await pair.replicas[number].tick_and_pause(places)
            await pair.restart(number)
        case ("look", int(number)):
            await pair.replicas[number].platform.follower.look()
        case ("release", int(number)):
            await pair.replicas[number].loop.cycle.leadership.release()
        case ("fail", int(number), str(kind)):
            pair.replicas[number].store.failures = [kind]
        case _:
            raise AssertionError(action)


async def check(pair: Pair) -> None:
    """Check that no node is held twice, no task has two runs, and no run was started without a decision."""
    tasks = tuple(await pair.tasks())
    Snapshot(now=pair.clock.now(), nodes=tuple(await pair.cluster.nodes()), tasks=tasks).check()
    pair.cluster.record.check()
    present = {run_id for runs in pair.cluster.record.holders().values() for run_id in runs}
    assert len({run_id.split(".")[0] for run_id in present}) == len(present)
    for run_id in set(pair.cluster.record.launches):
        async with pair.store.read() as tx:
            assert run_id in {run.id for run in await tx.runs.of_task(TaskId(int(run_id.split(".")[0])))}


async def story(wanted: list[tuple[object, ...]]) -> None:
    pair = await Pair().open()
    for action in wanted:
        with suppress(HaiError, Temporary):
            await act(pair, action)
        await check(pair)
    # A replica that was paused goes on; the later, the worse.
    for number in (0, 1):
        pair.replicas[number].store.failures = []
        await pair.replicas[number].go_on()
        await check(pair)
    for task in await pair.tasks():
        if task.held:
            await pair.replicas[0].platform.tasks.submissions.resume(ADMIN, str(task.id))
    for _ in range(200):
        await pair.clock.advance(10)
        for number in (0, 1, 0):
            await pair.replicas[number].tick()
        await check(pair)
        if not await pair.tasks():
            break
    assert await pair.tasks() == []
    assert pair.cluster.record.holders() == {}
    await check_ledger(pair.store)


@given(st.lists(actions, min_size=5, max_size=30))
@settings(max_examples=150 * int(os.environ.get("HAI_EXAMPLES", "1")), deadline=None)
def test_nothing_is_lost_and_nothing_happens_twice_whichever_replica_leads(wanted: list[tuple[object, ...]]) -> None:
    asyncio.run(story(wanted))
