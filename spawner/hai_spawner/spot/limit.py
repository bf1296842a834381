"""Keep starts that wait in the queue of tasks from using up the Hub's limit on starts at one time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_LIMIT: Final = "concurrent_spawn_limit"


@contextmanager
def beside_the_limit(handler: Any) -> Iterator[None]:
    """Raise the Hub's limit on concurrent starts by one while a start waits for its turn.

    `JupyterHub.concurrent_spawn_limit` is for bursts of starts, which cost the Hub time. A start that waits for a node
    costs nothing and may wait for hours. The Hub counts it all the same, so the limit is raised meanwhile.

    Args:
        handler: The Hub's handler of the start, which shares its settings with all handlers; None: do nothing.
    """
    settings = {} if handler is None else handler.settings
    # 0 means no limit.
    if not settings.get(_LIMIT):
        yield
        return
    settings[_LIMIT] += 1
    try:
        yield
    finally:
        settings[_LIMIT] -= 1
