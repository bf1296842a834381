"""Ceilings and ends of quota over HTTP, and users who change their own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

ROW = {"subject": "public", "group": "training", "priority": "HIGH", "limit": 2}
OWN = {"group": "training", "priority": "HIGH"}


async def test_a_user_raises_their_quota_up_to_the_ceiling(world) -> None:
    assert (await world.json("PUT", "/quotas", "admin", json={**ROW, "ceiling": 3}))[1]["ceiling"] == 3
    status, own = await world.json("PUT", "/me/quota", json={**OWN, "limit": 3})
    assert (status, own["limit"], own["source"], own["ceiling"], own["used"]) == (200, 3, "user:alice", 3, 0)
    quota = {row["priority"]: row for row in (await world.json("GET", "/me"))[1]["quota"]}
    assert quota["HIGH"] == own
    status, problem = await world.json("PUT", "/me/quota", json={**OWN, "limit": 4})
    assert (status, problem["code"]) == (403, "forbidden")
    assert "4 is more than 3, the ceiling" in problem["detail"]
    assert "ask an admin" in problem["detail"]
    assert (await world.json("PUT", "/me/quota", json={**OWN, "priority": "NORMAL", "limit": 1}))[0] == 403
    assert (await world.json("PUT", "/me/quota", "reader", json={**OWN, "limit": 1}))[0] == 403


async def test_a_row_has_an_end_and_admins_see_that_it_has_come(world) -> None:
    end = datetime.now(UTC) + timedelta(days=7)
    status, row = await world.json("PUT", "/quotas", "admin", json={**ROW, "expires_at": end.isoformat()})
    assert (status, datetime.fromisoformat(row["expires_at"]), row["expired"]) == (200, end, False)
    assert (await world.json("GET", "/me"))[1]["quota"][0]["expires_at"] == row["expires_at"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**ROW, "expires_at": "2026-01-01T00:00:00Z"}, "expires_at"),
        ({**ROW, "expires_at": "soon"}, "expires_at"),
        ({**ROW, "ceiling": 1}, "ceiling"),
        ({**ROW, "ceiling": -1}, "ceiling"),
        ({**ROW, "limit": None, "ceiling": 1}, "ceiling"),
        ({**ROW, "subject": "total:ml", "ceiling": 4}, "ceiling"),
        ({**ROW, "subject": "total:"}, "subject"),
        ({**ROW, "subject": "all:ml"}, "subject"),
    ],
    ids=["past", "no time", "below", "negative", "no limit", "total", "no name", "no subject"],
)
async def test_a_wrong_row_is_refused_with_its_field(world, body, field) -> None:
    status, problem = await world.json("PUT", "/quotas", "admin", json=body)
    assert (status, problem["errors"][0]["field"]) == (400, field), problem


async def test_a_time_without_an_offset_is_refused_with_the_remedy(world) -> None:
    problem = (await world.json("PUT", "/quotas", "admin", json={**ROW, "expires_at": "2126-01-01T00:00:00"}))[1]
    assert problem["detail"] == (
        'expires_at: "2126-01-01T00:00:00" must say how far it is from UTC, as 2026-11-21T04:00:00Z does'
    )


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**OWN, "limit": None}, "limit"),
        ({**OWN, "limit": -1}, "limit"),
        ({"limit": 1}, "priority"),
        ({**OWN, "limit": 1, "group": "trianing"}, "group"),
        ({**OWN, "limit": 1, "ceiling": 9}, "ceiling"),
    ],
    ids=["no limit", "negative", "no level", "no group", "ceiling"],
)
async def test_a_wrong_change_of_ones_own_is_refused_with_its_field(world, body, field) -> None:
    status, problem = await world.json("PUT", "/me/quota", json=body)
    assert (status, problem["errors"][0]["field"]) == (400, field), problem


async def test_a_cap_over_all_members_is_written_and_a_name_never_seen_is_warned_of(world) -> None:
    await world.json("GET", "/me")
    status, row = await world.json("PUT", "/quotas", "admin", json={**ROW, "subject": "total:ml"})
    assert (status, row["warning"]) == (200, None)
    row = (await world.json("PUT", "/quotas", "admin", json={**ROW, "subject": "user:alcie"}))[1]
    assert row["warning"].startswith("HAI has never seen a user 'alcie': check the spelling")
    assert "warning" in row
    rows = (await world.json("GET", "/quotas", "admin"))[1]["items"]
    assert {one["subject"] for one in rows} >= {"total:ml", "user:alcie"}
