"""The machine's clock when it is set, and virtual time."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from hai_scheduler.adapters.system.clock import SystemClock
from kit.builders import T0, at
from kit.memory.clock import VirtualClock

SECOND = 1_000_000_000


class Machine:
    """A machine whose clock can be set; counts nanoseconds."""

    def __init__(self) -> None:
        self.wall = 1_000_000 * SECOND
        self.steady = 5 * SECOND

    def run(self, seconds: int) -> None:
        self.wall += seconds * SECOND
        self.steady += seconds * SECOND

    def clock(self) -> SystemClock:
        return SystemClock(lambda: self.wall, lambda: self.steady)


def test_the_system_clock_follows_the_machine() -> None:
    machine = Machine()
    clock = machine.clock()
    began = clock.now()
    machine.run(7)
    assert clock.now() - began == timedelta(seconds=7)
    machine.wall += 3600 * SECOND
    assert clock.now() - began == timedelta(seconds=3607)


def test_set_back_it_goes_on_at_half_speed_until_the_machine_has_caught_up() -> None:
    machine = Machine()
    clock = machine.clock()
    began = clock.now()
    machine.wall -= 60 * SECOND
    assert clock.now() == began
    machine.run(20)
    assert clock.now() - began == timedelta(seconds=10)
    machine.run(100)
    assert clock.now() - began == timedelta(seconds=60)
    machine.run(5)
    assert clock.now() - began == timedelta(seconds=65)


async def test_virtual_sleepers_wake_at_exactly_their_times_in_order() -> None:
    clock = VirtualClock(T0)
    woken: list[tuple[str, datetime]] = []

    async def sleep(name: str, *seconds: float) -> None:
        for length in seconds:
            await clock.sleep(length)
            woken.append((name, clock.now()))

    tasks = [
        asyncio.create_task(sleep("a", 2, 2)),
        asyncio.create_task(sleep("b", 1, 2)),
        asyncio.create_task(sleep("c", 2)),
    ]
    await clock.advance(3.5)
    assert woken == [("b", at(1)), ("a", at(2)), ("c", at(2)), ("b", at(3))]
    assert clock.now() == at(3.5)
    await clock.advance(0.5)
    assert woken[4:] == [("a", at(4))]
    await asyncio.gather(*tasks)


async def test_everything_that_follows_from_a_wake_happens_before_time_goes_on() -> None:
    clock = VirtualClock(T0)
    steps: list[datetime] = []

    async def chain(depth: int) -> None:
        if depth == 0:
            steps.append(clock.now())
            return
        await asyncio.create_task(chain(depth - 1))

    async def sleeper() -> None:
        await clock.sleep(1)
        await chain(30)

    task = asyncio.create_task(sleeper())
    other = asyncio.create_task(clock.sleep(1.5))
    await clock.advance(10)
    assert steps == [at(1)]
    await asyncio.gather(task, other)


async def test_time_does_not_go_back() -> None:
    clock = VirtualClock(T0)
    with pytest.raises(ValueError, match="does not go back"):
        await clock.advance(-1)


async def test_cancelled_sleepers_do_not_count() -> None:
    clock = VirtualClock(T0)
    first, second = asyncio.create_task(clock.sleep(1)), asyncio.create_task(clock.sleep(2))
    await clock.settle()
    assert clock.next_wake == at(1)
    first.cancel()
    await clock.settle()
    assert clock.next_wake == at(2)
    await clock.advance(2)
    assert second.done()
    assert clock.next_wake is None


async def test_run_lets_time_pass_as_far_as_the_work_needs_it() -> None:
    clock = VirtualClock(T0)

    async def work() -> str:
        for _ in range(3):
            await clock.sleep(100)
        return "done"

    ticking = asyncio.create_task(clock.sleep(10_000))
    assert await clock.run(work()) == "done"
    assert clock.now() == at(300)
    ticking.cancel()


async def test_run_gives_up_at_its_limit_or_when_nothing_will_ever_happen() -> None:
    clock = VirtualClock(T0)
    with pytest.raises(TimeoutError, match="wakes at"):
        await clock.run(clock.sleep(11), limit=10)
    with pytest.raises(TimeoutError, match="nobody sleeps"):
        await clock.run(_never())
    assert clock.now() == T0


async def test_run_passes_on_what_the_work_raises() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await VirtualClock().run(work())


async def test_one_who_never_waits_is_found_out() -> None:
    async def spin() -> None:
        while True:  # noqa: ASYNC110 - it waits for nothing
            await asyncio.sleep(0)

    clock = VirtualClock()
    spinning = asyncio.create_task(spin())
    with pytest.raises(RuntimeError, match="without waiting"):
        await clock.settle()
    spinning.cancel()


async def _never() -> None:
    await asyncio.get_running_loop().create_future()


def test_who_sets_the_machines_clock_does_not_change_the_steady_seconds() -> None:
    machine = Machine()
    clock = machine.clock()
    began = clock.steady()
    machine.run(7)
    machine.wall += 3600 * SECOND
    assert clock.steady() - began == pytest.approx(7)
    machine.wall -= 7200 * SECOND
    assert clock.steady() - began == pytest.approx(7)


async def test_a_virtual_clock_that_is_put_forward_wakes_no_sleeper_and_lets_no_time_pass() -> None:
    clock = VirtualClock(T0)
    sleeper = asyncio.create_task(clock.sleep(10))
    await clock.advance(4)
    clock.put_forward(3600)
    await clock.settle()
    assert (clock.now(), clock.steady(), sleeper.done()) == (at(3604), 4.0, False)
    await clock.advance(6)
    assert sleeper.done()
    assert clock.steady() == 10.0
