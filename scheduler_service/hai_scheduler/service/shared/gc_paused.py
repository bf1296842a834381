"""Planning without the garbage collector: a full collection during a plan would take longer than the plan."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Turn the garbage collector off in the context. A plan leaves no reference cycles; others are collected later."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
