"""Development containers in the ledger: told again and again, by a Hub and to a service that may both fall over."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hai_scheduler.core.ledger.asking import By, LedgerQuestion
from hai_scheduler.core.ledger.development import SILENT, DevelopmentContainer
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.row import ERASED
from hai_scheduler.core.ledger.sums import Sums
from hai_scheduler.service.accounting.containers import ContainerBooks, EndedContainer
from kit.builders import T0, at
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world

HOUR_US = 3_600_000_000


def container(name: str = "a", user: str = "ann", **fields: object) -> DevelopmentContainer:
    usual = {"groups": ("cv",), "node_group": "jupyter", "gpus": 2, "millicores": 1500, "started_at": T0, "seen_at": T0}
    return DevelopmentContainer(id=f"container-{name}", user=user, **{**usual, **fields})  # type: ignore[arg-type]


class Books:
    """The use case on a store, at a time that moves."""

    def __init__(self) -> None:
        self.clock = VirtualClock(T0)
        self.store = MemoryStore()
        self.books = ContainerBooks(make_world(store=self.store, clock=self.clock))

    async def told(
        self, *living: DevelopmentContainer, ended: dict[DevelopmentContainer, datetime] | None = None
    ) -> None:
        gone = [EndedContainer(container=each, ended_at=when) for each, when in (ended or {}).items()]
        await self.books.told([replace(each, seen_at=self.clock.now()) for each in living], gone)

    async def sums(self) -> Sums:
        question = LedgerQuestion(since=T0, until=at(hours=24 * 40), by=(By.KIND,))
        async with self.store.read() as tx:
            lines = await tx.ledger.sums(question)
        assert [line.values for line in lines] in ([], [(WorkKind.DEVELOPMENT,)])
        return lines[0].sums if lines else Sums()

    async def alive(self) -> list[str]:
        async with self.store.read() as tx:
            return [each.id for each in await tx.containers.all()]


async def test_a_container_is_counted_from_its_begin_to_its_end() -> None:
    books = Books()
    mine = container()
    await books.told(mine)
    await books.clock.advance(3 * 3600)
    await books.told(mine)
    await books.told(ended={mine: at(hours=2.5)})
    sums = await books.sums()
    assert (sums.gpu_us, sums.core_us) == (5 * HOUR_US, int(3.75 * HOUR_US))
    assert (sums.node_us, sums.starts, sums.ends, sums.short, sums.waits) == (0, 1, 1, 0, {})
    assert await books.alive() == []


async def test_what_is_told_again_changes_nothing() -> None:
    books = Books()
    mine = container()
    for _ in range(3):
        await books.told(mine)
    await books.clock.advance(7200)
    for _ in range(3):
        await books.told(ended={mine: at(hours=1)})
    assert ((await books.sums()).gpu_us, (await books.sums()).ends) == (2 * HOUR_US, 1)


async def test_one_that_goes_on_is_counted_each_hour() -> None:
    books = Books()
    await books.told(container())
    for _ in range(3 * 60 + 30):
        await books.clock.advance(60)
        await books.told(container())
    assert await books.books.count() == 1
    sums = await books.sums()
    assert (sums.gpu_us, sums.starts, sums.ends) == (6 * HOUR_US, 1, 0)


async def test_one_whose_end_was_never_told_ended_when_it_was_told_of_last() -> None:
    books = Books()
    await books.told(container(), container("b", user="bob"))
    await books.clock.advance(1800)
    await books.told(container(), container("b", user="bob"))
    await books.clock.advance(1800)
    await books.told(container("b", user="bob"))
    assert await books.alive() == ["container-b"]
    sums = await books.sums()
    assert (sums.ends, sums.gpu_us) == (1, HOUR_US), "half an hour with two GPUs"


async def test_a_silent_hub_ends_containers_and_takes_that_back_when_it_tells_again() -> None:
    books = Books()
    await books.told(container())
    await books.clock.advance(SILENT.total_seconds())
    assert await books.books.count() == 1, "it may only be late"
    await books.clock.advance(3600)
    assert await books.books.count() == 0
    assert ((await books.sums()).ends, (await books.sums()).gpu_us) == (1, 0)
    await books.told(container())
    await books.clock.advance(3600)
    await books.told(ended={container(): at(hours=3)})
    sums = await books.sums()
    assert (sums.starts, sums.ends, sums.gpu_us) == (1, 1, 6 * HOUR_US)


async def test_one_that_began_and_ended_while_nobody_listened_is_booked_whole() -> None:
    books = Books()
    await books.clock.advance(7200)
    await books.told(ended={container(): at(hours=1)})
    assert ((await books.sums()).gpu_us, await books.alive()) == (2 * HOUR_US, [])


async def test_a_clock_of_the_hub_that_goes_ahead_or_back_makes_no_time() -> None:
    books = Books()
    ahead = container(started_at=at(hours=5))
    await books.told(ahead)
    await books.clock.advance(3600)
    await books.told(replace(ahead, started_at=T0 - timedelta(days=9)))
    await books.told(ended={ahead: at(hours=99)})
    assert (await books.sums()).gpu_us == 2 * HOUR_US
    await books.told(ended={container("b", started_at=at(minutes=30)): T0})
    assert (await books.sums()).gpu_us == 2 * HOUR_US


async def test_a_user_who_was_erased_stays_erased() -> None:
    books = Books()
    await books.told(container())
    async with books.store.write() as tx:
        await tx.ledger.erase("ann")
    await books.clock.advance(7200)
    await books.told(ended={container(): at(hours=2)})
    async with books.store.read() as tx:
        lines = await tx.ledger.sums(LedgerQuestion(since=T0, until=at(hours=24), by=(By.USER,)))
    assert [line.values for line in lines] == [(ERASED,)]
