"""Which orders wait for one another."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.shared.orders import ExperimentOrder, MergeOrder, Order, TraceOrder
from hai_scheduler.worker.pool import ProcessWorkers
from kit.waiting import until

TRACE = TraceOrder(recording=1, rank=0, trace=0)
MERGE = MergeOrder(recording=1, rank=0, trace=0, label="rank 0", prefix=0, crc=0, size=0, base=None)
EXPERIMENT = ExperimentOrder(text="")


class Process:
    """A worker process that answers when the test says so."""

    pid, busy, heard_at = 1, True, 0.0

    def __init__(self) -> None:
        self.taken: list[Order] = []
        self.go = asyncio.Event()

    async def carry_out(self, order: Order, *_: Any) -> str:
        self.taken.append(order)
        if order is not EXPERIMENT:
            await self.go.wait()
        return "done"


async def test_traces_of_some_do_not_keep_the_other_orders_of_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    workers, process = ProcessWorkers(Secret(""), number=1), Process()

    async def worker(_: ProcessWorkers) -> Process:
        return process

    monkeypatch.setattr(ProcessWorkers, "_worker", worker)
    traces = [asyncio.create_task(workers.do(user, order)) for user, order in (("mallory", TRACE), ("eve", MERGE))]
    await until("a trace to be read", lambda: process.taken)
    assert await workers.do("bob", EXPERIMENT) == "done"
    assert process.taken == [TRACE, EXPERIMENT], "one trace at a time"
    process.go.set()
    await asyncio.gather(*traces)
    workers._stay()
