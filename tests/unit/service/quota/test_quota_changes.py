"""Ceilings, rows that expire, and users who raise their own quota (Q2, Q3)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.shared.caller import SCOPE_WRITE, Caller
from hai_scheduler.service.shared.errors import Forbidden, Invalid
from unit.service.service_world import ADMIN, Service, user

HIGH = Priority.HIGH
ANN = Caller(name="ann", groups=frozenset({"ml", "vision"}), scopes=frozenset({SCOPE_WRITE}))


def a_row(subject: str, limit: int | None = 2, ceiling: int | None = None, **more: object) -> Quota:
    return Quota(subject=subject, group="training", priority=HIGH, limit=limit, ceiling=ceiling, **more)  # type: ignore[arg-type]


async def world(*rows: Quota) -> Service:
    """A service in which only these rows give quota at HIGH."""
    service = await Service().open()
    async with service.store.write() as tx:
        await tx.quotas.delete(a_row("public"))
        for row in rows:
            await tx.quotas.put(row)
    return service


async def put_own(service: Service, limit: int, group: str = "training") -> Quota:
    return await service.platform.people.own_quotas.put(ANN, group, HIGH, limit)


async def row_of(service: Service, subject: str) -> Quota | None:
    async with service.store.read() as tx:
        rows = [row for row in await tx.quotas.all() if row.subject == subject and row.priority is HIGH]
    return rows[0] if rows else None


# --- one's own row


@pytest.mark.parametrize(
    ("sentence", "rows", "ceiling"),
    [
        ("one's own", [a_row("user:ann", ceiling=4), a_row("group:ml", ceiling=8), a_row("public", ceiling=9)], 4),
        ("the largest of one's groups'", [a_row("group:ml", ceiling=5), a_row("group:vision", ceiling=7)], 7),
        ("a group's before public's", [a_row("group:ml", ceiling=5), a_row("public", ceiling=7)], 5),
        ("public's", [a_row("public", ceiling=3)], 3),
        ("an own row without one leaves that of others", [a_row("user:ann"), a_row("public", ceiling=3)], 3),
    ],
)
async def test_a_user_may_go_up_to_the_ceiling_that_counts_and_no_further(sentence, rows, ceiling) -> None:
    service = await world(*rows)
    with pytest.raises(Forbidden, match=rf"limit: {ceiling + 1} is more than {ceiling}, .*HIGH.*ask an admin"):
        await put_own(service, ceiling + 1)
    for limit in (ceiling, 0, 1):
        assert (await put_own(service, limit)).limit == limit
    views = await service.platform.insight.queries.own_quota(ANN)
    (view,) = [view for view in views if view.priority is HIGH]
    assert (view.limit, view.source, view.ceiling) == (1, "user:ann", ceiling)


@pytest.mark.parametrize(
    "rows",
    [[], [a_row("public", 8)], [a_row("group:else", ceiling=8)], [a_row("total:ml")], [a_row("user:bob", ceiling=8)]],
    ids=["no row", "no ceiling", "another group's", "a total", "another user's"],
)
async def test_without_a_ceiling_nothing_may_be_changed(rows) -> None:
    service = await world(*rows)
    with pytest.raises(Forbidden, match="no ceiling is set for you there: ask an admin"):
        await put_own(service, 1)
    assert await service.events("quota.put") == []


async def test_a_user_changes_what_they_may_hold_at_once() -> None:
    service = await world(a_row("public", 1, ceiling=3))
    task = await service.submit("ann", "ann", 1, priority=HIGH)
    second = await service.submit("more", "ann", 1, priority=HIGH)
    await service.step()
    assert await service.states(task, second) == ["running", "queued"]
    async with service.bus.listen("tick") as ears:
        await put_own(service, 2)
        assert await ears.wait(0)
    await service.step()
    assert await service.states(second) == ["running"]


async def test_ceiling_and_end_of_an_own_row_stay_and_the_change_is_told() -> None:
    service = await world()
    end = service.clock.now() + timedelta(days=1)
    await service.platform.administration.put_quota(ADMIN, a_row("user:ann", 2, ceiling=4, expires_at=end))
    assert await put_own(service, 3) == a_row("user:ann", 3, ceiling=4, expires_at=end)
    event = (await service.events("quota.put"))[-1]
    assert event.actor == "ann"
    assert event.data == {
        "subject": "user:ann",
        "group": "training",
        "priority": "HIGH",
        "limit": 3,
        "ceiling": 4,
        "expires_at": end.isoformat(),
        "before": 2,
    }


async def test_a_node_group_that_there_is_not_is_refused() -> None:
    service = await world(a_row("public", ceiling=3))
    with pytest.raises(Invalid, match="there is no node group 'trianing': choose one of training"):
        await put_own(service, 1, group="trianing")


# --- rows that expire


async def test_an_expired_row_counts_as_absent_and_only_admins_see_it() -> None:
    service = await world(a_row("public", 1))
    end = service.clock.now() + timedelta(hours=1)
    await service.platform.administration.put_quota(ADMIN, a_row("user:ann", 3, ceiling=4, expires_at=end))
    queries = service.platform.insight.queries

    async def seen(caller: Caller) -> int:
        return len([row for row in await queries.quotas(caller) if row.subject == "user:ann"])

    assert await seen(ANN) == 1
    (view,) = [view for view in await queries.own_quota(ANN) if view.priority is HIGH]
    assert (view.limit, view.expires_at) == (3, end)
    await service.step(3600)
    assert (await seen(ANN), await seen(ADMIN)) == (0, 1)
    (view,) = [view for view in await queries.own_quota(ANN) if view.priority is HIGH]
    assert (view.limit, view.source, view.ceiling, view.expires_at) == (1, "public", None, None)
    with pytest.raises(Forbidden, match="no ceiling"):
        await put_own(service, 1)


async def test_a_row_written_over_an_expired_one_has_no_end() -> None:
    service = await world(a_row("public", 1, ceiling=3))
    end = service.clock.now() + timedelta(hours=1)
    await service.platform.administration.put_quota(ADMIN, a_row("user:ann", 2, ceiling=9, expires_at=end))
    await service.step(3600)
    assert await put_own(service, 3) == a_row("user:ann", 3)


async def test_rows_are_removed_thirty_days_after_their_end_and_that_is_told() -> None:
    service = await world()
    end = service.clock.now() + timedelta(hours=1)
    await service.platform.administration.put_quota(ADMIN, a_row("user:ann", 3, expires_at=end))
    await service.clock.advance(timedelta(days=30).total_seconds() + 3599)
    assert await service.loop.housekeeping.sweep_quotas() == 0
    await service.clock.advance(1)
    assert await service.loop.housekeeping.sweep_quotas() == 1
    assert await service.loop.housekeeping.sweep_quotas() == 0
    assert await row_of(service, "user:ann") is None
    (event,) = await service.events("quota.deleted")
    assert (event.actor, event.data["subject"], event.data["because"]) == ("scheduler", "user:ann", "it expired")


# --- what admins write


@pytest.mark.parametrize(
    ("row", "field", "said"),
    [
        (a_row("user:ann", 4, ceiling=3), "ceiling", "3 is below the limit of 4"),
        (a_row("user:ann", None, ceiling=3), "ceiling", "nothing can be raised"),
        (a_row("total:ml", 4, ceiling=5), "ceiling", "leave it out"),
    ],
    ids=["below the limit", "no limit", "a total"],
)
async def test_a_ceiling_without_sense_is_refused(row: Quota, field: str, said: str) -> None:
    service = await world()
    with pytest.raises(Invalid) as caught:
        await service.platform.administration.put_quota(ADMIN, row)
    assert (caught.value.field, said in caught.value.message) == (field, True)
    assert await row_of(service, row.subject) is None


async def test_an_end_that_is_past_is_refused() -> None:
    service = await world()
    with pytest.raises(Invalid, match="expires_at: is past"):
        await service.platform.administration.put_quota(ADMIN, a_row("public", expires_at=service.clock.now()))


@pytest.mark.parametrize(
    ("subject", "warned"),
    [
        ("user:ann", False),
        ("user:anne", True),
        ("group:ml", False),
        ("group:lm", True),
        ("total:ml", False),
        ("total:lm", True),
        ("public", False),
    ],
)
async def test_names_never_seen_are_warned_of_and_written(subject: str, warned: bool) -> None:
    service = await world()
    async with service.store.write() as tx:
        await tx.users.put(UserRecord(name="ann", groups=frozenset({"ml"})))
    warning = await service.platform.administration.put_quota(ADMIN, a_row(subject))
    assert (warning is not None and "check the spelling" in warning) == warned
    assert await row_of(service, subject) is not None


async def test_a_cap_over_all_members_is_seen_by_them() -> None:
    service = await world(a_row("total:ml"), a_row("total:else"))
    rows = await service.platform.insight.queries.quotas(ANN)
    assert [row.subject for row in rows if row.subject.startswith("total:")] == ["total:ml"]
    assert [row for row in await service.platform.insight.queries.quotas(user("bob")) if "total" in row.subject] == []
