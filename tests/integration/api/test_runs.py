"""What ranks ask and report."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO

import pytest

from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.service.shared.topics import TICK, run_topic
from kit.waiting import until

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
    assert await notice(world, running, "rank=0") == (200, {"notice": None, "recording": None})
    assert await notice(world, running, "rank=1&seen=0&wait=0.05") == (200, {"notice": None, "recording": None})


async def test_a_rank_that_waits_hears_of_a_notice_at_once(world, running) -> None:
    world.platform.runs.reports.look_every = 600.0  # who hears of it has heard the bell
    topic = run_topic(running.run_id(1))
    waiting = asyncio.ensure_future(notice(world, running, "rank=1&wait=60"))
    await until("the poll to listen", lambda: world.listeners(topic))
    await world.json("POST", f"/tasks/{running.id}/suspend")
    async with asyncio.timeout(60):
        status, answer = await waiting
    assert status == 200
    assert (answer["notice"]["kind"], answer["notice"]["reason"]) == ("suspend", "user_suspended")
    assert await notice(world, running, f"rank=1&seen={answer['notice']['revision']}") == (
        200,
        {"notice": None, "recording": None},
    )


async def test_all_ranks_are_told_to_send_their_signals_at_one_moment_a_little_ahead(world, running) -> None:
    await world.json("POST", f"/tasks/{running.id}/suspend")
    before = datetime.now(UTC)
    first = (await notice(world, running, "rank=0"))[1]["notice"]
    lead = timedelta(milliseconds=50)
    assert before + lead <= datetime.fromisoformat(first["signal_at"]) <= datetime.now(UTC) + lead
    assert (await notice(world, running, "rank=1"))[1]["notice"]["signal_at"] == first["signal_at"]
    await report(world, running, kind="saving", seconds=600)
    later = (await notice(world, running, "rank=0&seen=1"))[1]["notice"]
    assert (later["revision"], later["signal_at"]) == (2, None), "no rank is told again"


async def test_of_one_rank_there_are_no_peers_to_wait_for(world) -> None:
    task = await world.start(await world.submit(nodes=1), nodes=("node-1",))
    await world.json("POST", f"/tasks/{task.id}/suspend")
    assert (await notice(world, task, "rank=0"))[1]["notice"]["signal_at"] is None


async def test_a_rank_that_goes_away_while_it_waits_leaves_nothing_behind(world, running) -> None:
    topic = run_topic(running.run_id(1))
    waiting = asyncio.ensure_future(notice(world, running, "rank=1&wait=60"))
    await until("the poll to listen", lambda: world.listeners(topic))
    waiting.cancel()
    await until("the poll to be gone", lambda: not world.listeners(topic))


async def test_reports_are_taken_down(world, running) -> None:
    await world.json("POST", f"/tasks/{running.id}/suspend")
    for body in (
        {"kind": "received", "revision": 1},
        {"kind": "saving", "seconds": 30},
        {"kind": "saved", "step": 7, "path": "/ckpt/7"},
        {"kind": "saved", "path": "/ckpt/6", "source": "seen", "at": "2026-01-05T11:00:00Z"},
        {"kind": "state", "text": "epoch 3"},
        {"kind": "done", "all_ranks": True},
        {"kind": "done", "all_ranks": True},
    ):
        assert await report(world, running, **body) == (204, None)
    task = (await world.json("GET", f"/tasks/{running.id}"))[1]
    assert task["checkpoint"] == {"at": NOW, "step": 7, "path": "/ckpt/7", "source": "told"}, "not the older file"
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
        (0, {"kind": "saved", "at": "9999-12-31T23:59:59-23:59"}, "at"),
        (0, {"kind": "saved", "at": "2026-01-05T12:00:10"}, "at"),
        (0, {"kind": "saving", "seconds": -1}, "seconds"),
        (0, {"kind": "saving"}, "seconds"),
        (0, {"kind": "leaving"}, "seconds"),
        (0, {"kind": "network"}, "fallback"),
        (0, {"kind": "network", "fallback": "cosmic rays"}, "fallback"),
        (0, {"kind": "machine", "glibc": "2.31"}, "machine"),
        (0, {"kind": "machine", "machine": "x86_64", "glibc": "new"}, "glibc"),
    ],
)
async def test_a_bad_report_is_refused_by_name(world, running, rank, body, field) -> None:
    status, problem = await report(world, running, rank, **body)
    assert (status, problem["errors"][0]["field"]) == (400, field)


async def test_a_rank_whose_rdma_falls_back_is_told_by_task_node_and_explanation(world) -> None:
    task = await world.start(await world.submit(nodes=2), nodes=("node-1", "node-2"))
    for rank, why in ((0, "memlock"), (1, "variable"), (1, "variable")):
        assert await report(world, task, rank, kind="network", fallback=why) == (204, None)
    said = (
        "RDMA falls back to TCP on node-1: ranks there may lock less memory than their fabric needs. An admin can raise"
    )
    shown = (await world.json("GET", f"/tasks/{task.id}"))[1]
    assert [rank["fallback"] for rank in shown["runs"][0]["ranks"]] == ["memlock", "variable"]
    explained = (await world.json("GET", f"/tasks/{task.id}/explain"))[1]
    for text in (shown["hint"], explained["sentence"]):
        assert said in text
        assert "RDMA falls back to TCP on node-2: a variable turns it off" in text
    nodes = {node["name"]: node["network"] for node in (await world.json("GET", "/nodes", "bob"))[1]["items"]}
    assert said in nodes["node-1"]
    assert nodes["node-2"] is None, "what a user's variable does is not the node's doing"
    await world.end(task, Reason.SUCCEEDED, TaskState.SUCCEEDED)
    assert (await world.json("GET", f"/tasks/{task.id}"))[1]["hint"] is None


async def test_a_run_that_is_over_is_gone(world, running) -> None:
    await world.end(running, Reason.SUCCEEDED, TaskState.SUCCEEDED)
    status, problem = await report(world, running, kind="done")
    assert (status, problem["code"]) == (410, "gone")
    assert (await notice(world, running, "rank=0"))[0] == 410


async def addresses(world, task: Task, query: str):
    return await world.json("GET", f"/runs/{task.id}.1/addresses?{query}", None, headers=spoken(world, task))


async def send(world, task: Task, data: bytes, query: str, *, rank: object = 0, **headers: str):
    """Status, body, and where the service wants the log to go on."""
    headers = {"Content-Type": "application/octet-stream", **spoken(world, task), **headers}
    path = f"/runs/{task.id}.1/ranks/{rank}/log?{query}"
    async with world.ask("PUT", path, None, data=BytesIO(data), headers=headers) as response:
        return response.status, await response.json(), response.headers.get("Upload-Offset")


async def test_a_rank_that_waits_for_the_others_hears_of_them_when_the_cluster_rings(world, running) -> None:
    assert await addresses(world, running, "rank=1") == (200, {"addresses": None})
    assert await addresses(world, running, "rank=1&wait=0.05") == (200, {"addresses": None})
    world.platform.runs.rendezvous.look_every = 600.0  # who hears of it has heard the bell
    waiting = asyncio.ensure_future(addresses(world, running, "rank=1&wait=60"))
    await until("the poll to listen", lambda: world.listeners(TICK))
    world.cluster.up[running.run_id(1)] = ("10.0.0.1", "10.0.0.2")
    await world.bus.ring(TICK)
    async with asyncio.timeout(60):
        assert await waiting == (200, {"addresses": ["10.0.0.1", "10.0.0.2"]})
    assert not world.listeners(TICK)


async def test_a_rank_whose_run_is_told_to_leave_before_it_began_waits_no_longer(world, running) -> None:
    world.platform.runs.rendezvous.look_every = 0.01
    waiting = asyncio.ensure_future(addresses(world, running, "rank=1&wait=60"))
    await until("the poll to listen", lambda: world.listeners(TICK))
    await world.json("POST", f"/tasks/{running.id}/suspend")
    async with asyncio.timeout(60):
        assert (await waiting)[0] == 410
    world.cluster.up[running.run_id(1)] = ("10.0.0.1", "10.0.0.2")
    assert (await addresses(world, running, "rank=0"))[0] == 410


async def test_a_rank_that_the_run_does_not_have_has_no_others(world, running) -> None:
    for query in ("rank=2", "rank=-1", "rank=x", "wait=1", "rank=0&wait=61"):
        assert (await addresses(world, running, query))[0] == 400


async def test_a_rank_sends_its_log_in_pieces(world, running) -> None:
    assert (await send(world, running, b"one\n", "offset=0"))[:2] == (200, {"next": 4})
    assert (await send(world, running, b"\xff\0two\n", "offset=4"))[:2] == (200, {"next": 10})
    assert (await send(world, running, b"other\n", "offset=0", rank=1))[:2] == (200, {"next": 6})
    chunk = await world.store.logs.read(running.run_id(1), 0, offset=0, limit=1000, ended=True)
    assert chunk.data == b"one\n\xff\0two\n"


async def test_a_piece_that_does_not_follow_is_told_where_to_go_on(world, running) -> None:
    await send(world, running, b"one\n", "offset=0")
    for query in ("offset=0", "offset=9", "offset=0&skip=true"):
        status, problem, offset = await send(world, running, b"two\n", query)
        assert (status, problem["code"], offset) == (409, "conflict", "4")
        assert "goes on at 4" in problem["detail"]
    assert (await send(world, running, b"two\n", "offset=9&skip=true"))[:2] == (200, {"next": 13})


async def test_of_a_log_the_service_keeps_the_end(world, running) -> None:
    world.platform.logs.intake.keep_bytes = 100_000
    for begin in range(0, 500_000, 10_000):
        await send(world, running, b"x" * 9999 + b"\n", f"offset={begin}")
    chunk = await world.store.logs.read(running.run_id(1), 0, offset=0, limit=1_000_000, ended=True)
    assert chunk.next == 500_000
    assert 100_000 <= len(chunk.data) < 200_000


@pytest.mark.parametrize(
    ("data", "query", "rank", "kind", "status"),
    [
        (b"", "offset=0", 0, "application/octet-stream", 400),
        (b"x\n", "", 0, "application/octet-stream", 400),
        (b"x\n", "offset=-1", 0, "application/octet-stream", 400),
        (b"x\n", "offset=0", 2, "application/octet-stream", 400),
        (b"x\n", "offset=0", "x", "application/octet-stream", 400),
        (b"x\n", "offset=0", 0, "text/plain", 415),
        (b"x" * (1024 * 1024 + 1), "offset=0", 0, "application/octet-stream", 413),
    ],
    ids=["empty", "no offset", "negative offset", "no such rank", "no number", "text", "too large"],
)
async def test_a_bad_piece_is_refused(world, running, data, query, rank, kind, status) -> None:
    assert (await send(world, running, data, query, rank=rank, **{"Content-Type": kind}))[0] == status


async def test_a_token_writes_the_log_of_its_own_run_only_and_users_write_none(world, running) -> None:
    other = await world.start(await world.submit(name="other"))
    path = f"/runs/{running.id}.1/ranks/0/log?offset=0"
    kind = {"Content-Type": "application/octet-stream"}
    foreign = await world.json("PUT", path, None, data=b"x\n", headers=spoken(world, other) | kind)
    assert (foreign[0], foreign[1]["code"]) == (403, "forbidden")
    assert (await world.json("PUT", path, "admin", data=b"x\n", headers=kind))[0] == 401
    assert (await world.json("GET", f"/runs/{running.id}.1/addresses?rank=0", "admin"))[0] == 401


async def test_a_run_that_is_over_waits_and_writes_no_more(world, running) -> None:
    await world.end(running, Reason.SUCCEEDED, TaskState.SUCCEEDED)
    assert (await addresses(world, running, "rank=0&wait=30"))[0] == 410
    assert (await send(world, running, b"x\n", "offset=0"))[0] == 410


async def test_a_rank_whose_pod_is_being_ended_takes_the_others_with_it_in_time(world, running) -> None:
    assert await report(world, running, 1, kind="leaving", seconds=20) == (204, None)
    assert await report(world, running, 0, kind="leaving", seconds=500) == (204, None)
    status, answer = await notice(world, running, "rank=0")
    assert (status, answer["notice"]["kind"], answer["notice"]["reason"]) == (200, "suspend", "evicted")
    task = (await world.json("GET", f"/tasks/{running.id}"))[1]
    assert task["state"] == "suspending"
    at, deadline = (datetime.fromisoformat(answer["notice"][name]) for name in ("at", "deadline"))
    assert (deadline - at).total_seconds() == 20


async def test_a_rank_that_asks_why_it_is_being_ended_learns_that_its_run_was_killed(world, running) -> None:
    async with world.store.write() as tx:
        task = await tx.tasks.get(running.id)
        await tx.tasks.save(replace(task, run=replace(task.run, killed_at=task.submitted_at)))
    status, problem = await report(world, running, kind="leaving", seconds=20)
    assert (status, problem["code"]) == (410, "gone")
    assert await report(world, running, kind="saved", step=1) == (204, None)
    assert (await addresses(world, running, "rank=0"))[0] == 410
    assert (await report(world, running, kind="leaving"))[0] == 410
