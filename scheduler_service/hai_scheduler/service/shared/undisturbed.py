"""Planning without the garbage collector: a full collection in the middle would cost more than the plan."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold the collector off. What a plan leaves behind has no cycles; what else there is waits until after it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
