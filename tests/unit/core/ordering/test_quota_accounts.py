"""Which rows of quota count for a user, and what is held of them while a plan is made (Q1 to Q6)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.ordering.quota import QuotaAccount, QuotaAccounts, QuotaTable
from kit.builders import a_quota, a_task, at
from unit.core.tables import HIGH, LOW, NORMAL, waits

NOW = at(hours=1)
LAB = {"ann": ("lab",), "bob": ("lab",), "cy": ()}
SECOND = timedelta(seconds=1)


def table(*rows: Quota) -> QuotaTable:
    return QuotaTable(rows, LAB, NOW)


def accounts(*rows: Quota) -> QuotaAccounts:
    return QuotaAccounts(table(*rows), "training", 8)


@pytest.mark.parametrize(("seconds", "counts"), [(-1, False), (0, False), (1, True)])
def test_a_row_counts_while_its_end_lies_ahead(seconds: float, counts: bool) -> None:
    row = a_quota("public", limit=3, expires_at=NOW + seconds * SECOND)
    assert (table(row).cap("ann", "training", NORMAL).limit == 3) == counts


def test_the_table_is_good_until_the_first_of_its_rows_ends() -> None:
    ends = [a_quota(f"user:u{n}", expires_at=NOW + n * SECOND) for n in (-5, 0, 7, 3)]
    assert table(*ends).good_until == NOW + 3 * SECOND
    assert table(a_quota("public")).good_until > NOW + timedelta(days=10_000)


def test_a_users_own_row_counts_for_that_user_alone() -> None:
    made = table(a_quota("user:ann", limit=9), a_quota("group:lab", limit=5), a_quota("public", limit=1))
    assert [made.cap(user, "training", NORMAL).limit for user in ("ann", "bob", "cy", "ann")] == [9, 5, 1, 9]
    assert made.cap("ann", "training", LOW).limit == 0, "at another priority there is no row"
    assert made.cap("ann", "other", NORMAL).limit == 0, "nor in another group"


def test_totals_are_named_in_the_order_of_groups_and_bind_members_only() -> None:
    rows = [a_quota("total:x", limit=2), a_quota("total:lab", limit=7), a_quota("public", limit=9)]
    made = QuotaTable(rows, {"ann": ("x", "lab", "y")}, NOW)
    assert [(cap.source, cap.limit) for cap in made.shared("ann", "training", NORMAL)] == [
        ("total:lab", 7),
        ("total:x", 2),
    ]
    assert made.shared("bob", "training", NORMAL) == ()
    assert made.shared("ann", "training", HIGH) == ()
    assert QuotaTable(rows[2:], {"ann": ("x",)}, NOW).shared("ann", "training", NORMAL) == ()


def test_auto_may_hold_most_at_the_priority_with_most_room() -> None:
    made = table(a_quota("public", limit=4), a_quota("public", priority=HIGH, limit=2), a_quota("total:lab", limit=1))
    assert [made.largest(user, "training", None)[0] for user in ("ann", "cy")] == [HIGH, NORMAL]
    assert made.largest("ann", "training", NORMAL)[1].source == "total:lab"


@pytest.mark.parametrize(
    ("limit", "held", "units", "fits", "ever"),
    [
        (2, 0, 16, True, True),
        (2, 0, 17, False, False),
        (2, 1, 15, True, True),
        (2, 1, 16, False, True),
        (None, 99, 999, True, True),
    ],
)
def test_an_account_has_room_up_to_its_cap(limit: int | None, held: int, units: int, fits: bool, ever: bool) -> None:
    account = QuotaAccount(table(a_quota("public", limit=limit)).cap("cy", "training", NORMAL), 8, held)
    assert (account.fits(units), account.could_ever_fit(units), account.used) == (fits, ever, held / 8)


def test_what_is_held_counts_for_its_user_and_priority_and_can_be_given_back() -> None:
    made = accounts(a_quota("public", limit=2), a_quota("public", priority=HIGH, limit=2))
    assert made.fits("ann", NORMAL, 16)
    made.add("ann", NORMAL, 8)
    assert [made.fits("ann", NORMAL, units) for units in (8, 9)] == [True, False]
    assert made.fits("ann", HIGH, 16)
    assert made.fits("bob", NORMAL, 16)
    assert made.could_ever_fit("ann", NORMAL, 16)
    made.add("ann", NORMAL, -8)
    assert made.fits("ann", NORMAL, 16)


def test_what_a_member_holds_counts_for_all_members_of_the_group() -> None:
    """Also where the answer for another member is known already."""
    made = accounts(a_quota("public", limit=None), a_quota("total:lab", limit=2))
    assert made.fits("bob", NORMAL, 16)
    made.add("ann", NORMAL, 8)
    assert [made.fits("bob", NORMAL, units) for units in (8, 9)] == [True, False]
    assert made.fits("cy", NORMAL, 999)
    assert [made.could_ever_fit("bob", NORMAL, units) for units in (16, 17)] == [True, False]


def test_running_tasks_of_the_same_priority_are_counted_first() -> None:
    made = accounts(a_quota("public", limit=3), a_quota("total:lab", limit=4))
    running = [
        (a_task(1, user="ann", nodes=2), NORMAL),
        (a_task(2, user="bob", gpus=4), NORMAL),
        (a_task(3, user="bob"), HIGH),
    ]
    made.begin(running)
    assert [account.held for account in made.of("ann", NORMAL)] == [16, 20]
    assert [account.held for account in made.of("bob", NORMAL)] == [4, 20]
    assert [account.held for account in made.of("cy", NORMAL)] == [0]
    assert [made.fits("ann", NORMAL, units) for units in (8, 9)] == [True, False]


def test_auto_is_the_highest_priority_with_room_and_is_judged_again_when_room_is_taken() -> None:
    made = accounts(*(a_quota("public", priority=level, limit=2) for level in (LOW, NORMAL, HIGH)))

    def level(nodes: int) -> Priority:
        return made.level_of(waits(1, nodes, user="ann", priority=None))

    assert (level(1), level(2), level(3)) == (HIGH, HIGH, LOW), "no priority could ever hold three"
    made.add("ann", HIGH, 8)
    assert (level(1), level(2)) == (HIGH, NORMAL)
    made.add("ann", NORMAL, 8)
    made.add("ann", LOW, 8)
    assert (level(1), level(2)) == (HIGH, HIGH), "none has room for two: the best is waited for"
    assert made.level_of(waits(1, 2, user="ann", priority=LOW)) is LOW, "a priority that is asked for is taken"


def test_a_member_who_takes_the_total_changes_the_priority_of_the_others_auto_tasks() -> None:
    rows = [a_quota("public", priority=level, limit=4) for level in (NORMAL, HIGH)]
    made = accounts(*rows, a_quota("total:lab", priority=HIGH, limit=1))
    auto = waits(1, user="bob", priority=None)
    assert made.level_of(auto) is HIGH
    made.add("ann", HIGH, 8)
    assert made.level_of(auto) is NORMAL


def test_nodes_without_gpus_count_as_one_each() -> None:
    made = QuotaAccounts(table(a_quota("public", limit=2)), "training", 0)
    assert made.units(waits(1, 2)) == 2
    assert [made.fits("cy", NORMAL, units) for units in (2, 3)] == [True, False]
