"""Metrics of ranks over REST: taken once, read by those who may see the task."""

from __future__ import annotations

import base64
import time

import pytest

from hai_client.metrics.packing import packed
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState

#: The beginning of an hour that has just passed.
BEGIN = int(time.time()) // 3600 * 3600 - 3600


@pytest.fixture
async def running(world) -> Task:
    return await world.start(await world.submit(nodes=2), nodes=("node-1", "node-2"))


async def send(
    world, task: Task, points: object, *, rank: object = 0, run: int = 1, who: Task | None = None, progress=None
):
    headers = {"Authorization": f"Bearer {world.tokens.make((who or task).run_id(1)).reveal()}"}
    path = f"/runs/{task.id}.{run}/ranks/{rank}/metrics"
    return await world.json("PUT", path, None, json={"points": points, "progress": progress}, headers=headers)


def point(second: int, **values: float) -> dict[str, object]:
    return {"at": BEGIN + second, "values": {name: [value, value, value] for name, value in values.items()}}


async def read(world, task: Task, who: str = "alice", **query: object):
    words = "&".join(f"{name}={value}" for name, value in query.items())
    return await world.json("GET", f"/tasks/{task.id}/metrics?since=1980-01-01T00:00:00Z&{words}", who)


async def test_points_come_back_as_columns(world, running) -> None:
    status, answer = await send(world, running, [point(10, cpu=1.5), point(20, cpu=2.5, gpu0_use=90)])
    assert (status, answer) == (200, {"newest": BEGIN + 20, "after": 10.0, "packed_form": 2})
    await send(world, running, [point(10, cpu=8)], rank=1)
    status, series = await read(world, running, step=10)
    assert status == 200
    assert series["units"] == {"cpu": "cores", "gpu0_use": "%"}
    (run,) = series["runs"]
    assert (run["run"], [rank["node"] for rank in run["ranks"]]) == (1, ["node-1", "node-2"])
    first = run["ranks"][0]
    assert first["at"] == [BEGIN + 10, BEGIN + 20]
    assert first["mean"]["cpu"] == pytest.approx([1.5, 2.5], rel=0.006)
    assert first["greatest"]["gpu0_use"][0] is None


@pytest.mark.parametrize(("taken", "sent"), [("gzip, br", "gzip"), ("identity", None)])
async def test_a_long_series_is_compressed_for_those_who_take_it_so(world, running, taken: str, sent: str | None):
    await send(world, running, [point(10 * number, cpu=number) for number in range(1, 201)])
    path = f"/tasks/{running.id}/metrics?since=1980-01-01T00:00:00Z&step=10"
    async with world.ask("GET", path, "alice", headers={"Accept-Encoding": taken}) as response:
        series = await response.json()
        assert (response.headers.get("Content-Encoding"), response.headers["Vary"]) == (sent, "Accept-Encoding")
    assert len(series["runs"][0]["ranks"][0]["at"]) == 200


async def test_a_piece_that_is_sent_twice_counts_once(world, running) -> None:
    for _ in range(2):
        assert (await send(world, running, [point(10, cpu=1)]))[1]["newest"] == BEGIN + 10
    _, series = await read(world, running, step=10)
    assert series["runs"][0]["ranks"][0]["at"] == [BEGIN + 10]


async def test_a_reader_chooses_ranks_metrics_and_step(world, running) -> None:
    await send(world, running, [point(10 * number, cpu=number, memory=5) for number in range(1, 13)])
    await send(world, running, [point(10, cpu=1)], rank=1)
    _, series = await read(world, running, step=60, ranks="0", names="cpu", run=1)
    (rank,) = series["runs"][0]["ranks"]
    assert (rank["at"], set(rank["mean"])) == ([BEGIN + 60, BEGIN + 120], {"cpu"})
    assert rank["least"]["cpu"] == pytest.approx([1, 7], rel=0.006)
    assert rank["greatest"]["cpu"] == pytest.approx([6, 12], rel=0.006)


@pytest.mark.parametrize(
    ("points", "field"),
    [
        ([{"at": 15, "values": {}}], "points[0].at"),
        ([{"at": 20, "values": {}}, {"at": 20, "values": {}}], "points[1].at"),
        ([{"at": 10**12, "values": {}}], "points[0].at"),
        ([{"at": 10, "values": {"loss": [1, 1, 1]}}], "points[0].values.loss"),
        ([{"at": 10, "values": {"cpu": [3, 2, 1]}}], "points[0].values.cpu"),
        ([{"at": 10, "values": {"cpu": [1, 1]}}], "points[0].values.cpu"),
        ([{"at": 10, "values": {"cpu": [1, 1, -1]}}], "points[0].values.cpu[2]"),
        ([{"at": 10, "values": {"cpu": [1, 1, 1e400]}}], "points[0].values.cpu[2]"),
        ([{"at": 10, "values": {f"gpu{n}_use": [1, 1, 1] for n in range(2000)}}], "points[0].values"),
        ([{"at": 10 * n, "values": {}} for n in range(1, 500)], "points"),
    ],
)
async def test_what_is_no_series_is_refused_by_name(world, running, points, field) -> None:
    status, problem = await send(world, running, points)
    assert status in (400, 422)
    assert field in str(problem), problem
    _, series = await read(world, running)
    assert series["runs"][0]["ranks"] == []


async def send_packed(world, task: Task, points: list[dict[str, object]], **more: object):
    text = base64.b64encode(packed(points)).decode()
    return await send_body(world, task, {"packed": text, **more})


async def send_body(world, task: Task, body: dict[str, object]):
    headers = {"Authorization": f"Bearer {world.tokens.make(task.run_id(1)).reveal()}"}
    return await world.json("PUT", f"/runs/{task.id}.1/ranks/0/metrics", None, json=body, headers=headers)


async def test_a_packed_piece_is_the_same_as_its_points(world, running) -> None:
    points = [point(10 * number, cpu=number, gpu0_use=50, job_loss=-number) for number in range(1, 13)]
    status, answer = await send_packed(world, running, points, progress={"at": BEGIN, "step": 7})
    assert (status, answer["newest"]) == (200, BEGIN + 120)
    await send(world, running, points, rank=1)
    # Sent again, alone and with a newer point.
    assert (await send_packed(world, running, points))[1]["newest"] == BEGIN + 120
    assert (await send_packed(world, running, [points[-1], point(130, cpu=1)]))[1]["newest"] == BEGIN + 130
    await send(world, running, [points[-1], point(130, cpu=1)], rank=1)
    _, series = await read(world, running, step=10)
    first, second = series["runs"][0]["ranks"]
    assert len(first["at"]) == 13
    assert {**first, "rank": 1, "node": "node-2"} == second
    assert (await world.json("GET", f"/tasks/{running.id}", "alice"))[1]["progress"]["step"] == 7


async def test_a_piece_over_the_turn_of_an_hour_is_stored_in_both(world, running) -> None:
    points = [point(3600 + 10 * number, cpu=number) for number in range(-3, 4)]
    assert (await send_packed(world, running, points))[1]["newest"] == BEGIN + 3630
    _, series = await read(world, running, step=10)
    assert len(series["runs"][0]["ranks"][0]["at"]) == 7


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"packed": "no base64!"}, "packed"),
        ({"packed": ""}, "packed"),
        ({"packed": "AgAA"}, "packed"),
        ({"packed": base64.b64encode(packed([{"at": 10, "values": {"loss": [1, 1, 1]}}])).decode()}, "packed"),
        ({"packed": base64.b64encode(packed([{"at": 15, "values": {"cpu": [1, 1, 1]}}])).decode()}, "points[0].at"),
        ({"packed": base64.b64encode(packed([])).decode(), "points": [{"at": 10, "values": {}}]}, "packed"),
        ({"packed": 7}, "packed"),
    ],
)
async def test_a_piece_that_is_none_is_refused_by_name(world, running, body, field) -> None:
    status, problem = await send_body(world, running, body)
    assert status in (400, 422)
    assert field in str(problem), problem
    _, series = await read(world, running)
    assert series["runs"][0]["ranks"] == []


async def test_a_rank_writes_for_its_own_run_alone(world, running) -> None:
    other = await world.start(await world.submit(nodes=1, name="other"), nodes=("node-3",))
    assert (await send(world, running, [point(10, cpu=1)], who=other))[0] == 403
    assert (await send(world, running, [point(10, cpu=1)], rank=7))[0] in (400, 422)
    assert (await send(world, running, [point(10, cpu=1)], rank="x"))[0] in (400, 422)
    await world.end(running, Reason.SUCCEEDED, TaskState.SUCCEEDED)
    assert (await send(world, running, [point(10, cpu=1)]))[0] == 410


async def test_the_metrics_of_another_users_task_are_not_there(world, running) -> None:
    await send(world, running, [point(10, cpu=1)])
    assert (await read(world, running, "bob"))[0] == 404
    assert (await read(world, running, "admin"))[0] == 200


@pytest.mark.parametrize("query", ["names=loss", "names=cpu;drop", "ranks=a", "step=1", "since=2026-01-01T00:00:00"])
async def test_a_question_that_makes_no_sense_is_refused(world, running, query) -> None:
    status, _ = await world.json("GET", f"/tasks/{running.id}/metrics?{query}", "alice")
    assert status in (400, 422)


async def test_a_stream_has_the_newest_points_as_they_come(world, running) -> None:
    first = int(time.time()) // 10 * 10
    at = {"first": first, "second": first + 10}

    def new(when: str) -> list[dict[str, object]]:
        return [{"at": at[when], "values": {"cpu": [1, 1, 1], "gpu0_use": [9, 9, 9]}}]

    await send(world, running, new("first"))
    async with world.stream("/tasks/train/metrics?names=cpu") as messages:
        event, ident, data = await anext(messages)
        assert (event, data["step"], data["units"]) == ("points", 10, {"cpu": "cores"})
        assert [rank["at"] for rank in data["runs"][0]["ranks"]] == [[at["first"]]]
        await send(world, running, new("second"))
        event, ident, data = await anext(messages)
        assert [(rank["rank"], rank["at"]) for rank in data["runs"][0]["ranks"]] == [(0, [at["second"]])]
    # Rank 1 has sent nothing, so that another stream begins where this one has: nothing is left out.
    async with world.stream("/tasks/train/metrics", last=ident) as messages:
        _, _, data = await anext(messages)
        assert data["runs"][0]["ranks"][0]["at"] == [at["first"], at["second"]]


async def test_a_stream_of_a_task_that_has_ended_ends(world, running) -> None:
    await world.end(running, Reason.SUCCEEDED, TaskState.SUCCEEDED)
    async with world.stream("/tasks/train/metrics") as messages:
        assert (await anext(messages))[0] == "end"


@pytest.mark.parametrize(
    ("query", "who", "last", "status"),
    [
        ("", "bob", None, 404),
        ("?names=loss", "alice", None, 400),
        ("?step=60", "alice", None, 400),
        ("?run=1", "alice", None, 400),
        ("?ranks=" + ",".join(map(str, range(65))), "alice", None, 400),
        ("", "alice", "x", 400),
        ("", "alice", "9" * 12, 400),
    ],
)
async def test_a_stream_that_makes_no_sense_is_refused(world, running, query, who, last, status) -> None:
    headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
    found, problem = await world.json("GET", f"/tasks/{running.id}/metrics{query}", who, headers=headers)
    assert found == status, problem


async def test_numbers_of_the_job_come_back_as_it_has_reported_them(world, running) -> None:
    own = {"at": BEGIN + 10, "values": {"job_lr": [3e-5, 3e-5, 3e-5], "job_eval/loss": [-2, -1.5, 0.25]}}
    await send(world, running, [own, point(20, cpu=1)])
    _, series = await read(world, running, step=10, names="job_*")
    assert series["units"] == {"job_eval/loss": "", "job_lr": ""}
    rank = series["runs"][0]["ranks"][0]
    assert (rank["mean"]["job_lr"], rank["least"]["job_eval/loss"]) == ([3e-5, None], [-2, None])
    _, series = await read(world, running, step=10, names="job_lr,cpu")
    assert set(series["units"]) == {"job_lr", "cpu"}


@pytest.mark.parametrize("name", ["job_", "job_a b", "job_" + "x" * 37, "job_1", "job_ä", "job_a,b"])
async def test_a_name_that_is_none_is_refused(world, running, name) -> None:
    assert (await send(world, running, [{"at": BEGIN + 10, "values": {name: [1, 1, 1]}}]))[0] in (400, 422)


async def test_progress_is_a_part_of_the_task(world, running) -> None:
    assert (await world.json("GET", f"/tasks/{running.id}", "alice"))[1]["progress"] is None
    for step, second in ((100, 0), (200, 50)):
        progress = {"at": BEGIN + second, "step": step, "total": 1000}
        assert (await send(world, running, [], progress=progress))[0] == 200
    for answer in (
        (await world.json("GET", f"/tasks/{running.id}", "alice"))[1],
        (await world.json("GET", "/tasks", "alice"))[1]["items"][0],
    ):
        progress = answer["progress"]
        assert (progress["step"], progress["total"]) == (200, 1000)
        assert progress["left_s"] is not None


@pytest.mark.parametrize(
    "progress",
    [
        {"at": BEGIN, "step": -1},
        {"at": BEGIN, "step": 10**16},
        {"at": BEGIN, "step": 1, "total": 1.5},
        {"at": 1e300, "step": 1},
        {"step": 1},
        {"at": BEGIN, "step": 1, "name": "x"},
        [],
    ],
)
async def test_progress_that_is_none_is_refused(world, running, progress) -> None:
    assert (await send(world, running, [], progress=progress))[0] in (400, 422)
    assert (await world.json("GET", f"/tasks/{running.id}", "alice"))[1]["progress"] is None


async def use_of(world, who: str, query: str = "") -> dict[int, dict[str, object]]:
    status, answer = await world.json("GET", f"/cluster/use{query}", who)
    assert status == 200
    assert answer["left_out"] == 0
    return {item["task_id"]: item for item in answer["items"]}


async def test_all_see_who_holds_nodes_and_the_owner_what_they_use(world, running) -> None:
    now = int(time.time()) // 10 * 10
    values = {name: [value] * 3 for name, value in {"cpu": 1.5, "gpu0_use": 80, "gpu1_use": 90, "job_loss": 1}.items()}
    for rank in (0, 1):
        await send(world, running, [{"at": now, "values": values}], rank=rank)
    await send(world, running, [], progress={"at": now, "step": 5, "total": 10})
    other = await world.start(await world.submit(nodes=1, name="other"), nodes=("node-3",))
    waiting = await world.submit(nodes=1, name="waits")
    seen = await use_of(world, "alice")
    assert waiting.id not in seen
    mine = seen[running.id]
    assert mine["use"]["cpu"] == pytest.approx(3, rel=0.01)
    assert mine["use"]["gpu_use"] == pytest.approx(85, rel=0.01)
    assert mine["use"]["memory"] is None
    assert (mine["name"], mine["progress"]["step"], mine["known"]) == (running.name, 5, True)
    assert (seen[other.id]["use"], seen[other.id]["known"]) == (None, True)
    hidden = {
        "name": "", "state": None, "priority": None, "running_since": None, "turn_left_s": None, "deadline": None,
        "progress": None, "use": None,
    }  # fmt: skip
    shared = {"task_id": running.id, "user": "alice", "nodes": 2, "gpus": None, "known": False}
    assert (await use_of(world, "bob"))[running.id] == {**shared, **hidden}
    assert await use_of(world, "bob", "?mine=true") == {}
    assert set(await use_of(world, "alice", "?mine=true")) == {running.id, other.id}
    assert (await use_of(world, "admin"))[running.id]["use"] == mine["use"]


async def test_old_points_are_not_what_is_used_now(world, running) -> None:
    now = int(time.time()) // 10 * 10
    await send(world, running, [{"at": now - 310, "values": {"cpu": [1, 1, 1]}}])
    assert (await use_of(world, "alice"))[running.id]["use"] is None


async def test_one_answer_is_bounded(world, running) -> None:
    other = await world.start(await world.submit(nodes=1, name="other"), nodes=("node-3",))
    _, answer = await world.json("GET", "/cluster/use?limit=1", "alice")
    assert ([item["task_id"] for item in answer["items"]], answer["left_out"]) == ([running.id], 1)
    assert other.id != running.id
    assert (await world.json("GET", "/cluster/use?limit=501", "alice"))[0] in (400, 422)
