"""Budgets: where a group stands, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from hai_scheduler.core.costs.budgets import GroupBudget, Measure, Standing, check
from hai_scheduler.core.costs.rates import BadRate


def a_budget(**fields: Any) -> GroupBudget:
    given = {"group": "cv", "measure": Measure.GPU_HOURS, "limit": Decimal(100), "window_days": 30, **fields}
    return GroupBudget(**given)


@pytest.mark.parametrize(
    ("used", "standing"),
    [
        ("0", Standing.GOOD),
        ("79.999999", Standing.GOOD),
        ("80", Standing.NEAR),
        ("99.999999", Standing.NEAR),
        ("100", Standing.OVER),
        ("1000", Standing.OVER),
    ],
)
def test_four_fifths_are_near_and_all_is_over(used: str, standing: Standing) -> None:
    assert a_budget().standing(Decimal(used)) is standing


def test_good_budgets_pass() -> None:
    check(a_budget())
    check(a_budget(measure=Measure.AMOUNT, currency="EUR", window_days=366))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"limit": Decimal(0)}, "limit"),
        ({"limit": Decimal(-1)}, "limit"),
        ({"limit": Decimal("NaN")}, "limit"),
        ({"limit": Decimal(10**12 + 1)}, "limit"),
        ({"window_days": 0}, "window_days"),
        ({"window_days": 367}, "window_days"),
        ({"currency": "EUR"}, "currency"),
        ({"measure": Measure.AMOUNT}, "currency"),
        ({"measure": Measure.AMOUNT, "currency": "=x"}, "currency"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(BadRate) as found:
        check(a_budget(**fields))
    assert found.value.field == field
