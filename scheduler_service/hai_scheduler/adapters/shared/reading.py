"""A few threads for what users have read of files: logs, and whether a path of a task exists.

However many read, and however slowly a file system answers, the threads in which runs are observed and started stay
free.
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
    """Do it in one of these threads."""
    return await asyncio.get_running_loop().run_in_executor(_READERS, do)
