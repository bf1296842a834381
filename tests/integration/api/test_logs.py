"""Logs over HTTP: one story over all runs, page by page or as a stream."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from hai_scheduler.api.handlers import logs as handler
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.service.logs import download, lines

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


@pytest.mark.parametrize("asked", ["logs?limit=10000", "logs?tail=10000", "logs/download"])
async def test_pages_are_made_beside_the_event_loop(
    world, saved_story, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    where = set()

    def seen(real: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object, **named: object) -> object:
            where.add(threading.current_thread().name.partition("_")[0])
            return real(*given, **named)

        return call

    for module, name in ((lines, "line_of"), (handler, "page_out"), (download, "_plain")):
        monkeypatch.setattr(module, name, seen(getattr(module, name)))
    async with world.ask("GET", f"/tasks/train/{asked}") as response:
        assert response.status == 200
        await response.read()
    assert where == {"hai-reader"}


async def test_one_run_can_be_read_alone(world, saved_story) -> None:
    page = (await world.json("GET", "/tasks/train/logs?run=2"))[1]
    assert (texts(page), page["final"]) == (STORY[4:], True)


async def test_the_end_can_be_read_first(world, saved_story) -> None:
    for count in (0, 1, 3, 5, 100):
        page = (await world.json("GET", f"/tasks/train/logs?tail={count}"))[1]
        assert texts(page) == (STORY[-count:] if count else [])
        assert page["final"] is True


async def test_the_log_is_read_backwards_from_any_line(world, saved_story) -> None:
    lines = (await world.json("GET", "/tasks/train/logs"))[1]["lines"]
    for index, line in enumerate(lines):
        page = (await world.json("GET", f"/tasks/train/logs?limit=2&before={line['cursor']}"))[1]
        assert page["lines"] == lines[: index + 1][-2:]
        assert (page["prev_cursor"] is None) == (index < 2)
    told, before = [], page["next_cursor"]
    while before is not None:
        page = (await world.json("GET", f"/tasks/train/logs?limit=3&before={before}"))[1]
        told, before = texts(page) + told, page["prev_cursor"]
    assert told == STORY
    status, problem = await world.json("GET", "/tasks/train/logs?before=1:0&tail=3")
    assert (status, problem["errors"][0]["field"]) == (400, "before")


async def test_it_is_said_how_much_is_kept_of_each_run(world, saved_story) -> None:
    status, found = await world.json("GET", "/tasks/train/logs/extents")
    lines = (await world.json("GET", "/tasks/train/logs"))[1]["lines"]
    ends = {line["run"]: int(line["cursor"].split(":")[1]) for line in lines if line["rank"] is not None}
    assert (status, found["items"]) == (200, [{"run": run, "start": 0, "end": end} for run, end in ends.items()])


async def test_the_whole_log_is_downloaded_as_text(world, saved_story) -> None:
    shown = [text if text.startswith("step") else f"[hai] {text}" for text in STORY]
    task = (await world.json("GET", "/tasks/train"))[1]["id"]
    async with world.ask("GET", "/tasks/train/logs/download") as response:
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert response.headers["Content-Disposition"] == f'attachment; filename="task-{task}-rank-0.log"'
        assert (await response.text()).splitlines() == shown
    async with world.ask("GET", "/tasks/train/logs/download?run=2&times=true") as response:
        assert f'filename="task-{task}-run-2-rank-0.log"' in response.headers["Content-Disposition"]
        assert [line.split("Z ", 1)[1] for line in (await response.text()).splitlines()] == shown[4:]
    assert (await world.json("GET", "/tasks/train/logs/download?rank=5"))[0] == 400


async def test_who_downloads_a_long_log_may_read_on(world) -> None:
    task = await world.start(await world.submit())
    log = (b"x" * 1023 + b"\n") * 16 * 1024
    world.cluster.logs[f"{task.id}.1", 0] = log
    async with world.ask("GET", f"/tasks/{task.id}/logs/download") as response:
        assert len(await response.read()) > len(log)
    assert (await world.json("GET", f"/tasks/{task.id}"))[0] == 200


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
        assert (await anext(messages))[2] == {
            "run": 1,
            "rank": 0,
            "at": None,
            "text": "no time",
            "cursor": "1:72",
            "rewritten": False,
        }
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
        "prev_cursor": None,
        "final": False,
    }
    await world.json("POST", "/tasks/train/stop")
    assert (await world.json("GET", "/tasks/train/logs"))[1]["final"] is True
    async with world.stream("/tasks/train/logs") as messages:
        assert [event async for event, _, _ in messages] == ["end"]
