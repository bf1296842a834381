"""Budgets: how much a user group may use in a rolling window of days, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final

from hai_scheduler.core.costs.rates import BadRate, check_amount, check_currency

#: From this part of a budget on its group is warned.
NEAR: Final = Fraction(4, 5)
#: The longest window, days.
MOST_DAYS: Final = 366
#: The largest limit.
MOST_LIMIT: Final = Decimal(10**12)


class Measure(StrEnum):
    """What a budget counts."""

    NODE_HOURS = "node_hours"
    GPU_HOURS = "gpu_hours"
    #: What the rates make of both, in the currency of the budget.
    AMOUNT = "amount"


class Standing(StrEnum):
    """How much of a budget is used."""

    GOOD = "good"
    #: Four fifths or more.
    NEAR = "near"
    #: All of it, or more: tasks of the group's members count as LOW until older use leaves the window.
    OVER = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBudget:
    """How much the members of a user group may use together within a window that ends now."""

    group: str
    measure: Measure
    limit: Decimal
    window_days: int
    #: For amounts: their currency; else None.
    currency: str | None = None

    def standing(self, used: Decimal) -> Standing:
        """Return where a group stands that has used that much in the window."""
        if used >= self.limit:
            return Standing.OVER
        return Standing.NEAR if used >= self.limit * NEAR.numerator / NEAR.denominator else Standing.GOOD


def check(budget: GroupBudget) -> None:
    """Raise BadRate for a limit, a window or a currency that makes no sense."""
    check_amount("limit", budget.limit, MOST_LIMIT)
    if budget.limit == 0:
        raise BadRate("limit", str(budget.limit), "give more than 0; quota keeps a group from nodes altogether")
    if not 1 <= budget.window_days <= MOST_DAYS:
        raise BadRate("window_days", budget.window_days, f"give a number of days from 1 to {MOST_DAYS}")
    if budget.measure is Measure.AMOUNT:
        check_currency(budget.currency or "")
    elif budget.currency is not None:
        raise BadRate("currency", budget.currency, f"a budget of {budget.measure.value} has none: leave it out")
