"""A read of the database is waited for with patience, and shared."""

from __future__ import annotations

import asyncio

import pytest

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.shared.patient_read import PatientRead


async def test_all_who_ask_meanwhile_share_one_read() -> None:
    reads, answered = 0, asyncio.Event()

    async def read() -> int:
        nonlocal reads
        reads += 1
        await answered.wait()
        return reads

    patient = PatientRead(read)
    with pytest.raises(TimeoutError):
        await patient.result(0)
    waiting = [asyncio.create_task(patient.result(60)) for _ in range(3)]
    await asyncio.sleep(0)
    answered.set()
    assert await asyncio.gather(*waiting) == [1, 1, 1]
    assert await patient.result(60) == 2


async def test_the_error_of_the_read_is_raised_and_the_next_one_reads_again() -> None:
    errors = [Temporary("the database is away")]

    async def read() -> str:
        if errors:
            raise errors.pop()
        return "there"

    patient = PatientRead(read)
    with pytest.raises(Temporary, match="away"):
        await patient.result(60)
    assert await patient.result(60) == "there"


async def test_at_the_end_a_read_has_given_back_what_it_holds() -> None:
    held = asyncio.Event()

    async def read() -> None:
        held.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # as a connection that is closed
            held.clear()

    patient = PatientRead(read)
    asking = asyncio.create_task(patient.result(60))
    await held.wait()
    asking.cancel()
    await patient.end()
    assert not held.is_set()
    await PatientRead(read).end()
