"""The ledger of a service in memory, as tests look at it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from hai_scheduler.core.ledger.asking import LedgerLine, LedgerQuestion
from hai_scheduler.core.ledger.row import LedgerRow
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.service.scheduling.ledger_keeping import LedgerKeeping
from kit.builders import at
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service

_T = TypeVar("_T")

HOUR = timedelta(hours=1)
HOUR_US = 3_600_000_000
LONG = Behaviour(work=timedelta(days=9), saves_in=timedelta(seconds=5))


def keeping(service: Service) -> LedgerKeeping:
    return service.loop.housekeeping.ledger


async def patiently(service: Service, work: Coroutine[Any, Any, _T]) -> _T:
    """Let time pass until the work is done, which pauses now and then."""
    doing = asyncio.create_task(work)
    while not doing.done():
        await service.clock.advance(0.1)
    return doing.result()


async def count(service: Service) -> int:
    """Count live runs, as housekeeping does each hour."""
    return await patiently(service, keeping(service).count_live())


async def rows_of_run(service: Service, run_id: str) -> Sequence[LedgerRow]:
    async with service.store.read() as tx:
        return (await tx.ledger.of_runs([RunId(run_id)])).get(RunId(run_id), ())


async def ask(service: Service, **asked: Any) -> Sequence[LedgerLine]:
    """Ask for the sums of a month."""
    question = LedgerQuestion(since=at(hours=-8), until=at(hours=24 * 30), **asked)
    async with service.store.read() as tx:
        return await tx.ledger.sums(question)
