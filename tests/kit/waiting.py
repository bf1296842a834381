"""Waiting for what another process or task does: it is looked at again and again, and the test fails after a limit.

`wait_for` blocks its thread; `until` is awaited. Where something tells of a change, such as an event or the end of a
process, a test waits for that instead.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

#: Seconds; what has not come by then never comes. It is much longer than any step takes on a busy machine, and is not
#: used to measure.
PATIENCE = 240.0
#: Seconds between two looks, at first and at most. What comes soon is seen at once; what takes long is left in peace.
FIRST_PAUSE, PAUSE = 0.005, 0.05


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
        pause: Seconds between two looks at most, more for looks that cost much.

    Returns:
        The first thing seen that is enough.

    Raises:
        AssertionError: It did not come in time; the message has `what` and the last thing seen.
    """
    ends, pauses = time.monotonic() + within, _pauses(pause)
    while not met(seen := look()):
        if time.monotonic() > ends:
            raise _late(what, within, seen)
        time.sleep(next(pauses))
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
    pauses = _pauses(pause)
    try:
        async with asyncio.timeout(within) as limit:
            while True:
                found = look()
                seen: T = await found if inspect.isawaitable(found) else found
                if met(seen):
                    return seen
                last = seen
                await asyncio.sleep(next(pauses))
    except TimeoutError:
        if not limit.expired():
            raise  # the look's own
        raise _late(what, within, last) from None


def _pauses(most: float) -> Iterator[float]:
    pause = min(FIRST_PAUSE, most)
    while True:
        yield pause
        pause = min(1.5 * pause, most)


def _late(what: str, within: float, last: object) -> AssertionError:
    return AssertionError(f"waited {within:g} s for {what}; last seen: {last!r}")
