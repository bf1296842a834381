"""Starts that wait in the queue of tasks, beside the Hub's limit on starts at one time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_LIMIT: Final = "concurrent_spawn_limit"


@contextmanager
def beside_the_limit(handler: Any) -> Iterator[None]:
    """While this lasts, one start that is under way does not keep others from starting.

    `JupyterHub.concurrent_spawn_limit` is for bursts of starts, which cost the Hub; one that waits for a node costs
    nothing, and may wait for hours. The Hub counts it all the same, so the limit is one more meanwhile.

    Args:
        handler: The Hub's handler of the start, whose settings all its handlers share; None: nothing is to be done.
    """
    settings = {} if handler is None else handler.settings
    # 0 is no limit.
    if not settings.get(_LIMIT):
        yield
        return
    settings[_LIMIT] += 1
    try:
        yield
    finally:
        settings[_LIMIT] -= 1
