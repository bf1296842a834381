"""The status of the loop in the store, and the health that other processes derive from it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.lifecycle.transitions import Kill, Notify
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.service.platform.health import Health
from hai_scheduler.service.platform.loop_status import SETTING, StatusReader, status_of
from hai_scheduler.service.shared.doorbell import ring_notices
from hai_scheduler.service.shared.latest_plan import LatestPlan
from hai_scheduler.service.shared.topics import run_topic
from unit.service.two_replicas import Pair, SkewedClock


async def written(pair: Pair) -> str | None:
    async with pair.store.read() as tx:
        return await tx.settings.get(SETTING)


def another_process(pair: Pair, ahead: float = 0.0) -> Health:
    """The health of the platform as a process of the API sees it."""
    clock = SkewedClock(pair.clock, ahead)
    return Health(news=StatusReader(store=pair.store, clock=clock), latest_plan=LatestPlan())  # type: ignore[arg-type]


async def test_it_is_written_at_once_after_the_first_tick_then_with_the_lease_and_not_by_every_idle_tick() -> None:
    pair = await Pair().open()
    cycle = pair.replicas[0].parts.cycle
    await cycle._tick_safely()
    texts = [await written(pair)]
    for _ in range(20):
        await pair.clock.advance(0.5)
        await cycle._tick_safely()
        texts.append(await written(pair))
    told = list(dict.fromkeys(texts))
    assert 4 <= len(told) <= 5, "ten seconds, and a lease of five that is renewed when half of it is over"
    statuses = [status_of(text) for text in told]
    assert all(status is not None and status.last_tick is not None for status in statuses)
    assert statuses[-1] is not None
    assert statuses[-1].holder == pair.replicas[0].holder


async def test_an_idle_tick_between_two_renewals_writes_nothing_at_all() -> None:
    pair = await Pair().open()
    cycle = pair.replicas[0].parts.cycle
    await cycle._tick_safely()
    before = pair.store._state
    await pair.clock.advance(0.5)
    await cycle._tick_safely()
    assert pair.store._state is before


async def test_a_blind_loop_says_so_at_once_and_goes_on_saying_that_it_lives() -> None:
    pair = await Pair().open()
    cycle, health = pair.replicas[0].parts.cycle, another_process(pair)
    await cycle._tick_safely()
    assert (await health.look()).wrong is None
    pair.cluster.faults.down = True
    await cycle._tick_safely()
    assert "cannot be seen" in str((await health.look()).wrong)
    first = await written(pair)
    for _ in range(30):
        await pair.clock.advance(1)
        await cycle._tick_safely()
    assert await written(pair) != first
    told = await health.look()
    assert "cannot be seen" in str(told.wrong)
    assert told.standstill == told.wrong
    assert told.silence is not None
    assert timedelta(seconds=25) < told.silence <= timedelta(seconds=30), "no tick has gone through"
    pair.cluster.faults.down = False
    await cycle._tick_safely()
    told = await health.look()
    assert told.wrong is None
    assert told.silence == timedelta(0)


async def test_a_loop_that_has_died_is_told_of_by_its_silence() -> None:
    pair = await Pair().open()
    health = another_process(pair)
    await pair.replicas[0].parts.cycle._tick_safely()
    assert (await health.look()).wrong is None
    await pair.clock.advance(9)
    assert (await health.look()).wrong is None, "it may be starting again"
    await pair.clock.advance(3)
    told = await health.look()
    assert told.wrong == "The scheduling loop has not ticked for 12 s: its log says why."
    assert told.standstill == told.wrong
    assert (await another_process(pair).look()).wrong == (await health.look()).wrong, "one that has just started"


async def test_a_loop_that_has_died_while_it_saw_nothing_is_told_of_as_dead() -> None:
    pair = await Pair().open()
    health = another_process(pair)
    pair.cluster.faults.down = True
    await pair.replicas[0].parts.cycle._tick_safely()
    assert "cannot be seen" in str((await health.look()).wrong)
    pair.cluster.faults.down = False
    await pair.clock.advance(60)
    assert "has not ticked for 60 s" in str((await health.look()).wrong)


@pytest.mark.parametrize("ahead", [3600.0, -3600.0], ids=["ahead", "behind"])
async def test_clocks_that_disagree_do_not_make_a_living_loop_silent(ahead: float) -> None:
    pair = await Pair().open()
    cycle, health = pair.replicas[0].parts.cycle, another_process(pair, ahead)
    await cycle._tick_safely()
    await health.look()
    for _ in range(4):
        await pair.clock.advance(1)
        await cycle._tick_safely()
    assert (await health.look()).wrong is None
    await pair.clock.advance(15)
    assert "has not ticked for 1" in str((await health.look()).wrong), "by its own steady clock"


async def test_a_loop_that_is_hindered_still_decides() -> None:
    pair = await Pair().open()
    health = another_process(pair)
    await pair.replicas[0].parts.cycle._tick_safely()
    status = status_of(await written(pair))
    assert status is not None
    for change in ({"trouble": "no space"}, {"policy_trouble": "slice"}):
        async with pair.store.write() as tx:
            await tx.settings.put(SETTING, replace(status, **change).text)
        told = await health.look()
        assert (told.wrong is None, told.deciding, told.standstill) == (False, True, None), change


async def test_where_nothing_is_written_or_it_cannot_be_read_the_loop_has_not_ticked() -> None:
    pair = Pair()
    health = another_process(pair)
    assert "has not ticked yet" in str((await health.look()).wrong)
    async with pair.store.write() as tx:
        await tx.settings.put(SETTING, '{"of": "another version"}')
    assert "has not ticked yet" in str((await health.look()).wrong)


async def test_who_has_lost_the_lease_writes_no_status_over_the_next_leaders() -> None:
    pair = await Pair().open()
    first, second = pair.replicas
    await first.parts.cycle._tick_safely()
    await pair.clock.advance(6)
    await second.parts.cycle._tick_safely()
    theirs = await written(pair)
    assert theirs is not None
    pair.cluster.faults.down = True
    await first.parts.cycle._tick_safely()
    assert await written(pair) == theirs


async def test_only_notices_are_rung_by_who_may_not_act() -> None:
    pair = Pair()
    run = RunId("7.1")
    async with pair.bus.listen(run_topic(run)) as ears:
        await ring_notices(pair.bus, [Kill(run)])
        assert not await ears.wait(0)
        await ring_notices(pair.bus, [Kill(run), Notify(run)])
        assert await ears.wait(0)
    assert pair.cluster.record.kills == []
