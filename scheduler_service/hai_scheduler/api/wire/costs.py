"""Models of rates and budgets."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from hai_scheduler.api.wire.base import Input, LevelName, Output
from hai_scheduler.core.costs.budgets import Measure
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.sent_as import LEVEL, SentAs, by_word


def plain(amount: Decimal) -> str:
    """Return an amount as a decimal text without an exponent and without zeros at its end."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _day_of(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Invalid("valid_from", text, "is not a day of the calendar: write for example 2026-11-01") from None


_AMOUNT = Annotated[str, Field(max_length=40, pattern=r"^[0-9]{1,15}(\.[0-9]{1,12})?$")]
_DAY = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
#: A decimal number as a text, so that no program rounds it.
Amount = Annotated[Decimal, SentAs(_AMOUNT, Decimal, plain)]
AmountText = Annotated[str, BeforeValidator(lambda amount: plain(amount) if isinstance(amount, Decimal) else amount)]
#: A day of UTC: `2026-11-01`.
Day = Annotated[date, SentAs(_DAY, _day_of, date.isoformat)]
DayText = Annotated[str, BeforeValidator(lambda day: day.isoformat() if isinstance(day, date) else day)]
MeasureName = Literal["node_hours", "gpu_hours", "amount"]
StandingName = Literal["good", "near", "over"]

_Name = Annotated[str, Field(min_length=1, max_length=255)]


class RatePut(Input):
    """Write a rate: what an hour costs on nodes of a group at a priority, from a day on."""

    #: The node group; null: all groups without rates of their own.
    node_group: _Name | None = None
    #: The priority that runs held; null: all priorities without rates of their own.
    priority: Annotated[Priority, LEVEL] | None = None
    #: The first day on which it holds, in UTC.
    valid_from: Day
    #: What an hour of a node costs.
    per_node_hour: Amount = Decimal(0)
    #: What an hour of a GPU costs; both are added.
    per_gpu_hour: Amount = Decimal(0)
    #: One word for people, such as `EUR` or `credits`.
    currency: Annotated[str, Field(min_length=1, max_length=16)]


class RateKey(Input):
    """The key of a rate."""

    node_group: _Name | None = None
    priority: Annotated[Priority, LEVEL] | None = None
    valid_from: Day


class RateOut(Output):
    """A rate. Amounts are decimal texts, so that no program rounds them."""

    node_group: str | None
    priority: LevelName | None
    valid_from: DayText
    per_node_hour: AmountText
    per_gpu_hour: AmountText
    currency: str
    #: Sent back in `If-Match`, it makes a change fail if the rate has changed in the meantime.
    version: str = ""
    #: In the answer to a change: what is probably a mistake.
    warning: str | None = None


class RateList(Output):
    """All rates."""

    items: list[RateOut]


class BudgetPut(Input):
    """Write the budget of a user group: how much its members may use together in a window that ends now."""

    measure: Annotated[Measure, by_word(Measure, MeasureName)]
    limit: Amount
    #: The length of the window, days.
    window_days: Annotated[int, Field(ge=1, le=366)]
    #: For amounts: the currency of the rates that count; else null.
    currency: Annotated[str, Field(min_length=1, max_length=16)] | None = None


class GroupBudgetOut(Output):
    """A budget and how much of it is used."""

    group: str
    measure: MeasureName
    limit: AmountText
    window_days: int
    currency: str | None
    #: What the group has used in the window; null: it has not been counted yet.
    used: AmountText | None
    #: `near`: four fifths are used. `over`: all; tasks of the members count as LOW, and go on running.
    standing: StandingName | None
    #: Sent back in `If-Match`, it makes a change fail if the budget, not its use, has changed in the meantime.
    version: str = ""
    #: In the answer to a change: what is probably a mistake.
    warning: str | None = None


class BudgetList(Output):
    """The budgets that the caller may see, by group."""

    items: list[GroupBudgetOut]
