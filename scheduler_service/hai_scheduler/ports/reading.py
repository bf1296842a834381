"""A few threads for what requests of users have to read and to make: logs, manifests, large answers.

Of these threads a user has one at a time, and users take turns, so that nobody's long work keeps others waiting. The
platform's own work finds a thread that users cannot take. Runs are observed and started in other threads, which stay
free however slow a file system is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from hai_scheduler.ports.effort import effort_now
from hai_scheduler.ports.turns import Turns

_THREADS: Final = 4
#: Threads are started when they are needed.
_READERS: Final = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="hai-reader")
#: Whose turn it is, on each event loop.
_TURNS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Turns]] = WeakKeyDictionary()

T = TypeVar("T")


async def in_reader(do: Callable[[], T]) -> T:
    """Call `do` in one of these threads and return its result; its processor time is counted for who asks for it."""
    loop, effort = asyncio.get_running_loop(), effort_now()
    if effort is None:
        return await loop.run_in_executor(_READERS, do)

    def counted() -> T:
        with effort.counted():
            return do()

    turns = _TURNS.setdefault(loop, Turns(_THREADS - 1))
    await turns.enter(effort.client)
    work = loop.run_in_executor(_READERS, counted)
    # A thread cannot be interrupted: who hangs up keeps the slot until it is done.
    work.add_done_callback(lambda _: turns.leave(effort.client))
    return await asyncio.shield(work)
