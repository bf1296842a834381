"""Models of rates and budgets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hai_scheduler.api.wire.base import Input, LevelName, Output, PriorityName

#: A decimal number as a text, so that no program rounds it.
Amount = Annotated[str, Field(max_length=40, pattern=r"^[0-9]{1,15}(\.[0-9]{1,12})?$")]
#: A day of UTC: `2026-11-01`.
Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
MeasureName = Literal["node_hours", "gpu_hours", "amount"]
StandingName = Literal["good", "near", "over"]

_Name = Annotated[str, Field(min_length=1, max_length=255)]


class RatePut(Input):
    """Write a rate: what an hour costs on nodes of a group at a priority, from a day on."""

    #: The node group; null: all groups without rates of their own.
    node_group: _Name | None = None
    #: The priority that runs held; null: all priorities without rates of their own.
    priority: PriorityName | None = None
    #: The first day on which it holds, in UTC.
    valid_from: Day
    #: What an hour of a node costs.
    per_node_hour: Amount = "0"
    #: What an hour of a GPU costs; both are added.
    per_gpu_hour: Amount = "0"
    #: One word for people, such as `EUR` or `credits`.
    currency: Annotated[str, Field(min_length=1, max_length=16)]


class RateKey(Input):
    """The key of a rate."""

    node_group: _Name | None = None
    priority: PriorityName | None = None
    valid_from: Day


class RateOut(Output):
    """A rate. Amounts are decimal texts, so that no program rounds them."""

    node_group: str | None
    priority: LevelName | None
    valid_from: str
    per_node_hour: str
    per_gpu_hour: str
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

    measure: MeasureName
    limit: Amount
    #: The length of the window, days.
    window_days: Annotated[int, Field(ge=1, le=366)]
    #: For amounts: the currency of the rates that count; else null.
    currency: Annotated[str, Field(min_length=1, max_length=16)] | None = None


class GroupBudgetOut(Output):
    """A budget and how much of it is used."""

    group: str
    measure: MeasureName
    limit: str
    window_days: int
    currency: str | None
    #: What the group has used in the window; null: it has not been counted yet.
    used: str | None
    #: `near`: four fifths are used. `over`: all; tasks of the members count as LOW, and go on running.
    standing: StandingName | None
    #: Sent back in `If-Match`, it makes a change fail if the budget, not its use, has changed in the meantime.
    version: str = ""
    #: In the answer to a change: what is probably a mistake.
    warning: str | None = None


class BudgetList(Output):
    """The budgets that the caller may see, by group."""

    items: list[GroupBudgetOut]
