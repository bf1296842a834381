"""The child that computes: it answers, it is bounded, and it can be ended at any moment."""

from __future__ import annotations

import os

import pytest

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.worker.child import WorkerChild, _be_the_child

MEMORY = 256 * 1024 * 1024


def _spin(_tell: object) -> bytes:
    while True:
        pass


def _fail(error: BaseException) -> bytes:
    raise error


async def test_it_answers_with_what_it_has_found() -> None:
    large = b"x" * 3_000_000
    child = WorkerChild.begin(lambda _tell: large, memory=MEMORY, seconds=5)
    assert await child.answer() == ({}, large)


async def test_its_progress_is_told_before_its_answer() -> None:
    told: list[float] = []

    def compute(tell) -> bytes:
        for number in range(200):
            tell(number / 200)
        return b"done"

    child = WorkerChild.begin(compute, memory=MEMORY, seconds=5)
    assert await child.answer(told.append) == ({}, b"done")
    assert told == [number / 200 for number in range(200)]


async def test_more_time_of_the_processor_than_it_may_take_ends_it() -> None:
    child = WorkerChild.begin(_spin, memory=MEMORY, seconds=1)
    assert (await child.answer())[0] == {"failed": "time"}


async def test_more_memory_than_it_may_take_is_not_given() -> None:
    child = WorkerChild.begin(lambda _tell: bytes(2 * MEMORY), memory=MEMORY, seconds=5)
    assert (await child.answer())[0] == {"failed": "memory"}


@pytest.mark.parametrize(
    ("error", "kind"),
    [(Temporary("the disk"), "temporary"), (ValueError("a bug"), "fault"), (SystemExit(3), "fault")],
    ids=["temporary", "bug", "exit"],
)
async def test_how_it_failed_is_said(error: BaseException, kind: str) -> None:
    head, body = await WorkerChild.begin(lambda _tell: _fail(error), memory=MEMORY, seconds=5).answer()
    assert head == {"failed": kind}
    assert kind != "fault" or type(error).__name__.encode() in body


async def test_one_that_ends_without_a_word_is_a_fault_of_ours() -> None:
    head, _ = await WorkerChild.begin(lambda _tell: os._exit(0), memory=MEMORY, seconds=5).answer()
    assert head == {"failed": "fault"}


def test_it_is_ended_at_any_moment_and_leaves_nothing() -> None:
    child = WorkerChild.begin(_spin, memory=MEMORY, seconds=60)
    child.end()
    child.end()
    with pytest.raises(ChildProcessError):
        os.waitpid(child.pid, os.WNOHANG)
    os.close(child._answer)


def test_one_whose_parent_was_killed_while_it_began_computes_nothing() -> None:
    here, there = os.pipe2(os.O_CLOEXEC)
    somebody_else = os.getppid()
    pid = os.fork()
    if pid == 0:
        _be_the_child(somebody_else, there, lambda _tell: b"answer", 1 << 30, 5)
    os.close(there)
    with os.fdopen(here, "rb") as answer:
        assert answer.read() == b""
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
