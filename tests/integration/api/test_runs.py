"""What ranks ask and report."""

from __future__ import annotations

import asyncio

import pytest

from hai_scheduler.core.model import Task, TaskState
from hai_scheduler.core.reasons import Reason
from hai_scheduler.service.effects import run_topic

NOW = "2026-01-05T12:00:10Z"


@pytest.fixture
async def running(world) -> Task:
    return await world.start(await world.submit(nodes=2), nodes=("node-1", "node-2"))


def spoken(world, task: Task) -> dict[str, str]:
    return {"Authorization": f"Bearer {world.tokens.make(task.run_id(1)).reveal()}"}


async def notice(world, task: Task, query: str):
    return await world.json("GET", f"/runs/{task.id}.1/notice?{query}", None, headers=spoken(world, task))


async def report(world, task: Task, rank: object = 0, **body: object):
    path = f"/runs/{task.id}.1/ranks/{rank}/report"
    return await world.json("POST", path, None, json={"at": NOW, **body}, headers=spoken(world, task))


async def test_a_run_without_a_notice_is_told_so(world, running) -> None:
    assert await notice(world, running, "rank=0") == (200, {"notice": None})
    assert await notice(world, running, "rank=1&seen=0&wait=0.05") == (200, {"notice": None})


async def test_a_rank_that_waits_hears_of_a_notice_at_once(world, running) -> None:
    topic = run_topic(running.run_id(1))
    waiting = asyncio.ensure_future(notice(world, running, "rank=1&wait=60"))
    await world.until(lambda: world.listeners(topic))
    await world.json("POST", f"/tasks/{running.id}/suspend")
    async with asyncio.timeout(10):
        status, answer = await waiting
    assert status == 200
    assert (answer["notice"]["kind"], answer["notice"]["reason"]) == ("suspend", "user_suspended")
    assert await notice(world, running, f"rank=1&seen={answer['notice']['revision']}") == (200, {"notice": None})


async def test_a_rank_that_goes_away_while_it_waits_leaves_nothing_behind(world, running) -> None:
    topic = run_topic(running.run_id(1))
    waiting = asyncio.ensure_future(notice(world, running, "rank=1&wait=60"))
    await world.until(lambda: world.listeners(topic))
    waiting.cancel()
    await world.until(lambda: not world.listeners(topic))


async def test_reports_are_taken_down(world, running) -> None:
    await world.json("POST", f"/tasks/{running.id}/suspend")
    for body in (
        {"kind": "received", "revision": 1},
        {"kind": "saving", "seconds": 30},
        {"kind": "saved", "step": 7, "path": "/ckpt/7"},
        {"kind": "state", "text": "epoch 3"},
        {"kind": "done", "all_ranks": True},
        {"kind": "done", "all_ranks": True},
    ):
        assert await report(world, running, **body) == (204, None)
    task = (await world.json("GET", f"/tasks/{running.id}"))[1]
    assert task["checkpoint"] == {"at": NOW, "step": 7, "path": "/ckpt/7"}
    assert (task["job_state"], task["runs"][0]["ranks"][0]["notified_at"]) == ("epoch 3", NOW)


@pytest.mark.parametrize(
    ("rank", "body", "field"),
    [
        (5, {"kind": "done"}, "rank"),
        ("x", {"kind": "done"}, "rank"),
        ("9" * 30, {"kind": "done"}, "rank"),
        (0, {"kind": "gone"}, "kind"),
        (0, {"kind": "saved", "step": 2**70}, "step"),
        (0, {"kind": "saved", "at": "yesterday"}, "at"),
        (0, {"kind": "saved", "at": "2026-01-05T12:00:10"}, "at"),
        (0, {"kind": "saving", "seconds": -1}, "seconds"),
    ],
)
async def test_a_bad_report_is_refused_by_name(world, running, rank, body, field) -> None:
    status, problem = await report(world, running, rank, **body)
    assert (status, problem["errors"][0]["field"]) == (400, field)


async def test_a_run_that_is_over_is_gone(world, running) -> None:
    await world.end(running, Reason.SUCCEEDED, TaskState.SUCCEEDED)
    status, problem = await report(world, running, kind="done")
    assert (status, problem["code"]) == (410, "gone")
    assert (await notice(world, running, "rank=0"))[0] == 410
