"""Lists of tasks: pages in any order, with tags, stars and use, and cursors that no caller can bend."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.metrics.series import Point, Spread
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.usage_summary import UsageLevel, UsageSummary
from hai_scheduler.ports.values import TaskFilter, TaskKey, TaskSort
from hai_scheduler.service.insight.queries import Queries
from hai_scheduler.service.insight.task_lists import PIECE, TaskLists, cursor_of, place_of
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from hai_scheduler.service.shared.errors import Forbidden, Invalid
from hai_scheduler.service.shared.latest_plan import LatestPlan
from hai_scheduler.service.shared.world import RankLocations
from kit.builders import a_run, a_spec, a_task
from kit.memory.clock import VirtualClock
from kit.stores import ScratchStore
from kit.worlds import make_world

CLOCK = VirtualClock()
ALICE = Caller(name="alice")
ADMIN = Caller(name="root", scopes=frozenset({SCOPE_ADMIN}))
BY_NAME = TaskSort(key=TaskKey.NAME, falling=False)


def lists_of(store: ScratchStore) -> TaskLists:
    plan = LatestPlan()
    queries = Queries(
        make_world(
            store=store, clock=CLOCK, latest_plan=plan, locations=RankLocations(api_url="", checkpoint_root="/c")
        )
    )
    return TaskLists(make_world(store=store, clock=CLOCK, latest_plan=plan), queries=queries)


async def stored(*tasks: Task) -> TaskLists:
    store = ScratchStore()
    async with store.write() as tx:
        for number, task in enumerate(tasks):
            await tx.tasks.add(task, a_spec("x", tags=("even",) if number % 2 == 0 else ()))
    return lists_of(store)


@pytest.mark.parametrize("sort", [TaskSort(), BY_NAME, TaskSort(key=TaskKey.NODES)])
@pytest.mark.parametrize("limit", [1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 200])
@pytest.mark.parametrize("count", [0, PIECE, 3 * PIECE + 1])
async def test_pages_are_whole_whatever_pieces_they_are_read_in(count: int, limit: int, sort: TaskSort) -> None:
    lists = await stored(*(a_task(name=f"t{number % 7}", nodes=number % 3 + 1) for number in range(count)))
    seen: list[int] = []
    cursor = None
    while True:
        page = await lists.page(ALICE, TaskFilter(), cursor=cursor, limit=limit, sort=sort, total=True)
        seen += [one.task.id for one in page.items]
        assert (len(page.items) <= limit, page.total) == (True, count)
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(seen) == list(range(1, count + 1))
    if sort == TaskSort():
        assert seen == sorted(seen, reverse=True)


async def test_a_list_has_tags_and_the_stars_of_its_reader() -> None:
    lists = await stored(a_task(), a_task())
    async with lists.store.write() as tx:
        await tx.labels.put_star("alice", (await tx.tasks.find("alice", a_task().name)).id, starred=True)
    page = await lists.page(ALICE, TaskFilter(), cursor=None, limit=5)
    assert [(one.tags, one.starred) for one in page.items] == [((), True), (("even",), False)]
    mine = await lists.page(ALICE, TaskFilter(starred_by="alice"), cursor=None, limit=5)
    assert [one.task.id for one in mine.items] == [2]
    others = await lists.page(ADMIN, TaskFilter(user="*"), cursor=None, limit=5)
    assert [one.starred for one in others.items] == [False, False]


async def test_what_tasks_use_is_told_when_it_is_asked_for() -> None:
    summary = UsageSummary(
        seconds=60, cpu=UsageLevel(1.5, 2.0), gpus=2, gpu_seconds=100, gpu_idle_seconds=25, gpu_use=UsageLevel(70, 90)
    )
    over = a_run(1, ended_at=CLOCK.now(), summary=summary)
    lists = await stored(
        a_task(state=TaskState.SUSPENDED, run=over), a_task(state=TaskState.RUNNING, run=a_run(2)), a_task()
    )
    now = int(CLOCK.now().timestamp())
    points = [Point(now, {"cpu": Spread(1, 2, 3), "gpu0_use": Spread(0, 50, 99), "gpu1_use": Spread(0, 70, 99)})]
    await lists.store.series.append("2.1", 0, points)
    assert all(one.use is None for one in (await lists.page(ALICE, TaskFilter(), cursor=None, limit=5)).items)
    waits, runs, ended = (await lists.page(ALICE, TaskFilter(), cursor=None, limit=5, use=True)).items
    assert waits.use is None
    assert runs.use is not None
    assert (runs.use.cpu, runs.use.gpu_use, runs.use.gpu_idle) == (
        pytest.approx(2, rel=0.02),
        pytest.approx(60, rel=0.02),
        None,
    )
    assert ended.use is not None
    assert (ended.use.cpu, ended.use.gpu_use, ended.use.gpu_idle) == (1.5, 70, 0.25)


async def test_the_tasks_of_others_are_for_admins() -> None:
    lists = await stored(a_task())
    for user in ("bob", "*"):
        with pytest.raises(Forbidden):
            await lists.page(ALICE, TaskFilter(user=user), cursor=None, limit=5)


def test_a_cursor_is_read_as_it_was_written() -> None:
    task = replace(a_task(7, name="x-ü~"), user="\ud800")
    for key in TaskKey:
        for falling in (True, False):
            sort = TaskSort(key=key, falling=falling)
            assert place_of(cursor_of(task, sort), sort)[1] == 7


@pytest.mark.parametrize(
    "cursor", ["", "x", "-1", "9" * 19, "~", "~!!", "~" + "A" * 40, cursor_of(a_task(), BY_NAME), "~WzFd"]
)
@pytest.mark.parametrize("sort", [TaskSort(), TaskSort(key=TaskKey.NODES)])
def test_other_cursors_are_refused(cursor: str, sort: TaskSort) -> None:
    with pytest.raises(Invalid, match="cursor"):
        place_of(cursor, sort)


def test_a_number_is_no_cursor_of_another_order() -> None:
    with pytest.raises(Invalid, match="cursor"):
        place_of("12", BY_NAME)
