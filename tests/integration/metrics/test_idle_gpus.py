"""I1 from the driver to the end of a turn: an idle GPU, read by NVML's calls, sampled, sent, noted and acted upon."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from hai_client.metrics.gpus import read_all
from hai_client.metrics.nvml import open_gpus
from hai_client.metrics.sampler import Sampler
from hai_client.metrics.summary import without_counters
from hai_scheduler.api.convert.metrics import points_of
from hai_scheduler.api.wire.metrics import PointIn
from hai_scheduler.core.metrics.series_piece import SeriesPiece
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from kit import nvml
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service


class Driver:
    """The GPUs of a rank, as a reader of samples."""

    def __init__(self, library: str) -> None:
        self._gpus = open_gpus(None, library)

    def read(self, now: float) -> dict[str, float]:
        return read_all(self._gpus)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(nvml.build(tmp_path_factory.mktemp("nvml")))


@pytest.fixture
def driver(library: str, monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.setenv("FAKE_NVML_GPUS", "2")
    monkeypatch.setenv("FAKE_NVML_IDLE", "1")
    return Driver(library)


class World:
    """A platform of two nodes, and a task on both of them whose ranks have two GPUs each."""

    def __init__(self, driver: Driver, action: str) -> None:
        self.service = Service(2, Policy(idle_action=action))
        self.driver = driver

    async def begin(self) -> TaskId:
        await self.service.open()
        idle = await self.service.submit("idle", "ann", nodes=2)
        await self.service.step(10)
        assert await self.service.states(idle) == ["running"]
        return idle

    async def minutes(self, task_id: TaskId, minutes: int, ranks: tuple[int, ...] = (0, 1)) -> None:
        """Let time pass in which the supervisors of these ranks sample each second and send every minute."""
        clock = self.service.clock
        made: list[list[dict[str, Any]]] = [[] for _ in ranks]
        samplers = [Sampler([self.driver], _keeper(points), lambda: clock.now().timestamp()) for points in made]
        for _ in range(minutes):
            for second in range(60):
                for sampler in samplers:
                    sampler.step(clock.steady() + second * 1e-9)
                await clock.advance(1)
            for rank, points in zip(ranks, made, strict=True):
                task = await self.service.task(task_id)
                if task.live_run is not None:
                    taken = SeriesPiece.of(points_of([PointIn.model_validate(point) for point in points]))
                    await self.service.platform.metrics.intake.take(task.live_run.id, rank, taken)
                points.clear()
            await self.service.step()


def _keeper(points: list[dict[str, Any]]) -> Callable[[dict[str, Any], float], None]:
    return lambda point, _: points.append({**point, "values": without_counters(point["values"])})


async def test_i1_a_task_whose_gpus_are_idle_has_a_badge_until_they_work(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(driver, "notify")
    task_id = await world.begin()
    other = await world.service.submit("other", "bob", nodes=2)
    began = world.service.clock.now()
    await world.minutes(task_id, 14)
    run = (await world.service.task(task_id)).live_run
    assert run is not None
    assert run.idle_gpus_since is None
    await world.minutes(task_id, 3)
    run = (await world.service.task(task_id)).live_run
    assert run is not None
    assert run.idle_gpus_since is not None
    assert abs((run.idle_gpus_since - began).total_seconds()) <= 10
    # Its owner is told, and nothing else happens.
    assert await world.service.states(task_id, other) == ["running", "queued"]
    monkeypatch.delenv("FAKE_NVML_IDLE")
    await world.minutes(task_id, 2)
    run = (await world.service.task(task_id)).live_run
    assert run is not None
    assert run.idle_gpus_since is None
    events = await world.service.events(EventKind.TASK_GPUS_IDLE)
    # It begins with the first rank, and ends with the last.
    assert [(event.user, event.data["ranks"], event.data["since"] is None) for event in events] == [
        ("ann", [0], False),
        ("ann", [], True),
    ]


async def test_i1_with_yield_the_turn_ends_with_notice_and_the_task_goes_on_later(driver: Driver) -> None:
    world = World(driver, "yield")
    task_id = await world.begin()
    await world.minutes(task_id, 17)
    # Nobody waits: nothing would be won.
    assert await world.service.states(task_id) == ["running"]
    other = await world.service.submit("other", "bob", nodes=2, does=Behaviour(work=timedelta(minutes=5)))
    await world.service.step(1)
    task = await world.service.task(task_id)
    assert task.run is not None
    assert task.run.notice is not None
    assert task.run.notice.reason is Reason.GPUS_IDLE
    assert task.run.notice.deadline > task.run.notice.at
    await world.service.step(200)
    assert await world.service.states(task_id, other) == ["suspended", "running"]
    task = await world.service.task(task_id)
    assert (task.run and task.run.reason, task.retries, task.held) == (Reason.GPUS_IDLE, 0, False)
    # The other one has ended: it goes on, in a run of its own that is idle no longer than it lasts.
    await world.service.step(600)
    assert await world.service.states(task_id, other) == ["running", "succeeded"]
    run = (await world.service.task(task_id)).live_run
    assert run is not None
    assert (run.number, run.idle_gpus_since) == (2, None)


async def test_i1_a_gang_of_which_one_rank_works_keeps_its_nodes(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(driver, "yield")
    task_id = await world.begin()
    other = await world.service.submit("other", "bob", nodes=2)
    await world.minutes(task_id, 17, ranks=(0,))
    task = await world.service.task(task_id)
    assert task.live_run is not None
    assert task.live_run.idle_gpus_since is not None
    assert await world.service.states(task_id, other) == ["running", "queued"]
    assert task.state is TaskState.RUNNING


async def test_a_service_that_starts_again_knows_what_was_sent_before(driver: Driver) -> None:
    world = World(driver, "notify")
    task_id = await world.begin()
    await world.minutes(task_id, 10)
    world.service.restart()
    await world.service.step()
    await world.minutes(task_id, 7)
    run = (await world.service.task(task_id)).live_run
    assert run is not None
    assert run.idle_gpus_since is not None
