"""The threads for readers: users take turns, the platform always finds one, and processor time is counted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from hai_scheduler.ports.effort import Counted, Effort, effort_now, working_on
from hai_scheduler.ports.reading import in_reader
from kit.waiting import until


class Slow:
    """Work that stays in its thread until it is let go."""

    def __init__(self) -> None:
        self.inside: list[str] = []
        self._go = threading.Event()

    def begin(self, user: str) -> asyncio.Task[None]:
        with working_on(Effort(user)):
            return asyncio.create_task(in_reader(lambda: self._stay(user)))

    def let_go(self) -> None:
        self._go.set()

    def _stay(self, user: str) -> None:
        self.inside.append(user)
        assert self._go.wait(60)


async def test_one_users_long_work_leaves_threads_to_others_and_to_the_platform() -> None:
    slow = Slow()
    many = [slow.begin("mallory") for _ in range(8)]
    await until("the first to begin", lambda: slow.inside)
    with working_on(Effort("bob")):
        assert await in_reader(lambda: 1) == 1
    assert await in_reader(lambda: 2) == 2
    assert slow.inside == ["mallory"]
    others = [slow.begin(name) for name in ("x", "y", "z")]
    await until("all threads of users to be taken", lambda: len(slow.inside) == 3)
    assert await in_reader(lambda: 3) == 3
    slow.let_go()
    await asyncio.gather(*many, *others)
    assert slow.inside.count("mallory") == 8


async def test_who_hangs_up_keeps_the_thread_until_it_is_done() -> None:
    slow = Slow()
    first = slow.begin("mallory")
    await until("it to begin", lambda: slow.inside)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    second = slow.begin("mallory")
    with working_on(Effort("bob")):
        await in_reader(lambda: None)
    assert slow.inside == ["mallory"]
    slow.let_go()
    await second


@pytest.fixture
def spend(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Uses up processor time of the thread, by a clock of the test's own."""
    spent = threading.local()

    def use(seconds: float) -> None:
        spent.seconds = getattr(spent, "seconds", 0.0) + seconds

    monkeypatch.setattr("hai_scheduler.ports.effort.time.thread_time", lambda: getattr(spent, "seconds", 0.0))
    return use


async def test_all_steps_of_work_are_counted_and_nothing_between_them(spend: Callable[[float], None]) -> None:
    effort = Effort("bob")

    async def work() -> str:
        spend(1)
        await asyncio.sleep(0)
        spend(2)
        await in_reader(lambda: spend(4))
        with pytest.raises(ZeroDivisionError):
            await in_reader(lambda: spend(8) or 1 // 0)
        return effort_now().client  # type: ignore[union-attr]

    async def other() -> None:
        spend(100)

    with working_on(effort):
        mine = asyncio.ensure_future(Counted(work(), effort))
    await asyncio.gather(asyncio.create_task(other()), mine)
    assert mine.result() == "bob"
    assert effort.seconds == 15
    assert effort_now() is None


async def test_work_that_is_cancelled_or_fails_is_counted_and_says_so(spend: Callable[[float], None]) -> None:
    effort, ended = Effort("bob"), []

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            spend(3)
            ended.append(True)

    mine = asyncio.ensure_future(Counted(work(), effort))
    await asyncio.sleep(0)
    mine.cancel()
    with pytest.raises(asyncio.CancelledError):
        await mine
    assert (effort.seconds, ended) == (3, [True])
