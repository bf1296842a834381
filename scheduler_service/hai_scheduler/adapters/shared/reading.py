"""A few threads for reading files on behalf of users: logs, and checks whether a task's path exists.

Runs are observed and started in other threads, which stay free however slow a file system is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

#: Threads are started when they are needed.
_READERS: Final = ThreadPoolExecutor(max_workers=4, thread_name_prefix="hai-reader")

T = TypeVar("T")


async def in_reader(do: Callable[[], T]) -> T:
    """Call `do` in one of these threads and return its result."""
    return await asyncio.get_running_loop().run_in_executor(_READERS, do)
