"""Recordings over REST: ordered by owners, carried out by ranks, read as phases of a step."""

from __future__ import annotations

import asyncio
import gzip
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.service.shared.errors import TooCostly, Unavailable
from hai_scheduler.service.shared.orders import TraceOrder, TraceRead
from hai_scheduler.service.shared.topics import run_topic
from kit.traces import packed, steps
from kit.waiting import until


@pytest.fixture
async def running(world) -> Task:
    return await world.start(await world.submit(nodes=2), nodes=("node-1", "node-2"))


def token(world, task: Task) -> dict[str, str]:
    return {"Authorization": f"Bearer {world.tokens.make(task.run_id(1)).reveal()}"}


async def order(world, task: Task, who: str = "alice", **body: object):
    return await world.json("POST", f"/tasks/{task.id}/profiles", who, json=body)


async def send(world, task: Task, number: int, data: bytes, *, rank: object = 0, trace: object = 0, offset: object = 0):
    path = f"/runs/{task.id}.1/ranks/{rank}/profiles/{number}/traces/{trace}?offset={offset}"
    headers = {**token(world, task), "Content-Type": "application/octet-stream"}
    return await world.json("PUT", path, None, data=data, headers=headers)


async def finish(world, task: Task, number: int, rank: int = 0, **body: object):
    path = f"/runs/{task.id}.1/ranks/{rank}/profiles/{number}"
    given = {"state": "done", "traces": [{"number": 0, "pid": 7, "name": "python train.py"}], **body}
    return await world.json("PUT", path, None, json=given, headers=token(world, task))


async def recorded(world, task: Task, *traces: bytes) -> int:
    """A recording that every rank has carried out."""
    _, made = await order(world, task)
    for rank, data in enumerate(traces):
        assert (await send(world, task, made["id"], data, rank=rank))[0] == 200
        assert (await finish(world, task, made["id"], rank))[0] == 204
    return made["id"]


async def test_an_order_reaches_every_rank_with_the_same_moment(world, running) -> None:
    async def ask(rank: int, known: int = 0):
        path = f"/runs/{running.id}.1/notice?rank={rank}&wait=20&recording={known}"
        return (await world.json("GET", path, None, headers=token(world, running)))[1]

    waiting = [asyncio.ensure_future(ask(rank)) for rank in (0, 1)]
    await until("both ranks to wait", lambda: world.listeners(run_topic(running.run_id(1))) == 2)
    status, made = await order(world, running, seconds=2, memory=True)
    assert (status, made["state"], [part["rank"] for part in made["parts"]]) == (201, "recording", [0, 1])
    first, second = await asyncio.gather(*waiting)
    assert first == second
    assert first["notice"] is None
    told = first["recording"]
    assert (told["id"], told["kind"], told["seconds"], told["steps"], told["memory"]) == (
        made["id"],
        "trace",
        2,
        None,
        True,
    )
    path = f"/runs/{running.id}.1/notice?rank=0&wait=0&recording={made['id']}"
    assert (await world.json("GET", path, None, headers=token(world, running)))[1]["recording"] is None
    # A supervisor of an earlier release does not say what it knows, and is told nothing.
    old = await world.json("GET", f"/runs/{running.id}.1/notice?rank=0&wait=0", None, headers=token(world, running))
    assert old[1]["recording"] is None


async def test_traces_become_phases_and_name_the_slowest_rank(world, running) -> None:
    slow, fast = packed(steps(5, data=4000), rank=0), packed(steps(5, talk=3000), rank=1)
    number = await recorded(world, running, slow, fast)
    status, found = await world.json("GET", f"/tasks/{running.id}/profiles/{number}")
    assert (status, found["state"]) == (200, "done")
    trace = found["parts"][0]["traces"][0]
    assert trace["summary"]["steps"] == 4
    assert trace["summary"]["phases"]["data"] == pytest.approx(0.004, rel=0.01)
    assert trace["size"] == len(slow)
    summary = found["summary"]
    assert summary["phases"]["communication"] == pytest.approx(0.0015, rel=0.01)
    assert summary["slowest"]["rank"] == 0
    assert summary["operators"][0]["name"] == "aten::mm"
    # Once read it is kept.
    async with world.store.read() as tx:
        assert (await tx.recordings.get(number)).parts[0].traces[0].summary is not None
    async with world.ask("GET", f"/tasks/{running.id}/profiles/{number}/ranks/1/traces/0") as response:
        assert response.content_type == "application/gzip"
        assert json.loads(gzip.decompress(await response.read()))["distributedInfo"]["rank"] == 1
    _, listed = await world.json("GET", f"/tasks/{running.id}/profiles")
    assert [one["id"] for one in listed["items"]] == [number]


async def test_the_traces_of_all_ranks_come_as_one(world, running) -> None:
    number = await recorded(world, running, packed(steps(5)), b"nonsense")
    path = f"/tasks/{running.id}/profiles/{number}/trace"
    async with world.ask("GET", path) as response:
        assert (response.status, response.content_type) == (200, "application/gzip")
        assert f'filename="recording-{number}.json.gz"' in response.headers["Content-Disposition"]
        found = json.loads(gzip.decompress(await response.read()))
    assert found["traceName"] == f"task {running.id}, recording {number}"
    assert len([one for one in found["traceEvents"] if one["ph"] == "X"]) == len(steps(5))
    left_out = [one["args"]["name"] for one in found["traceEvents"] if one["name"] == "process_name"]
    assert left_out == ["rank 1 is left out: it is damaged: its compression cannot be undone"]
    async with world.ask("GET", f"{path}?ranks=0") as response:
        assert "left out" not in gzip.decompress(await response.read()).decode()
    async with world.ask("HEAD", path) as response:
        assert (response.status, response.content_type) == (200, "application/gzip")


async def test_one_trace_of_all_is_refused_with_what_to_do(world, running, monkeypatch: pytest.MonkeyPatch) -> None:
    _, made = await order(world, running)
    path = f"/tasks/{running.id}/profiles/{made['id']}/trace"
    status, problem = await world.json("GET", path)
    assert (status, "wait until all of its ranks" in problem["detail"]) == (409, True)
    for rank in (0, 1):
        await send(world, running, made["id"], packed(steps(3)), rank=rank)
        await finish(world, running, made["id"], rank)
    status, problem = await world.json("GET", f"{path}?ranks=0,5")
    assert (status, "name some of 0, 1" in str(problem)) == (400, True)
    assert (await world.json("GET", f"{path}?ranks=x"))[0] == 400
    monkeypatch.setattr("hai_scheduler.service.profiling.merging.MOST_MERGED", 10)
    status, problem = await world.json("GET", path)
    assert (status, "Name fewer ranks" in problem["detail"]) == (409, True)


async def test_what_is_no_trace_is_said_and_hides_no_other(world, running) -> None:
    number = await recorded(world, running, b"nonsense", packed(steps(3)))
    _, found = await world.json("GET", f"/tasks/{running.id}/profiles/{number}")
    assert "damaged" in found["parts"][0]["traces"][0]["fault"]
    assert found["summary"]["processes"] == 1


async def test_stacks_are_kept_as_they_are(world, running) -> None:
    _, made = await order(world, running, kind="stacks", ranks=[1])
    stack = {"pid": 7, "name": "python", "how": "py-spy", "kernel": "sleeping", "text": "File train.py, line 3"}
    assert (await finish(world, running, made["id"], 1, traces=[], stacks=[stack]))[0] == 204
    _, found = await world.json("GET", f"/tasks/{running.id}/profiles/{made['id']}")
    assert (found["state"], found["parts"][0]["stacks"], found["summary"]) == ("done", [stack], None)


async def test_a_piece_is_taken_once_and_a_lost_answer_does_no_harm(world, running) -> None:
    _, made = await order(world, running, ranks=[0])
    number, data = made["id"], packed(steps(3))
    assert (await send(world, running, number, data[:100]))[1] == {"next": 100}
    status, _ = await send(world, running, number, data[:100])
    assert status == 409
    assert (await send(world, running, number, data[100:], offset=100))[0] == 200
    for _ in range(2):
        assert (await finish(world, running, number))[0] == 204
    assert (await send(world, running, number, b"more", offset=len(data)))[0] == 410


@pytest.mark.parametrize("who", ["bob", "reader"])
async def test_only_owners_and_admins_record_and_see(world, running, who: str) -> None:
    number = await recorded(world, running, packed(steps(3)), packed(steps(3)))
    path = f"/tasks/{running.id}/profiles"
    refused = 404 if who == "bob" else 403
    assert (await order(world, running, who))[0] == refused
    assert (await world.json("DELETE", f"{path}/{number}", who))[0] == refused
    for one in (path, f"{path}/{number}", f"{path}/{number}/trace", f"{path}/{number}/ranks/0/traces/0"):
        async with world.ask("GET", one, who) as response:
            assert response.status == (404 if who == "bob" else 200), one
    assert (await world.json("GET", f"{path}/{number}", "admin"))[0] == 200
    assert (await world.json("DELETE", f"{path}/{number}", "admin"))[0] == 204
    assert (await world.json("GET", f"{path}/{number}"))[0] == 404


async def test_a_recording_of_one_task_is_not_found_under_another(world, running) -> None:
    number = await recorded(world, running, packed(steps(3)), packed(steps(3)))
    other = await world.start(await world.submit("other", user="bob"), nodes=("node-3",))
    for path in (f"{number}", f"{number}/trace", f"{number}/ranks/0/traces/0"):
        assert (await world.json("GET", f"/tasks/{other.id}/profiles/{path}", "bob"))[0] == 404
    assert (await send(world, other, number, b"x"))[0] == 410
    assert (await finish(world, other, number))[0] == 410


async def test_a_task_that_does_not_run_cannot_be_recorded(world, running) -> None:
    waiting = await world.submit("later")
    status, problem = await order(world, waiting)
    assert (status, problem["code"]) == (409, "conflict")
    assert "queued" in problem["detail"]
    assert "hai explain" in problem["detail"]
    await world.end(running, Reason.SUCCEEDED, TaskState.SUCCEEDED)
    status, problem = await order(world, running)
    assert status == 409
    assert "has ended" in problem["detail"]


async def test_one_recording_at_a_time(world, running) -> None:
    _, made = await order(world, running, ranks=[0])
    status, problem = await order(world, running)
    assert status == 409
    assert f"recording {made['id']}" in problem["detail"]
    await finish(world, running, made["id"], state="failed", message="no process has PyTorch", traces=[])
    _, found = await world.json("GET", f"/tasks/{running.id}/profiles/{made['id']}")
    assert (found["state"], found["parts"][0]["message"]) == ("failed", "no process has PyTorch")
    assert (await order(world, running))[0] == 201


async def test_a_rank_that_does_not_answer_fails_in_time(world, running) -> None:
    _, made = await order(world, running, seconds=1)
    async with world.store.write() as tx:
        old = await tx.recordings.get(made["id"])
        await tx.recordings.save(replace(old, starts_at=old.starts_at - timedelta(seconds=150)))
    _, found = await world.json("GET", f"/tasks/{running.id}/profiles/{made['id']}")
    assert found["state"] == "failed"
    assert "has not answered" in found["parts"][0]["message"]
    assert (await order(world, running))[0] == 201


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"seconds": 0}, "seconds"),
        ({"seconds": 61}, "seconds"),
        ({"seconds": 5, "steps": 5}, "steps"),
        ({"steps": 0}, "steps"),
        ({"ranks": []}, "ranks"),
        ({"ranks": [2]}, "ranks"),
        ({"ranks": [-1]}, "ranks"),
        ({"ranks": list(range(65))}, "ranks"),
        ({"kind": "stacks", "seconds": 5}, "seconds"),
        ({"kind": "stacks", "memory": True}, "memory"),
        ({"kind": "video"}, "kind"),
        ({"loud": True}, "loud"),
    ],
)
async def test_wrong_wishes_are_refused_by_name(world, running, body, field) -> None:
    status, problem = await order(world, running, **body)
    assert status in (400, 422)
    assert field in str(problem)


async def test_a_rank_sends_no_more_than_it_may(world, running, monkeypatch: pytest.MonkeyPatch) -> None:
    _, made = await order(world, running)
    number = made["id"]
    assert (await send(world, running, number, b""))[0] == 400
    assert (await send(world, running, number, b"x", trace=16))[0] == 400
    assert (await send(world, running, number, b"x", trace="x"))[0] == 400
    assert (await send(world, running, number, b"x", rank=2))[0] == 400
    assert (await finish(world, running, number))[0] == 400
    monkeypatch.setattr("hai_scheduler.core.profiling.recordings.MOST_RANK_BYTES", 10)
    assert (await send(world, running, number, b"123456"))[0] == 200
    assert (await send(world, running, number, b"123456", trace=1))[0] == 400
    many = [{"pid": n, "name": "", "how": None, "kernel": "", "text": "x" * 65_000} for n in range(5)]
    assert (await finish(world, running, number, traces=[], stacks=many))[0] == 400


async def test_the_oldest_makes_room(world, running) -> None:
    numbers = [await recorded(world, running, packed(steps(3)), packed(steps(3))) for _ in range(21)]
    _, listed = await world.json("GET", f"/tasks/{running.id}/profiles")
    assert [one["id"] for one in listed["items"]] == numbers[:0:-1]


class Readers:
    """Workers that read traces as the test says, and know which ones they were asked for."""

    def __init__(self, *found: TraceRead | Exception) -> None:
        self.asked: list[int] = []
        self.go = asyncio.Event()
        self._found = list(found)

    async def do(self, _user: str, order: TraceOrder) -> TraceRead:
        self.asked.append(order.rank)
        await self.go.wait()
        found = self._found.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def read_by(world, readers: Readers) -> Readers:
    world.platform.profiling.recordings.workers = readers
    return readers


def faults_of(found) -> list[str | None]:
    return [part["traces"][0]["fault"] for part in found["parts"]]


async def test_traces_that_are_too_large_are_tried_once(world, running) -> None:
    number = await recorded(world, running, packed(steps(5)), packed(steps(5)))
    readers = read_by(world, Readers(TooCostly("more than 40 seconds")))
    readers.go.set()
    for _ in range(2):
        status, found = await world.json("GET", f"/tasks/{running.id}/profiles/{number}")
        assert status == 200
        first, second = faults_of(found)
        assert "too large" in first
        assert "others of this recording" in second
    assert readers.asked == [0]


async def test_what_was_read_is_kept_when_the_rest_cannot_be_read_now(world, running) -> None:
    number = await recorded(world, running, packed(steps(5)), packed(steps(5)))
    readers = read_by(world, Readers(TraceRead(fault="damaged"), Unavailable("busy"), TraceRead(fault="as well")))
    readers.go.set()
    assert (await world.json("GET", f"/tasks/{running.id}/profiles/{number}"))[0] == 503
    _, found = await world.json("GET", f"/tasks/{running.id}/profiles/{number}")
    assert faults_of(found) == ["damaged", "as well"]
    assert readers.asked == [0, 1, 1]


async def test_who_looks_while_traces_are_read_waits_for_the_same_reading(world, running) -> None:
    number = await recorded(world, running, packed(steps(5)), packed(steps(5)))
    readers = read_by(world, Readers(TraceRead(fault="damaged"), TraceRead(fault="as well")))
    looks = [asyncio.ensure_future(world.json("GET", f"/tasks/{running.id}/profiles/{number}")) for _ in range(2)]
    await until("a reading", lambda: readers.asked)
    looks[0].cancel()
    later = asyncio.ensure_future(world.json("GET", f"/tasks/{running.id}/profiles/{number}"))
    await until("one request to have gone", looks[0].done)
    readers.go.set()
    for look in (looks[1], later):
        assert faults_of((await look)[1]) == ["damaged", "as well"]
    assert readers.asked == [0, 1]
