"""One read for many, and never an old one."""

from __future__ import annotations

import asyncio

import pytest

from hai_scheduler.service.shared.joint_read import JointRead


class Source:
    """Counts how often it is read; each read waits for `go`, and returns what was `there` when it began."""

    def __init__(self) -> None:
        self.reads = 0
        self.there = 0
        self.go = asyncio.Event()

    async def read(self) -> int:
        self.reads += 1
        found = self.there
        await self.go.wait()
        return found


async def turns() -> None:
    """Let everything that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_all_who_ask_during_a_read_share_the_next_one() -> None:
    source = Source()
    joint = JointRead(source.read)
    first = asyncio.create_task(joint.result())
    await turns()
    source.there = 1
    later = [asyncio.create_task(joint.result()) for _ in range(20)]
    await turns()
    assert source.reads == 1, "the second read began before the first had ended"
    source.go.set()
    assert await first == 0
    assert await asyncio.gather(*later) == [1] * 20
    assert source.reads == 2


async def test_one_after_the_other_each_reads() -> None:
    source = Source()
    source.go.set()
    joint = JointRead(source.read)
    for there in range(3):
        source.there = there
        assert await joint.result() == there
    assert source.reads == 3


async def test_who_goes_takes_the_read_from_nobody() -> None:
    source = Source()
    joint = JointRead(source.read)
    gone, stays = asyncio.create_task(joint.result()), asyncio.create_task(joint.result())
    await turns()
    gone.cancel()
    await turns()
    source.go.set()
    assert await stays == 0
    assert gone.cancelled()


async def test_an_error_reaches_all_who_asked_and_the_next_one_reads_again() -> None:
    answers = [OSError("away"), 7]

    async def read() -> int:
        answer = answers.pop(0)
        await asyncio.sleep(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    joint = JointRead(read)
    for failed in await asyncio.gather(joint.result(), joint.result(), return_exceptions=True):
        assert isinstance(failed, OSError)
    assert await joint.result() == 7
    with pytest.raises(IndexError):
        await joint.result()
