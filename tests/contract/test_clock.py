"""The contract of a clock, on every adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, timedelta

import pytest

from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.ports.clock import Clock
from kit.memory.clock import VirtualClock

# A clock, and a function that lets seconds pass on it.
Kit = tuple[Clock, Callable[[float], Awaitable[None]]]


@pytest.fixture(params=["system", "virtual"])
def kit(request: pytest.FixtureRequest) -> Kit:
    if request.param == "system":
        return SystemClock(), asyncio.sleep
    clock = VirtualClock()
    return clock, clock.advance


async def test_times_are_aware_utc(kit: Kit) -> None:
    clock, _ = kit
    assert clock.now().tzinfo is UTC


async def test_time_never_goes_back(kit: Kit) -> None:
    clock, _ = kit
    times = [clock.now() for _ in range(1000)]
    assert times == sorted(times)


async def test_a_sleeper_wakes_when_its_time_has_passed_and_not_before(kit: Kit) -> None:
    clock, pass_time = kit
    began = clock.now()
    sleeping = asyncio.create_task(clock.sleep(0.02))
    await asyncio.sleep(0)
    assert not sleeping.done()
    await pass_time(0.03)
    await asyncio.wait_for(sleeping, 60)
    # The machine's own two clocks may differ a little.
    assert clock.now() - began >= timedelta(seconds=0.019)


async def test_the_one_who_sleeps_shorter_wakes_first(kit: Kit) -> None:
    clock, pass_time = kit
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    sleepers = [asyncio.create_task(sleep(seconds)) for seconds in (0.06, 0.02, 0.04)]
    await asyncio.sleep(0)
    await pass_time(0.08)
    await asyncio.wait_for(asyncio.gather(*sleepers), 60)
    assert woken == [0.02, 0.04, 0.06]


@pytest.mark.parametrize("seconds", [0, -5])
async def test_to_sleep_for_no_time_only_lets_others_run(kit: Kit, seconds: float) -> None:
    clock, _ = kit
    other = asyncio.create_task(asyncio.sleep(0))
    await clock.sleep(seconds)
    await clock.sleep(seconds)
    assert other.done()


async def test_a_sleeper_can_be_cancelled(kit: Kit) -> None:
    clock, pass_time = kit
    sleeping = asyncio.create_task(clock.sleep(0.01))
    await asyncio.sleep(0)
    sleeping.cancel()
    await asyncio.gather(sleeping, return_exceptions=True)
    assert sleeping.cancelled()
    await pass_time(0.02)


async def test_steady_seconds_pass_as_time_does(kit: Kit) -> None:
    clock, pass_time = kit
    began, steady = clock.now(), clock.steady()
    await pass_time(0.05)
    passed = clock.steady() - steady
    assert passed >= 0.049
    assert abs((clock.now() - began).total_seconds() - passed) < 0.5
