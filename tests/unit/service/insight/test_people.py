"""Ten thousand users: what a page of them costs, and cursors."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.ports.values import UserRecord, UserVisit
from hai_scheduler.service.insight.people import People, PeopleFilter, PeopleOrder
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from hai_scheduler.service.shared.errors import Forbidden, Invalid, NotFound
from hai_scheduler.service.shared.latest_plan import LatestPlan
from kit.builders import T0, a_spec, a_task
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world

ADMIN = Caller(name="root", scopes=frozenset({SCOPE_ADMIN}))
USERS = 10_000


@pytest.fixture
def people() -> People:
    return People(make_world(store=MemoryStore(), clock=VirtualClock(), latest_plan=LatestPlan()))


async def test_ten_thousand_users_come_in_pages_whole_and_once(people: People) -> None:
    state = people.store._state
    records = {f"u{n:05}": UserRecord(name=f"u{n:05}", groups=frozenset({f"g{n % 50}"})) for n in range(USERS)}
    visits = {name: UserVisit(name=name, seen_at=T0) for name in records}
    people.store._state = replace(state, users=records, visits=visits)
    async with people.store.write() as tx:
        await tx.quotas.put(Quota(subject="public", group="training", priority=Priority.NORMAL, limit=4))
        for n in range(0, USERS, 100):
            await tx.tasks.add(a_task(user=f"u{n:05}", nodes=1 + n // 100, priority=Priority.NORMAL), a_spec())
    began = time.process_time()
    page = await people.page(ADMIN, PeopleFilter(order=PeopleOrder.WAITING), cursor=None, limit=50)
    took = time.process_time() - began
    assert (page.total, [view.name for view in page.items[:2]]) == (USERS, ["u09900", "u09800"])
    assert [len(view.quota) for view in page.items] == [1] * 50
    # Some 0.1 s on a free machine.
    assert took < 3
    seen, cursor = [], None
    while True:
        page = await people.page(ADMIN, PeopleFilter(order=PeopleOrder.SEEN), cursor=cursor, limit=2000)
        seen += [view.name for view in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == sorted(records)


async def test_who_may_ask_and_for_whom(people: People) -> None:
    with pytest.raises(Forbidden):
        await people.page(Caller(name="ann"), PeopleFilter(), cursor=None, limit=5)
    with pytest.raises(Forbidden):
        await people.one(Caller(name="ann"), "ann")
    with pytest.raises(NotFound):
        await people.one(ADMIN, "ann")


@pytest.mark.parametrize("cursor", ["", "x", "e30=", "WzFd", "W251bGwsIDFd", "ÿ"])
async def test_a_cursor_of_one_s_own_is_refused(people: People, cursor: str) -> None:
    with pytest.raises(Invalid):
        await people.page(ADMIN, PeopleFilter(), cursor=cursor, limit=5)
