"""Who may hold how much (Q1 to Q6): levels, caps, totals and ceilings."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.ordering.quota import NO_ROW, Cap, QuotaAccounts, QuotaTable
from kit.builders import a_quota, at
from unit.core.tables import HIGH, LOW, NORMAL, waits


def test_auto_never_exceeds_what_a_level_could_ever_hold() -> None:
    quota_table = QuotaTable([a_quota("public", priority=HIGH, limit=1), a_quota("public", limit=4)], {}, at())
    accounts = QuotaAccounts(quota_table, "training", 8)

    def level(nodes: int) -> Priority:
        return accounts.level_of(waits(1, nodes, user="ann", priority=None))

    assert level(2) is NORMAL
    assert level(1) is HIGH
    accounts.add("ann", HIGH, 8)
    assert level(1) is NORMAL
    accounts.add("ann", NORMAL, 32)
    assert level(1) is HIGH, "none has room: the best is waited for"
    assert level(9) is LOW


def test_unlimited_is_the_largest_of_the_group_rows() -> None:
    quota_table = QuotaTable([a_quota("group:a", limit=5), a_quota("group:b", limit=None)], {"ann": {"a", "b"}}, at())
    assert quota_table.cap("ann", "training", NORMAL).source == "group:b"


def test_the_ceiling_is_that_of_the_nearest_row_that_has_one() -> None:
    """Q3: the ceiling is how far users may raise their own row."""
    rows = [
        a_quota("public", limit=1, ceiling=2),
        a_quota("group:lab", limit=1, ceiling=5),
        a_quota("user:bob", limit=3, ceiling=9),
        a_quota("user:cy", limit=3),
    ]
    quota_table = QuotaTable(rows, {"ann": {"lab"}, "cy": {"lab"}}, at())
    ceilings = {user: quota_table.cap(user, "training", NORMAL).ceiling for user in ("ann", "bob", "cy", "dan")}
    assert ceilings == {"ann": 5, "bob": 9, "cy": 5, "dan": 2}
    assert QuotaTable([], {}, at()).cap("ann", "training", NORMAL) == NO_ROW


def test_of_several_groups_the_one_with_the_highest_ceiling_counts() -> None:
    rows = [a_quota("group:a", limit=1, ceiling=2), a_quota("group:b", limit=1, ceiling=6), a_quota("group:c", limit=4)]
    quota_table = QuotaTable(rows, {"ann": {"a", "b", "c"}}, at())
    assert quota_table.cap("ann", "training", NORMAL) == Cap(4, "group:c", 6)


@pytest.mark.parametrize("order", [("cy", "ann", "bob"), ("bob", "ann", "cy"), ("ann", "cy", "bob")])
def test_a_users_own_row_opens_and_closes_levels_to_that_user_alone(order: tuple[str, ...]) -> None:
    """Q1. All are in one group; cy has rows of his own. The order of the questions makes no difference."""
    rows = [a_quota("group:lab", limit=4), a_quota("user:cy", limit=0), a_quota("user:cy", priority=HIGH, limit=2)]
    quota_table = QuotaTable(rows, {user: {"lab"} for user in order}, at())
    levels = {user: quota_table.open_levels(user, "training") for user in order}
    assert levels == {"ann": (NORMAL,), "bob": (NORMAL,), "cy": (HIGH,)}


def test_the_levels_that_are_open_to_a_user_are_those_with_a_row_that_allows_something() -> None:
    rows = [a_quota("public", limit=4), a_quota("group:lab", priority=HIGH, limit=None), a_quota("user:cy", limit=0)]
    quota_table = QuotaTable(rows, {"ann": {"lab"}, "bob": (), "cy": {"lab"}}, at())
    levels = {user: quota_table.open_levels(user, "training") for user in ("ann", "bob", "cy", "dan")}
    assert levels == {"ann": (HIGH, NORMAL), "bob": (NORMAL,), "cy": (HIGH,), "dan": (NORMAL,)}
    assert quota_table.open_levels("ann", "other") == ()


def test_the_largest_that_a_user_may_ever_hold_is_within_the_totals() -> None:
    rows = [a_quota("public", limit=8), a_quota("public", priority=HIGH, limit=4), a_quota("total:lab", limit=3)]
    quota_table = QuotaTable(rows, {"ann": {"lab"}}, at())
    assert quota_table.largest("ann", "training", None)[0] is HIGH
    level, cap = quota_table.largest("ann", "training", NORMAL)
    assert (level, cap.source, cap.limit) == (NORMAL, "total:lab", 3)


def test_a_cap_allows_up_to_its_limit() -> None:
    assert [Cap(2, "public").allows(nodes) for nodes in (1.5, 2, 2.125)] == [True, True, False]
    assert Cap(None, "public").allows(1e9)
