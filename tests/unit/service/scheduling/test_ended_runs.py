"""Ended runs stay visible for weeks: facts about them are found once, not again by every tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import Origin
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.service.origin import belonging as belonging_module
from hai_scheduler.service.origin.belonging import key_of
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service

TASKS = 20


class SameObjects:
    """A cluster that returns the same objects while nothing changes, as the local cluster does."""

    def __init__(self, service: Service) -> None:
        self._observe = service.cluster.observe
        self._shown: dict[Observation, Observation] = {}

    async def observe(self) -> Sequence[Observation]:
        return [self._shown.setdefault(seen, seen) for seen in await self._observe()]


@pytest.fixture
async def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    service = await Service(nodes=TASKS).open()
    monkeypatch.setattr(service.cluster, "observe", SameObjects(service).observe)
    for number in range(TASKS):
        await service.submit(f"t{number}", "ann", does=Behaviour(work=timedelta(seconds=5)))
    for _ in range(3):
        await service.step(60)
    return service


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Observation]:
    """The observations whose origin is looked up from now on."""
    found: list[Observation] = []

    def noted(seen: Observation) -> object:
        found.append(seen)
        return key_of(seen)

    monkeypatch.setattr(belonging_module, "key_of", noted)
    return found


async def test_a_tick_asks_nothing_about_runs_that_ended_long_ago(service: Service, asked: list[Observation]) -> None:
    assert [task.state.ended for task in [await service.task(n + 1) for n in range(TASKS)]] == [True] * TASKS
    assert len(await service.cluster.observe()) == TASKS
    await service.step(1)
    assert asked == []


async def test_one_that_shows_something_else_is_looked_at(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(await service.cluster.observe())
    stranger = replace(before[0], origin=Origin(database="another", epoch=1))

    async def shown() -> Sequence[Observation]:
        return [stranger, *before[1:]]

    monkeypatch.setattr(service.cluster, "observe", shown)
    await service.loop.cycle.tick()
    (aside,) = await service.events("runs.aside")
    assert [run["run"] for run in aside.data["runs"]] == [stranger.run_id]


async def test_a_new_leader_finds_out_for_itself(service: Service, asked: list[Observation]) -> None:
    service.loop.cycle.belonging.forget()
    await service.loop.cycle.tick()
    assert len(set(asked)) == TASKS


async def test_one_that_is_not_settled_is_wanted_to_be_until_it_is(service: Service) -> None:
    before = list(await service.cluster.observe())
    left = service.loop.cycle._left_behind
    assert list(left({seen.run_id: seen for seen in before}, ())) == []
    first = replace(before[0], unfinalized=True)
    for _ in range(2):
        wanted = list(left({seen.run_id: seen for seen in (first, *before[1:])}, ()))
        assert [effect.run_id for effect in wanted] == [first.run_id]
    assert list(left({seen.run_id: seen for seen in before}, ())) == []
