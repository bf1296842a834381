"""The health of the platform, from the status of the loop."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.platform.health import Health, WellBeing
from hai_scheduler.service.platform.loop_status import SETTING, LoopStatus, status_of
from hai_scheduler.service.shared.latest_plan import LatestPlan
from hai_scheduler.service.shared.settings import ServiceSettings
from kit.builders import a_node, at
from kit.worlds import make_world
from unit.service.platform.status_kit import another_process, written
from unit.service.two_replicas import Pair


async def test_a_blind_loop_says_so_at_once_and_goes_on_saying_that_it_lives() -> None:
    pair = await Pair().open()
    cycle, health = pair.replicas[0].loop.cycle, another_process(pair)
    await cycle._tick_safely()
    assert (await health.look()).wrong is None
    pair.cluster.faults.down = True
    await cycle._tick_safely()
    assert "cannot be seen" in str((await health.look()).wrong)
    first = await written(pair)
    for _ in range(30):
        await pair.clock.advance(1)
        await cycle._tick_safely()
    assert await written(pair) != first
    told = await health.look()
    assert "cannot be seen" in str(told.wrong)
    assert told.standstill == told.wrong
    assert told.silence is not None
    assert timedelta(seconds=25) < told.silence <= timedelta(seconds=30), "no tick has gone through"
    pair.cluster.faults.down = False
    await cycle._tick_safely()
    told = await health.look()
    assert told.wrong is None
    assert told.silence == timedelta(0)


async def test_a_loop_that_has_died_is_told_of_by_its_silence() -> None:
    pair = await Pair().open()
    health = another_process(pair)
    await pair.replicas[0].loop.cycle._tick_safely()
    assert (await health.look()).wrong is None
    await pair.clock.advance(9)
    assert (await health.look()).wrong is None, "it may be starting again"
    await pair.clock.advance(3)
    told = await health.look()
    assert told.wrong == "The scheduling loop has not ticked for 12 s: its log says why."
    assert told.standstill == told.wrong
    assert (await another_process(pair).look()).wrong == (await health.look()).wrong, "one that has just started"


async def test_a_loop_that_has_died_while_it_saw_nothing_is_told_of_as_dead() -> None:
    pair = await Pair().open()
    health = another_process(pair)
    pair.cluster.faults.down = True
    await pair.replicas[0].loop.cycle._tick_safely()
    assert "cannot be seen" in str((await health.look()).wrong)
    pair.cluster.faults.down = False
    await pair.clock.advance(60)
    assert "has not ticked for 60 s" in str((await health.look()).wrong)


@pytest.mark.parametrize("ahead", [3600.0, -3600.0], ids=["ahead", "behind"])
async def test_clocks_that_disagree_do_not_make_a_living_loop_silent(ahead: float) -> None:
    pair = await Pair().open()
    cycle, health = pair.replicas[0].loop.cycle, another_process(pair, ahead)
    await cycle._tick_safely()
    await health.look()
    for _ in range(4):
        await pair.clock.advance(1)
        await cycle._tick_safely()
    assert (await health.look()).wrong is None
    await pair.clock.advance(15)
    assert "has not ticked for 1" in str((await health.look()).wrong), "by its own steady clock"


async def test_a_loop_that_is_hindered_still_decides() -> None:
    pair = await Pair().open()
    health = another_process(pair)
    await pair.replicas[0].loop.cycle._tick_safely()
    status = status_of(await written(pair))
    assert status is not None
    for change in ({"trouble": "no space"}, {"policy_trouble": "slice"}):
        async with pair.store.write() as tx:
            await tx.settings.put(SETTING, replace(status, **change).text)
        told = await health.look()
        assert (told.wrong is None, told.deciding, told.standstill) == (False, True, None), change


async def test_where_nothing_is_written_or_it_cannot_be_read_the_loop_has_not_ticked() -> None:
    pair = Pair()
    health = another_process(pair)
    assert "has not ticked yet" in str((await health.look()).wrong)
    async with pair.store.write() as tx:
        await tx.settings.put(SETTING, '{"of": "another version"}')
    assert "has not ticked yet" in str((await health.look()).wrong)


# -- the words, by what is known ------------------------------------------------------------------------------------

WELL = LoopStatus(
    holder="h", at=at(), last_tick=at(), tick_seconds=0, plan_seconds=0, ticks=1, trouble=None, blind=False,
    policy_trouble=None, rotation_alarms=0,
)  # fmt: skip
S = timedelta(seconds=1)


class Known:
    """A status as it was read, and for how long there was no newer one."""

    def __init__(self, status: LoopStatus | None, silence: timedelta | None, unheard: timedelta = S) -> None:
        self.status, self._silence, self._unheard = status, silence, unheard
        self.answers = True
        self.store = SimpleNamespace(disk_full=lambda: False)

    async def look(self) -> None:
        if not self.answers:
            raise Temporary("no answer")

    def silence(self) -> timedelta | None:
        return self._silence

    def unheard(self) -> timedelta:
        return self._unheard


async def told_of(known: Any, **view: Any) -> WellBeing:
    health = Health(make_world(store=known.store, latest_plan=LatestPlan(**view)))
    health.news = known
    return await health.look()


ORPHAN = (a_node(orphan=RunId("9.1")),)

#: sentence, the status and silence, the view of this process, words of what is wrong, whether the loop decides
WORDS: list[tuple[str, Known, dict[str, Any], str | None, bool]] = [
    ("all is well", Known(WELL, S), {}, None, True),
    ("no loop has ticked", Known(None, None), {}, "has not ticked yet", False),
    ("no tick of a loop has succeeded", Known(replace(WELL, last_tick=None), None), {}, "has not ticked yet", False),
    ("silent for almost too long", Known(WELL, 9 * S), {}, None, True),
    ("silent for too long", Known(WELL, 10 * S), {}, "has not ticked for 10 s", False),
    ("blind", Known(replace(WELL, blind=True), 99 * S), {}, "cannot be seen", False),
    ("blind, and dead since", Known(replace(WELL, blind=True), 99 * S, 10 * S), {}, "has not ticked for 99 s", False),
    ("blind before its first tick", Known(replace(WELL, blind=True), None), {}, "cannot be seen", False),
    ("hindered", Known(replace(WELL, trouble="no space on node-7"), S), {}, "cannot be carried out", True),
    ("hindered before wrong numbers", Known(replace(WELL, trouble="x", policy_trouble="y"), S), {},
     "cannot be carried out", True),
    ("wrong numbers", Known(replace(WELL, policy_trouble="slice"), S), {"blind": True}, "do not fit", True),
    ("this process sees nothing", Known(WELL, S), {"blind": True, "nodes": ORPHAN}, "lists of nodes are old", True),
    ("orphaned runs", Known(WELL, S), {"nodes": ORPHAN}, "hold nodes", True),
    ("silent before hindered", Known(replace(WELL, trouble="x"), 99 * S), {}, "has not ticked for 99 s", False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("known", "view", "wrong", "deciding"), [row[1:] for row in WORDS], ids=[row[0] for row in WORDS]
)
async def test_what_is_wrong_is_said_by_what_matters_most(
    known: Any, view: dict[str, Any], wrong: str | None, deciding: bool
) -> None:
    told = await told_of(known, **view)
    assert (told.deciding, told.standstill) == (deciding, None if deciding else told.wrong)
    assert told.wrong is None if wrong is None else wrong in str(told.wrong)
    assert "node-7" not in str(told.wrong), "callers need no token"


async def test_a_store_that_does_not_answer_is_a_standstill() -> None:
    known: Any = Known(WELL, S)
    known.answers = False
    told = await told_of(known)
    assert (told.wrong, told.deciding, told.silence) == ("The state database does not answer.", False, S)


@pytest.mark.parametrize("known", [Known(WELL, 99 * S), Known(None, None), Known(WELL, S)])
async def test_a_full_disk_is_the_cause_of_a_standstill(known: Any) -> None:
    known.store.disk_full = lambda: True
    known.answers = known.silence() != S
    told = await told_of(known)
    assert told.wrong == "The platform's disk is full, so nothing is decided: free space on it."
    assert not told.deciding


@pytest.mark.parametrize(("lease", "patience"), [(1, 10), (5, 10), (6, 12), (60, 120)])
def test_a_long_lease_is_waited_for_twice(lease: float, patience: float) -> None:
    health = Health(make_world(settings=ServiceSettings(lease_length=timedelta(seconds=lease))))
    assert health.patience == timedelta(seconds=patience)
