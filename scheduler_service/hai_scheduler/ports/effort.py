"""For whom work is done, and how much of the processor it takes: a budget counts the work of requests."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Effort:
    """The work of one request."""

    #: Whose request it is: the name of a user, or of another client.
    client: str
    #: Processor time on the event loop and in threads beside it that `take` has not returned yet, in seconds.
    seconds: float = 0.0

    def take(self) -> float:
        """Return the processor time since the last call, in seconds."""
        found, self.seconds = self.seconds, 0.0
        return found

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the processor time that this thread uses in the context. Nothing in it may wait for the event loop."""
        began = time.thread_time()
        try:
            yield
        finally:
            self.seconds += time.thread_time() - began


_NOW: Final[ContextVar[Effort | None]] = ContextVar("effort", default=None)


def effort_now() -> Effort | None:
    """Return the effort that current work belongs to; None: the platform works for itself."""
    return _NOW.get()


@contextmanager
def working_on(effort: Effort) -> Iterator[None]:
    """Do what happens in the context, and in the asyncio tasks that begin in it, for a request."""
    before = _NOW.set(effort)
    try:
        yield
    finally:
        _NOW.reset(before)


class Counted(Generic[T]):
    """Work that is awaited: each of its steps on the event loop is counted, the times between them are not.

    Args:
        work: What is awaited.
        effort: What it belongs to.
    """

    def __init__(self, work: Awaitable[T], effort: Effort) -> None:
        self._work = work
        self._effort = effort

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._work.__await__()
        go: Callable[[], Any] = lambda: next(steps)  # noqa: E731 - it is another one after an error
        while True:
            try:
                with self._effort.counted():
                    waits_for = go()
            except StopIteration as end:
                result: T = end.value
                return result
            try:
                yield waits_for
            except BaseException as error:  # noqa: BLE001 - it is thrown into the work
                thrown = error
                go = lambda: steps.throw(thrown)  # noqa: E731, B023
            else:
                go = lambda: next(steps)  # noqa: E731
