"""Waiting for what is polled: what is returned, and what the failure says."""

from __future__ import annotations

import asyncio

import pytest

from kit.waiting import until, wait_for


def test_the_first_true_value_is_returned() -> None:
    values = iter([0, "", "there", "later"])
    assert wait_for("a word", lambda: next(values), pause=0) == "there"
    assert next(values) == "later"


def test_met_says_what_is_enough() -> None:
    values = iter(["queued", "starting", "running"])
    assert wait_for("the task to run", lambda: next(values), met=lambda state: state == "running", pause=0) == "running"


def test_a_failure_names_what_was_waited_for_and_what_was_seen_last() -> None:
    with pytest.raises(AssertionError, match=r"^waited 0 s for the task to run; last seen: 'queued'$"):
        wait_for("the task to run", lambda: "queued", 0, met=lambda state: state == "running", pause=0.001)


@pytest.mark.parametrize("coroutine", [False, True])
async def test_an_awaited_wait_takes_functions_and_coroutine_functions(coroutine: bool) -> None:
    values = iter([0, 0, 7])

    async def later() -> int:
        return next(values)

    assert await until("a number", later if coroutine else lambda: next(values), pause=0) == 7


async def test_other_coroutines_go_on_meanwhile() -> None:
    heard: list[str] = []
    asyncio.get_running_loop().call_soon(heard.append, "said")
    assert await until("a word", lambda: heard) == ["said"]


async def test_an_awaited_failure_names_what_was_waited_for_and_what_was_seen_last() -> None:
    async def state() -> str:
        return "queued"

    with pytest.raises(AssertionError, match=r"^waited 0\.01 s for the task to run; last seen: 'queued'$"):
        await until("the task to run", state, 0.01, met=lambda seen: seen == "running", pause=0.001)


async def test_a_look_that_hangs_is_cancelled_at_the_limit() -> None:
    with pytest.raises(AssertionError, match="last seen: 'nothing'"):
        await until("an answer", asyncio.Event().wait, 0.01)


async def test_a_timeout_of_the_look_itself_is_no_end_of_patience() -> None:
    async def asks() -> bool:
        raise TimeoutError("the server does not answer")

    with pytest.raises(TimeoutError, match="the server"):
        await until("an answer", asks)


def test_looks_that_cost_much_take_at_most_half_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, paused = [0.0], []

    def sleep(seconds: float) -> None:
        paused.append(seconds)
        now[0] += seconds

    monkeypatch.setattr("kit.waiting.time.monotonic", lambda: now[0])
    monkeypatch.setattr("kit.waiting.time.sleep", sleep)

    def look() -> bool:
        now[0] += 3
        return len(paused) == 4

    assert wait_for("a slow answer", look)
    assert paused == [3, 3, 3, 3]
