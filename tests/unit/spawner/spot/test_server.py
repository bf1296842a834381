"""Spot containers from the submission of their task to their end, as the Hub is told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub.spawner import SpawnException

from hai_spawner.spot.local import HaiSpotLocalSpawner
from hai_spawner.spot.options import SpotOptions
from hai_spawner.spot.scheduler import SchedulerError
from hai_spawner.spot.server import SpotServer
from hai_spawner.spot.state import SpotRecord
from unit.spawner.hub_user import User

DEFAULTS = SpotOptions(priority="LOW", group="training", grace_s=300.0)


def a_task(state: str = "running", *, runs: tuple[tuple[str, bool], ...] = (("41.1", True),)) -> dict[str, Any]:
    return {
        "id": 41,
        "state": state,
        "held": False,
        "message": "Waits.",
        "runs": [{"id": run, "ended_at": None if live else "2026-11-21T12:00:00Z"} for run, live in runs],
    }


class FakeScheduler:
    """Answers as the test says; an exception in place of a task is raised."""

    def __init__(self) -> None:
        self.shown: Any = a_task("queued", runs=())
        self.submitted: list[dict[str, Any]] = []
        self.stopped: list[int] = []
        self.resumed: list[int] = []
        self.refusal: SchedulerError | None = None

    async def submit(self, body: dict[str, Any], key: str) -> int:
        if self.refusal is not None:
            raise self.refusal
        self.submitted.append(body)
        return 40 + len(self.submitted)

    async def task(self, _task: int) -> Any:
        if isinstance(self.shown, Exception):
            raise self.shown
        return self.shown

    async def stop(self, task: int) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.stopped.append(task)
        self.shown = a_task("stopped", runs=())

    async def resume(self, task: int) -> None:
        self.resumed.append(task)


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> FakeScheduler:
    made = FakeScheduler()
    monkeypatch.setattr(SpotServer, "scheduler", made)
    monkeypatch.setattr("hai_spawner.spot.server._STOP_AGAIN_S", 0.0)
    return made


def spawner(root: Path, **options: Any) -> HaiSpotLocalSpawner:
    made = HaiSpotLocalSpawner(
        home_root=str(root / "home"),
        hai_api_url="http://127.0.0.1:9/api/v1",
        user=User(),
        hub=SimpleNamespace(
            public_host="", api_url="http://127.0.0.1:1/hub/api", base_url="/hub/", url="http://127.0.0.1:1/hub/"
        ),
        orm_spawner=SimpleNamespace(name="gpu", state=None, user_options=None, server=None),
    )
    made.spot.look_every = 0.01
    made.user_options = options
    made.api_token = "server-token"
    return made


async def started(made: HaiSpotLocalSpawner) -> asyncio.Task[Any]:
    await made.decide()
    start = asyncio.ensure_future(made.start())
    for _ in range(20):
        await asyncio.sleep(0)
    return start


def knock(made: HaiSpotLocalSpawner, run: str = "41.1", generation: str | None = None) -> dict[str, Any] | None:
    return made.spot.knock(run, "127.0.0.1", 4000, generation)


async def test_a_start_waits_for_its_run_and_hands_it_the_servers_environment(
    tmp_path: Path, scheduler: FakeScheduler
) -> None:
    made = spawner(tmp_path, spot={"gpus": 2})
    start = await started(made)
    assert made.start_timeout == 86_400
    [body] = scheduler.submitted
    assert (body["name"], body["gpus"], body["priority"], body["profile"]) == ("spot-gpu", 2, "LOW", "sigterm")
    assert body["env"]["HAI_SPOT_URL"] == "http://127.0.0.1:1/hub/hai/spot"
    assert "server-token" not in str(body)
    assert made.orm_spawner.state["spot"]["task"] == 41, "a Hub that ends now finds the task again"
    assert await made.poll() is None

    orders = knock(made)
    assert orders is not None
    assert orders["env"]["JUPYTERHUB_API_TOKEN"] == "server-token"
    assert orders["env"]["JUPYTERHUB_SERVICE_URL"].startswith("http://127.0.0.1:4000/")
    assert "PATH" not in orders["env"], "programs are the node's"
    assert orders["command"][-1:] == made.get_args()[-1:]
    assert await start == "http://127.0.0.1:4000"
    scheduler.shown = a_task()
    assert await made.poll() is None

    # The answer was lost: the same again. It arrived: nothing new.
    assert knock(made) == orders
    assert knock(made, generation=orders["generation"]) == {"generation": orders["generation"]}
    assert knock(made, run="41.2") is None


async def test_the_end_of_a_turn_is_the_end_of_the_server_and_not_of_the_task(
    tmp_path: Path, scheduler: FakeScheduler
) -> None:
    made = spawner(tmp_path, spot=True)
    start = await started(made)
    knock(made)
    await start
    made.spot.leave("41.1")
    assert await made.poll() == 0, "its launcher has said so"
    made.clear_state()
    assert made.get_state()["spot"] == {
        "task": 41, "asked": DEFAULTS.to_user_options(), "run": None, "generation": None,
    }  # fmt: skip
    assert scheduler.stopped == []


async def test_a_scheduler_that_does_not_answer_says_nothing_about_a_server(
    tmp_path: Path, scheduler: FakeScheduler
) -> None:
    made = spawner(tmp_path, spot=True)
    start = await started(made)
    knock(made)
    await start
    scheduler.shown = SchedulerError("the scheduler service does not answer")
    assert await made.poll() is None
    scheduler.shown = a_task("failed", runs=(("41.1", False),))
    assert await made.poll() == 1


async def test_stopping_a_server_stops_its_task(tmp_path: Path, scheduler: FakeScheduler) -> None:
    made = spawner(tmp_path, spot=True)
    start = await started(made)
    knock(made)
    await start
    await made.stop()
    assert scheduler.stopped == [41]
    assert "spot" not in made.get_state()


async def test_a_task_that_cannot_be_stopped_is_kept(tmp_path: Path, scheduler: FakeScheduler) -> None:
    made = spawner(tmp_path, spot=True)
    start = await started(made)
    knock(made)
    await start
    scheduler.refusal = SchedulerError("the scheduler service does not answer")
    with pytest.raises(SchedulerError):
        await made.stop()
    assert made.get_state()["spot"]["task"] == 41


async def test_a_start_that_is_given_up_while_it_waits_leaves_the_task_to_be_stopped(
    tmp_path: Path, scheduler: FakeScheduler
) -> None:
    made = spawner(tmp_path, spot=True)
    start = await started(made)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert await made.poll() is None, "else the Hub would not stop it"
    await made.stop()
    assert scheduler.stopped == [41]


async def test_a_refused_submission_is_told_and_leaves_nothing(tmp_path: Path, scheduler: FakeScheduler) -> None:
    scheduler.refusal = SchedulerError("gpus: 9 is more than any node has", 422)
    made = spawner(tmp_path, spot={"gpus": 9})
    await made.decide()
    with pytest.raises(SpawnException, match="9 is more than any node has") as refused:
        await made.start()
    assert refused.value.status_code == 422
    assert await made.poll() == 0
    assert made.orm_spawner.user_options == {}


async def test_a_server_that_is_started_without_spot_gives_its_waiting_task_up(
    tmp_path: Path, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start(_: object) -> tuple[str, int]:
        return "127.0.0.1", 1

    monkeypatch.setattr("hai_spawner.containers.local.HaiLocalSpawner.start", start)
    made = spawner(tmp_path, spot=None)
    made.load_state({"spot": SpotRecord(task=41, asked={}).to_state()})
    await made.decide()
    assert await made.start() == ("127.0.0.1", 1)
    assert scheduler.stopped == [41]
    assert "spot" not in made.get_state()
