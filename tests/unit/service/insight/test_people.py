"""Ten thousand users: what a page of them costs, and cursors."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from sqlalchemy import event, insert

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.service.insight import people as module
from hai_scheduler.service.insight.people import People, PeopleFilter, PeopleOrder
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from hai_scheduler.service.shared.errors import Forbidden, Invalid, NotFound
from hai_scheduler.service.shared.latest_plan import LatestPlan
from hai_scheduler.store import tables
from hai_scheduler.store.codec import to_instant
from kit.builders import T0, a_spec, a_task
from kit.memory.clock import VirtualClock
from kit.stores import ScratchStore
from kit.worlds import make_world

ADMIN = Caller(name="root", scopes=frozenset({SCOPE_ADMIN}))
USERS = 10_000


@pytest.fixture
def people() -> People:
    return People(make_world(store=ScratchStore(), clock=VirtualClock(), latest_plan=LatestPlan()))


async def test_ten_thousand_users_come_in_pages_whole_and_once(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"u{n:05}" for n in range(USERS)]
    async with people.store.engine.begin() as connection:
        groups = [{"name": name, "groups": [f"g{n % 50}"]} for n, name in enumerate(names)]
        await connection.execute(insert(tables.USERS), groups)
        seen_at = [{"name": name, "seen_at": to_instant(T0)} for name in names]
        await connection.execute(insert(tables.VISITS), seen_at)
    async with people.store.write() as tx:
        await tx.quotas.put(Quota(subject="public", group="training", priority=Priority.NORMAL, limit=4))
        for n in range(0, USERS, 100):
            await tx.tasks.add(a_task(user=f"u{n:05}", nodes=1 + n // 100, priority=Priority.NORMAL), a_spec())
    views, asked = Mock(wraps=module._view), Mock()
    monkeypatch.setattr(module, "_view", views)
    event.listen(people.store.engine.sync_engine, "after_execute", asked)
    page = await people.page(ADMIN, PeopleFilter(order=PeopleOrder.WAITING), cursor=None, limit=50)
    # Views are made for the users of the page alone, and nothing is asked for one user.
    assert views.call_count == 50
    assert asked.call_count < 15
    assert (page.total, [view.name for view in page.items[:2]]) == (USERS, ["u09900", "u09800"])
    assert [len(view.quota) for view in page.items] == [1] * 50
    seen, cursor = [], None
    while True:
        page = await people.page(ADMIN, PeopleFilter(order=PeopleOrder.SEEN), cursor=cursor, limit=2000)
        seen += [view.name for view in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == names


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
