"""Reports, rates and budgets over HTTP: who sees what, and what it says."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from hai_scheduler.core.costs.budgets import Standing
from hai_scheduler.core.costs.capacity import NodeTime
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.service.accounting.standings import BudgetUse, write_standings
from kit.builders import T0
from kit.ledger import ended_rows

HOUR = timedelta(hours=1)
#: T0 is in January 2026.
TIME = "since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z"
EUROS = {"valid_from": "2026-01-01", "currency": "EUR", "per_gpu_hour": "0.5"}


@pytest.fixture
async def used(world: Any) -> Any:
    """Alice of ml: 2 h and 4 h; bob of ml: 1 h that failed; carol of cv: 3 h. All on one node of 8 GPUs."""
    runs = [
        ended_rows(1, hours=2, groups=["ml"], reason=Reason.SUCCEEDED),
        ended_rows(2, hours=4, groups=["ml", "all"], since=T0 + 24 * HOUR, reason=Reason.PREEMPTED),
        ended_rows(3, hours=1, user="bob", groups=["ml"], reason=Reason.FAILED),
        ended_rows(4, hours=3, user="carol", groups=["cv"], reason=Reason.SUCCEEDED),
    ]
    async with world.store.write() as tx:
        await tx.ledger.put({RunId(rows[0].facts.run_id): rows for rows in runs})
    return world


def hours(report: dict[str, Any]) -> dict[str, float]:
    return {row["key"]: row["node_s"] / 3600 for row in report["rows"]}


async def test_users_see_themselves_alone(used: Any) -> None:
    status, report = await used.json("GET", f"/reports?{TIME}")
    assert (status, report["scope"], report["by"]) == (200, "user:alice", "user")
    assert hours(report) == {"alice": 6.0}
    assert report["total"]["gpu_s"] == 6 * 8 * 3600
    by_day = (await used.json("GET", f"/reports?by=day&{TIME}"))[1]
    assert hours(by_day) == {"2026-01-05": 2.0, "2026-01-06": 4.0}
    assert hours((await used.json("GET", f"/reports?by=kind&user=alice&{TIME}"))[1]) == {"task": 6.0}


async def test_users_see_the_sums_of_their_groups_but_not_who_is_in_them(used: Any) -> None:
    report = (await used.json("GET", f"/reports?by=group&{TIME}"))[1]
    assert (hours(report), report["scope"]) == ({"ml": 7.0}, "groups")
    assert report["notes"] == ["A run counts for each group that its user was in, and once in the total."]
    assert hours((await used.json("GET", f"/reports?group=ml&{TIME}"))[1]) == {"2026-01": 7.0}
    assert (await used.json("GET", f"/reports?group=ml&by=priority&{TIME}"))[1]["scope"] == "group:ml"
    status, problem = await used.json("GET", f"/reports?group=ml&by=user&{TIME}")
    assert (status, "take day, priority or kind" in problem["detail"]) == (403, True)
    mine = (await used.json("GET", f"/reports?group=ml&user=alice&by=user&{TIME}"))[1]
    assert hours(mine) == {"alice": 6.0}


@pytest.mark.parametrize(
    "asked", ["user=bob", "group=cv", "group=cv&user=alice", "user=bob&group=ml", "group=cv&by=group"]
)
async def test_what_others_took_is_refused(used: Any, asked: str) -> None:
    assert (await used.json("GET", f"/reports?{asked}&{TIME}"))[0] == 403


async def test_admins_see_all_and_each_run_counts_once_in_the_total(used: Any) -> None:
    report = (await used.json("GET", f"/reports?{TIME}", "admin"))[1]
    assert (hours(report), report["scope"]) == ({"alice": 6.0, "carol": 3.0, "bob": 1.0}, "all")
    groups = (await used.json("GET", f"/reports?by=group&{TIME}", "admin"))[1]
    assert hours(groups) == {"ml": 7.0, "all": 4.0, "cv": 3.0}
    assert groups["total"]["node_s"] == 10 * 3600
    assert hours((await used.json("GET", f"/reports?user=bob&{TIME}", "admin"))[1]) == {"bob": 1.0}
    assert hours((await used.json("GET", f"/reports?group=cv&{TIME}", "admin"))[1]) == {"carol": 3.0}


async def test_figures_of_ends(used: Any) -> None:
    rows = {row["key"]: row for row in (await used.json("GET", f"/reports?{TIME}", "admin"))[1]["rows"]}
    assert (rows["alice"]["interruptions"], rows["alice"]["ends"], rows["alice"]["failure_rate"]) == (1, 2, 0.0)
    assert (rows["bob"]["failures"], rows["bob"]["failure_rate"], rows["bob"]["failed_s"]) == (1, 1.0, 3600.0)
    nothing = (await used.json("GET", "/reports?since=2025-01-01T00:00:00Z&until=2025-02-01T00:00:00Z"))[1]
    assert (nothing["rows"], nothing["total"]["useful_share"], nothing["total"]["wait_p90_s"]) == ([], None, None)


async def test_rates_make_amounts_from_their_first_day_on(used: Any) -> None:
    rate = (await used.json("PUT", "/rates", "admin", json=EUROS))[1]
    assert rate == {
        **EUROS, "node_group": None, "priority": None, "per_node_hour": "0", "version": rate["version"],
        "warning": None,
    }  # fmt: skip
    await used.json("PUT", "/rates", "admin", json={**EUROS, "valid_from": "2026-01-06", "per_gpu_hour": "1"})
    report = (await used.json("GET", f"/reports?{TIME}", "admin"))[1]
    # Alice: 2 h on the first day at 0.50, 4 h on the second at 1.00, each with 8 GPUs.
    assert {row["key"]: row["amounts"] for row in report["rows"]} == {
        "alice": {"EUR": "40"},
        "carol": {"EUR": "12"},
        "bob": {"EUR": "4"},
    }
    assert (report["total"]["amounts"], hours(report)["alice"]) == ({"EUR": "56"}, 6.0)
    assert (await used.json("GET", f"/reports?by=group&{TIME}", "admin"))[1]["total"]["amounts"] == {"EUR": "56"}
    assert await used.json("DELETE", "/rates", "admin", json={"valid_from": "2026-01-01"}) == (204, None)
    assert (await used.json("DELETE", "/rates", "admin", json={"valid_from": "2026-01-01"}))[0] == 404
    assert (await used.json("GET", f"/reports?{TIME}"))[1]["total"]["amounts"] == {"EUR": "32"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"valid_from": "2026-02-30"}, "valid_from"),
        ({"valid_from": "yesterday"}, "valid_from"),
        ({"currency": "=1+1"}, "currency"),
        ({"per_gpu_hour": "-1"}, "per_gpu_hour"),
        ({"per_gpu_hour": "1e9"}, "per_gpu_hour"),
        ({"per_node_hour": "9999999"}, "per_node_hour"),
        ({"priority": "AUTO"}, "priority"),
    ],
)
async def test_wrong_rates_are_refused_by_their_field(world: Any, change: dict[str, Any], field: str) -> None:
    status, problem = await world.json("PUT", "/rates", "admin", json={**EUROS, **change})
    assert (status, [error["field"] for error in problem["errors"]]) == (400, [field])
    assert (await world.json("GET", "/rates"))[1] == {"items": []}


async def test_a_rate_for_a_group_without_nodes_or_in_another_currency_is_doubted(world: Any) -> None:
    rate = (await world.json("PUT", "/rates", "admin", json={**EUROS, "node_group": "trainig"}))[1]
    assert rate["warning"] == "there is no node group 'trainig' now: check the spelling, or ignore this"
    rate = (await world.json("PUT", "/rates", "admin", json={**EUROS, "currency": "USD"}))[1]
    assert rate["warning"].startswith("other rates are in EUR")


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ("since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z", "since"),
        ("since=2026-01-01T00:00:00", "since"),
        ("since=2999-01-01T00:00:00Z", "since"),
        ("by=colour", "by"),
        ("by=day&since=1990-01-01T00:00:00Z", "by"),
        ("since=x", "since"),
    ],
)
async def test_wrong_times_are_refused_by_their_field(world: Any, asked: str, field: str) -> None:
    for path in ("/reports", "/reports/nodes"):
        status, problem = await world.json("GET", f"{path}?{asked}", "admin")
        assert (status, [error["field"] for error in problem["errors"]]) == (400, [field]), problem


async def test_times_are_moved_to_full_hours(world: Any) -> None:
    report = (await world.json("GET", "/reports?since=2026-01-05T08:30:00Z&until=2026-01-05T08:40:00%2B00:00"))[1]
    assert (report["since"], report["until"]) == ("2026-01-05T08:00:00Z", "2026-01-05T09:00:00Z")


async def test_occupancy_is_told_to_everybody_for_times_that_were_recorded(used: Any) -> None:
    report = (await used.json("GET", f"/reports/nodes?{TIME}", "reader"))[1]
    assert [(row["key"], row["held_s"], row["occupancy"]) for row in report["rows"]] == [("training", 36000.0, None)]
    assert report["notes"] == ["Node time is not recorded yet."]
    day = 24 * 3600 * 1_000_000
    async with used.store.write() as tx:
        for number in range(2):
            hour = T0.replace(hour=0) + number * 24 * HOUR
            await tx.capacity.add(
                NodeTime(hour=hour, node_group="training", node_us=day, gpu_us=day, down_us=day // 4, until=hour)
            )
    report = (await used.json("GET", "/reports/nodes?by=day&since=2026-01-05T00:00:00Z&until=2026-01-07T00:00:00Z"))[1]
    assert [(row["key"], row["occupancy"], row["down_s"]) for row in report["rows"]] == [
        ("2026-01-05", 0.25, 6 * 3600.0),
        ("2026-01-06", round(4 / 24, 6), 6 * 3600.0),
    ]
    assert (report["total"]["occupancy"], report["notes"]) == (round(10 / 48, 6), [])


async def test_budgets_are_for_admins_to_write_and_for_members_to_see(world: Any) -> None:
    await world.json("GET", "/me")
    budget = {"measure": "gpu_hours", "limit": "100.50", "window_days": 30}
    status, written = await world.json("PUT", "/budgets/ml", "admin", json=budget)
    about = {"group": "ml", "currency": None, "used": None, "standing": None, "warning": None}
    assert (status, written) == (200, {**budget, "limit": "100.5", **about, "version": written["version"]})
    money = (await world.json("PUT", "/budgets/cv", "admin", json={**budget, "measure": "amount", "currency": "EUR"}))[
        1
    ]
    assert money["warning"] == (
        "HAI has never seen a user of the group 'cv': check the spelling, or ignore this if the name is new; "
        "no rate is in EUR: nothing counts until `hai admin rates set` writes one; "
        "for time write node-hours or gpu-hours"
    )
    assert [one["group"] for one in (await world.json("GET", "/budgets"))[1]["items"]] == ["ml"]
    assert [one["group"] for one in (await world.json("GET", "/budgets", "admin"))[1]["items"]] == ["cv", "ml"]
    assert (await world.json("PUT", "/budgets/ml", json=budget))[0] == 403
    assert (await world.json("DELETE", "/budgets/ml", "admin"))[0] == 204
    assert (await world.json("DELETE", "/budgets/ml", "admin"))[0] == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": "much"}, "limit"),
        ({"window_days": 0}, "window_days"),
        ({"currency": "EUR"}, "currency"),
        ({"measure": "amount"}, "currency"),
        ({"measure": "tasks"}, "measure"),
    ],
)
async def test_wrong_budgets_are_refused_by_their_field(world: Any, change: dict[str, Any], field: str) -> None:
    budget = {"measure": "gpu_hours", "limit": "100", "window_days": 30, **change}
    status, problem = await world.json("PUT", "/budgets/ml", "admin", json=budget)
    assert (status, [error["field"] for error in problem["errors"]]) == (400, [field])


async def test_members_of_a_group_near_its_budget_are_told_in_lists_and_submissions(world: Any) -> None:
    await world.json("PUT", "/budgets/ml", "admin", json={"measure": "gpu_hours", "limit": "100", "window_days": 30})
    async with world.store.write() as tx:
        await write_standings(tx, {"ml": BudgetUse(Decimal("85.00"), Standing.NEAR)})
    told = "group ml has used 85.00 of 100 GPU hours in 30 days: above the limit, tasks of its members count as LOW"
    assert (await world.json("GET", "/tasks"))[1]["notes"] == [told]
    assert (await world.json("GET", "/tasks", "bob"))[1]["notes"] == []
    task = {"name": "t", "command": ["true"], "cwd": "/w"}
    assert told in (await world.json("POST", "/tasks", json=task))[1]["warnings"]
    assert (await world.json("GET", "/budgets"))[1]["items"][0]["used"] == "85"
