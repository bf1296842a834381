"""Waiting for what another process or task does: it is looked at again and again, and the test fails after a limit.

`wait_for` blocks its thread; `until` is awaited. Where something tells of a change, such as an event or the end of a
process, a test waits for that instead.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

#: Seconds; what has not come by then never comes. It is much longer than any step takes on a busy machine, and is not
#: used to measure.
PATIENCE = 240.0
#: Seconds between two looks, at first and at most. What comes soon is seen at once; what takes long is left in peace.
FIRST_PAUSE, PAUSE = 0.005, 0.2


def wait_for(
    what: str,
    look: Callable[[], T],
    within: float = PATIENCE,
    *,
    met: Callable[[T], object] = bool,
    pause: float = PAUSE,
) -> T:
    """Look until what is seen is true, or as `met` wants it.

    Args:
        what: What is waited for, as the message of a failure names it: "the task to run".
        look: Returns what there is now. It is called at least once.
        within: Seconds after which the wait fails.
        met: Whether that is enough; by default, whether it is true.
        pause: Seconds between two looks at most, as long as a look takes less.

    Returns:
        The first thing seen that is enough.

    Raises:
        AssertionError: It did not come in time; the message has `what` and the last thing seen.
    """
    began = looked = time.monotonic()
    while not met(seen := look()):
        now = time.monotonic()
        if now > began + within:
            raise _late(what, within, seen)
        time.sleep(_pause(now - began, now - looked, pause))
        looked = time.monotonic()
    return seen


async def until(
    what: str,
    look: Callable[[], T | Awaitable[T]],
    within: float = PATIENCE,
    *,
    met: Callable[[T], object] = bool,
    pause: float = PAUSE,
) -> T:
    """The same as `wait_for`, while other coroutines go on; `look` may be a coroutine function.

    A look that takes longer than `within` is cancelled.
    """
    last: object = "nothing"
    began = time.monotonic()
    try:
        async with asyncio.timeout(within) as limit:
            while True:
                looked = time.monotonic()
                found = look()
                seen: T = await found if inspect.isawaitable(found) else found
                if met(seen):
                    return seen
                last, now = seen, time.monotonic()
                await asyncio.sleep(_pause(now - began, now - looked, pause))
    except TimeoutError:
        if not limit.expired():
            raise  # the look's own
        raise _late(what, within, last) from None


def _pause(waited: float, took: float, most: float) -> float:
    """Seconds until the next look: a fifth of the time that has gone by, and no less than what the last look took.

    So looks that start a process, or ask a busy server, take at most half of the processor from what they wait for.
    """
    return max(min(max(FIRST_PAUSE, waited / 5), most), took)


def _late(what: str, within: float, last: object) -> AssertionError:
    return AssertionError(f"waited {within:g} s for {what}; last seen: {last!r}")
