"""Users take turns to compute, however many orders each of them has sent."""

from __future__ import annotations

import asyncio

import pytest

from hai_scheduler.service.computing.fair_queue import FairQueue
from hai_scheduler.service.shared.errors import TooMany, Unavailable


class Office:
    """A queue whose visitors keep their place until the test lets them go."""

    def __init__(self, slots: int, **bounds: int) -> None:
        self.queue = FairQueue(slots, **bounds)
        self.inside: list[str] = []
        self.order: list[str] = []
        self._go: dict[str, asyncio.Event] = {}
        self.visits: dict[str, asyncio.Task[None]] = {}

    async def come(self, *names: str) -> None:
        """Let visitors come in this order; each is named after its user and a number."""
        for name in names:
            self._go[name] = asyncio.Event()
            self.visits[name] = asyncio.create_task(self._visit(name))
            await self.settle()

    async def leave(self, name: str) -> None:
        self._go[name].set()
        await self.visits[name]
        await self.settle()

    async def hang_up(self, *names: str) -> None:
        for name in names:
            self.visits[name].cancel()
        await asyncio.gather(*(self.visits[name] for name in names), return_exceptions=True)
        await self.settle()

    async def settle(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    async def _visit(self, name: str) -> None:
        async with self.queue.place(name[0]):
            self.inside.append(name)
            self.order.append(name)
            try:
                await self._go[name].wait()
            finally:
                self.inside.remove(name)


async def test_one_of_a_user_at_a_time_though_there_is_room() -> None:
    office = Office(2)
    await office.come("a1", "a2", "b1")
    assert office.inside == ["a1", "b1"]
    await office.leave("a1")
    assert office.inside == ["b1", "a2"]
    await office.hang_up("b1", "a2")


async def test_users_take_turns_whatever_each_has_sent() -> None:
    office = Office(1)
    await office.come("a1", "a2", "a3", "a4", "b1", "c1", "b2")
    while office.inside:
        await office.leave(office.inside[0])
    assert office.order == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


async def test_a_client_that_hangs_up_leaves_the_line() -> None:
    office = Office(1)
    await office.come("a1", *(f"a{number}" for number in range(2, 9)), "b1")
    await office.hang_up(*(f"a{number}" for number in range(1, 9)))
    assert office.inside == ["b1"]
    assert office.queue.waiting == 0
    await office.leave("b1")


async def test_a_client_that_hangs_up_when_it_has_just_been_let_in_gives_the_place_on() -> None:
    office = Office(1)
    await office.come("a1", "b1", "c1")
    office._go["a1"].set()
    await office.visits["a1"]  # b1 has been let in and does not know it yet
    await office.hang_up("b1")
    assert office.inside == ["c1"]
    await office.leave("c1")
    await office.come("a2")
    assert office.inside == ["a2"], "no place is lost"
    await office.leave("a2")
    assert office.queue._turns == {}, "nothing is kept of those who are gone"


async def test_the_line_is_bounded_for_each_user_and_for_all() -> None:
    office = Office(1, most=3, most_of_one=2)
    await office.come("a1", "a2", "a3", "b1")
    with pytest.raises(TooMany):
        async with office.queue.place("a"):
            pass
    with pytest.raises(Unavailable):
        async with office.queue.place("c"):
            pass
    await office.hang_up("a1", "a2", "a3", "b1")
    await office.come("c1")
    assert office.inside == ["c1"]
    await office.leave("c1")
