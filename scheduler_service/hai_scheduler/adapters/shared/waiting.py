"""Waiting for an event with a timeout by a given clock."""

from __future__ import annotations

import asyncio

from hai_scheduler.ports.clock import Clock


async def wait_until_set(event: asyncio.Event, clock: Clock, seconds: float | None) -> bool:
    """Wait for the event, at most `seconds` of the clock's time (None: no limit). Returns whether it is set."""
    if seconds is None:
        return await event.wait()
    if event.is_set() or seconds <= 0:
        return event.is_set()
    waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(clock.sleep(seconds))]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    return event.is_set()
