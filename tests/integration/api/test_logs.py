"""Logs over HTTP: one story over all runs, page by page or as a stream."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from hai_scheduler.api.convert import logs as convert
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.service.logs import lines

STORY = [
    "-- run 1 started on node-1 --",
    "step 1",
    "step 2",
    "-- run 1 suspended at 12:00:33 UTC: a task of higher priority needed its nodes; saved at step 2 --",
    "-- run 2 started on node-2 --",
    "step 3 done",
    "-- run 2 succeeded at 12:00:33 UTC: every rank exited with status 0 --",
]


def texts(page) -> list[str]:
    return [line["text"] for line in page["lines"]]


async def test_the_log_is_one_story_over_all_runs(world, saved_story) -> None:
    status, page = await world.json("GET", "/tasks/train/logs")
    assert (status, texts(page), page["final"]) == (200, STORY, True)
    assert [line["rank"] for line in page["lines"]] == [None, 0, 0, None, None, 0, None]
    assert page["lines"][1]["at"] == "2026-01-05T12:00:02Z"


async def test_pages_of_any_size_tell_the_same_story(world, saved_story) -> None:
    for limit in (1, 2, 3, 10):
        told, cursor, final = [], "1:start", False
        while not final:
            page = (await world.json("GET", f"/tasks/train/logs?limit={limit}&cursor={cursor}"))[1]
            told += texts(page)
            cursor, final = page["next_cursor"], page["final"]
        assert told == STORY


@pytest.mark.parametrize("asked", ["limit=10000", "tail=10000"])
async def test_pages_are_made_beside_the_event_loop(
    world, saved_story, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    where = set()

    def seen(real: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object) -> object:
            where.add(threading.current_thread().name.partition("_")[0])
            return real(*given)

        return call

    for module, name in ((lines, "line_of"), (convert, "page_out")):
        monkeypatch.setattr(module, name, seen(getattr(module, name)))
    assert (await world.json("GET", f"/tasks/train/logs?{asked}"))[0] == 200
    assert where == {"hai-reader"}


async def test_one_run_can_be_read_alone(world, saved_story) -> None:
    page = (await world.json("GET", "/tasks/train/logs?run=2"))[1]
    assert (texts(page), page["final"]) == (STORY[4:], True)


async def test_the_end_can_be_read_first(world, saved_story) -> None:
    for count in (0, 1, 3, 5, 100):
        page = (await world.json("GET", f"/tasks/train/logs?tail={count}"))[1]
        assert texts(page) == (STORY[-count:] if count else [])
        assert page["final"] is True


async def test_search_counts_by_run_and_rank(world, saved_story) -> None:
    hits = (await world.json("GET", "/tasks/train/logs/search?q=STEP"))[1]
    assert hits["counts"] == [{"run": 1, "rank": 0, "hits": 2}, {"run": 2, "rank": 0, "hits": 1}]
    assert [line["text"] for line in hits["lines"]] == ["step 1", "step 2", "step 3 done"]
    assert hits["complete"] is True


async def test_a_stream_of_an_ended_task_tells_the_story_and_ends(world, saved_story) -> None:
    async with world.stream("/tasks/train/logs") as messages:
        told = [message async for message in messages]
    assert [data.get("text") for _, _, data in told[:-1]] == STORY
    assert told[-1][0] == "end"


async def test_a_stream_goes_on_behind_the_last_line_that_was_received(world, saved_story) -> None:
    async with world.stream("/tasks/train/logs?follow=1") as messages:
        ids = [ident async for _, ident, _ in messages][:-1]
    for index, ident in enumerate(ids):
        async with world.stream("/tasks/train/logs", last=ident) as messages:
            assert [data["text"] async for event, _, data in messages if event == "line"] == STORY[index + 1 :]


async def test_a_stream_follows_lines_as_they_come_to_the_end_of_the_task(world) -> None:
    task = await world.start(await world.submit())
    run = f"{task.id}.1"
    world.cluster.logs[run, 0] = b"2026-01-05T12:00:02.000000Z one\n"
    async with world.stream("/tasks/train/logs?tail=1") as messages:
        assert (await anext(messages))[2]["text"] == "one"
        world.cluster.logs[run, 0] += b"2026-01-05T12:00:03.000000Z two\nno time\nhalf a"
        assert (await anext(messages))[2]["text"] == "two"
        assert (await anext(messages))[2] == {"run": 1, "rank": 0, "at": None, "text": "no time"}
        world.cluster.logs[run, 0] += b" line\n"
        assert (await anext(messages))[2]["text"] == "half a line"
        await world.end(task, Reason.FAILED, TaskState.FAILED)
        assert (await anext(messages))[2]["text"].startswith("-- run 1 failed")
        assert (await anext(messages))[0] == "end"


async def test_a_stream_waits_for_a_task_that_has_not_started(world) -> None:
    task = await world.submit()
    async with world.stream("/tasks/train/logs") as messages:
        first = asyncio.ensure_future(anext(messages))
        await asyncio.sleep(0)
        assert not first.done()
        await world.start(task)
        assert (await first)[2]["text"] == STORY[0]


async def test_a_task_that_never_ran_has_an_empty_story_that_ends(world) -> None:
    await world.submit()
    assert (await world.json("GET", "/tasks/train/logs"))[1] == {
        "lines": [],
        "next_cursor": "1:start",
        "final": False,
    }
    await world.json("POST", "/tasks/train/stop")
    assert (await world.json("GET", "/tasks/train/logs"))[1]["final"] is True
    async with world.stream("/tasks/train/logs") as messages:
        assert [event async for event, _, _ in messages] == ["end"]
