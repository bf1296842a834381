"""The decision log of a task: all decisions on it, what it waited for, and when that changed."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Holder, Verdict, VerdictKind, Verdicts
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.scheduling.decision_log import (
    LINES_PER_S,
    LOOKS,
    MOST_LINES,
    MOST_WAITING,
    PACE,
    PACE_EACH,
    REST,
    DecisionLog,
)
from kit.builders import a_task, at
from kit.stores import ScratchStore
from unit.service.service_world import Service

BLOCKER = Holder(task_id=TaskId(9), name="big", user="bob", priority=Priority.HIGH, nodes=2)
OTHER = Holder(task_id=TaskId(8), name="other", user="bob", priority=Priority.HIGH, nodes=2)


def verdict(kind: VerdictKind = VerdictKind.CAPACITY, **fields: object) -> Verdict:
    data = {
        VerdictKind.CAPACITY: {"needs": 1, "free": 0},
        VerdictKind.TURN: {"needs": 1, "free": 0, "until": at(hours=2)},
        VerdictKind.RESERVED: {"needs": 1, "free": 1, "until": at(hours=2)},
        VerdictKind.QUOTA: {"needs": 1, "subject": "public", "limit": 2, "used": 2.0},
    }.get(kind, {})
    return Verdict(**{"kind": kind, "priority": Priority.NORMAL, "data": data, "holders": (BLOCKER,), **fields})


class Answers:
    """Verdicts that record which of them are looked up."""

    def __init__(self, verdicts: dict[int, Verdict], looked_up: list[TaskId]) -> None:
        self.verdicts = {TaskId(number): verdict for number, verdict in verdicts.items()}
        self.looked_up = looked_up

    @property
    def ids(self) -> Collection[TaskId]:
        return self.verdicts.keys()

    def kind_of(self, task_id: TaskId) -> VerdictKind:
        return self.verdicts[task_id].kind

    def verdict(self, task_id: TaskId) -> Verdict:
        self.looked_up.append(task_id)
        return self.verdicts[task_id]


class Log:
    """The log over a store of its own; a tick is a transaction."""

    def __init__(self) -> None:
        self.log, self.store = DecisionLog(), ScratchStore()
        self.looked_up: list[TaskId] = []

    async def tick(self, seconds: float, verdicts: dict[int, Verdict], *, dies: bool = False) -> list[int]:
        """Write the lines of a tick; returns the ids of the tasks that got a line."""
        tasks: list[Task] = [a_task(number) for number in verdicts]
        lazy = Verdicts([Answers(verdicts, self.looked_up)])
        before = 0
        try:
            async with self.store.write() as tx:
                before = await tx.events.last_seq()
                await self.log.write(tx, at(seconds), tasks, lazy)
                if dies:
                    raise RuntimeError
            self.log.settle()
        except RuntimeError:
            pass
        return sorted(int(event.task_id or 0) for event in await self.lines(before))

    async def lines(self, after: int = 0) -> list[HistoryEvent]:
        async with self.store.read() as tx:
            return list(await tx.events.page(after=after, limit=100_000))


async def test_a_task_gets_a_line_when_what_it_waits_for_changes_and_none_while_it_does_not() -> None:
    log = Log()
    assert await log.tick(0, {1: verdict()}) == [1]
    assert await log.tick(60, {1: verdict()}) == []
    assert await log.tick(120, {1: verdict(VerdictKind.TURN)}) == [1]
    assert await log.tick(180, {1: verdict(VerdictKind.TURN)}) == []
    line = (await log.lines())[-1]
    assert (line.kind, line.actor, line.user, line.at) == ("task.verdict", "scheduler", "alice", at(120))
    assert line.data["kind"] == "TURN"
    assert line.data["data"]["until"] == at(hours=2).isoformat()
    assert "equal priority" in line.data["sentence"]
    assert (line.data["holders"], "big" in str(line.data)) == ([9], False)


@pytest.mark.parametrize(
    ("sentence", "before", "after", "written"),
    [
        ("a little later", verdict(VerdictKind.TURN), {"until": at(hours=2, minutes=1)}, False),
        ("less than a tenth of the wait later", verdict(VerdictKind.TURN), {"until": at(hours=2, minutes=9)}, False),
        ("much later", verdict(VerdictKind.TURN), {"until": at(hours=3)}, True),
        ("sooner", verdict(VerdictKind.TURN), {"until": at(minutes=30)}, True),
        ("not known any more", verdict(VerdictKind.TURN), {"until": None}, True),
        ("another limit", verdict(VerdictKind.QUOTA), {"limit": 1}, True),
        ("another use of the same row", verdict(VerdictKind.QUOTA), {"used": 1.5}, False),
        ("another number of free nodes", verdict(), {"free": 3}, False),
    ],
)
async def test_a_number_that_matters_gets_a_line(
    sentence: str, before: Verdict, after: dict[str, object], written: bool
) -> None:
    log = Log()
    await log.tick(0, {1: before})
    changed = verdict(before.kind, data={**before.data, **after})
    assert await log.tick(60, {1: changed}) == ([1] if written else []), sentence


async def test_whom_nodes_are_kept_for_matters() -> None:
    log = Log()
    await log.tick(0, {1: verdict(VerdictKind.RESERVED)})
    assert await log.tick(60, {1: verdict(VerdictKind.RESERVED, holders=(OTHER,))}) == [1]


async def test_a_task_that_goes_to_and_fro_gets_a_line_now_and_then() -> None:
    log = Log()
    written = [
        await log.tick(seconds, {1: verdict(VerdictKind.TURN if seconds % 2 else VerdictKind.CAPACITY)})
        for seconds in range(31)
    ]
    assert [seconds for seconds, tasks in enumerate(written) if tasks] == [0, 11, 22]
    assert timedelta(seconds=11) >= PACE


async def test_a_storm_is_written_over_several_ticks() -> None:
    log = Log()
    storm = {number: verdict() for number in range(1, 2 * MOST_LINES + 51)}
    assert [len(await log.tick(second, storm)) for second in range(4)] == [MOST_LINES, MOST_LINES, 50, 0]


async def test_of_many_tasks_some_are_looked_at_now_and_then_and_each_has_its_turn() -> None:
    log = Log()
    many = {number: verdict() for number in range(1, 2 * MOST_WAITING + 1)}
    rest = REST * len(many)
    assert len(await log.tick(0, many)) == MOST_LINES
    assert await log.tick(rest.total_seconds() * 0.9, many) == []
    assert len(await log.tick(1, many)) == LINES_PER_S
    told, seconds = set[int](), 1.0
    while len(told) < len(many) - MOST_LINES - LINES_PER_S:
        seconds += 5
        assert seconds < 120
        lines = await log.tick(seconds, many)
        assert len(lines) <= 5 * LINES_PER_S
        assert told.isdisjoint(lines)
        told |= set(lines)
    assert [await log.tick(seconds + more, many) for more in (10, 20, 30)] == [[], [], []]


async def test_of_many_tasks_each_gets_a_line_now_and_then_however_often_its_verdict_changes() -> None:
    log, tasks, count = Log(), range(1, MOST_WAITING + 101), 0
    pace = PACE_EACH * len(tasks)
    assert pace > PACE
    for seconds in range(0, 600, 5):
        kind = VerdictKind.TURN if seconds % 2 else VerdictKind.CAPACITY
        count += len(await log.tick(seconds, {number: verdict(kind) for number in tasks}))
    assert count <= len(tasks) * (1 + timedelta(seconds=600) / pace)
    assert count <= MOST_LINES + LINES_PER_S * 600


async def test_few_verdicts_are_put_into_data_while_no_kind_changes_and_each_has_its_turn() -> None:
    log = Log()
    many = {number: verdict(VerdictKind.TURN) for number in range(1, 3 * LOOKS + 1)}
    await log.tick(0, many)
    log.looked_up.clear()
    for number in range(3):
        await log.tick(60 + number, many)
        assert len(set(log.looked_up)) <= LOOKS * (number + 1)
    assert set(log.looked_up) == set(many)


async def test_a_tick_that_fails_is_written_again() -> None:
    log = Log()
    assert await log.tick(0, {1: verdict()}, dies=True) == []
    assert await log.tick(1, {1: verdict()}) == [1]


async def test_a_task_that_was_submitted_a_moment_ago_has_no_line_yet() -> None:
    assert await Log().tick(0, {1: verdict(VerdictKind.NEXT)}) == []


async def test_after_a_restart_each_waiting_task_has_at_most_one_line_again() -> None:
    service = await Service(nodes=1).open()
    await service.submit("first", "ann")
    await service.submit("second", "ann")
    await service.step(60)
    service.restart()
    await service.step(60)
    await service.step(60)
    assert [event.data["kind"] for event in await service.events("task.verdict")] == ["CAPACITY", "CAPACITY"]
