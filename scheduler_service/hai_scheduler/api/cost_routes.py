"""The routes for reports, rates and budgets."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import containers, costs, reports
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.preconditions import HEADERS
from hai_scheduler.api.server.route import Route
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_CONTAINERS, SCOPE_READ

COST_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="GET",
        path="/reports",
        access=SCOPE_READ,
        call=reports.use,
        kind=Kind.EXPENSIVE,
        summary="What tasks took in some time, and what it costs: users see themselves and sums of their groups, "
        "admins all",
        codes=("too_many",),
    ),
    Route(
        method="GET",
        path="/reports/nodes",
        access=SCOPE_READ,
        call=reports.nodes,
        kind=Kind.EXPENSIVE,
        summary="How the nodes were used in some time, by all users together",
        codes=("too_many",),
    ),
    Route(
        method="PUT",
        path="/containers",
        access=SCOPE_CONTAINERS,
        call=containers.told,
        summary="Tell which development containers live and which have ended, for the ledger: a spawner does it each "
        "minute",
        status=204,
    ),
    Route(method="GET", path="/rates", access=SCOPE_READ, call=costs.rates, summary="What node and GPU hours cost"),
    Route(
        method="PUT",
        path="/rates",
        access=SCOPE_ADMIN,
        call=costs.put_rate,
        summary="Write a rate",
        codes=("conflict",),
        headers=HEADERS,
    ),
    Route(
        method="DELETE",
        path="/rates",
        access=SCOPE_ADMIN,
        call=costs.delete_rate,
        summary="Remove a rate",
        status=204,
        codes=("conflict", "not_found"),
        headers=HEADERS,
    ),
    Route(
        method="GET",
        path="/budgets",
        access=SCOPE_READ,
        call=costs.budgets,
        summary="Budgets of user groups and their use: admins see all, users those of their groups",
    ),
    Route(
        method="PUT",
        path="/budgets/{name}",
        access=SCOPE_ADMIN,
        call=costs.put_budget,
        summary="Write the budget of a user group",
        codes=("conflict",),
        headers=HEADERS,
    ),
    Route(
        method="DELETE",
        path="/budgets/{name}",
        access=SCOPE_ADMIN,
        call=costs.delete_budget,
        summary="Remove the budget of a user group",
        status=204,
        codes=("conflict", "not_found"),
        headers=HEADERS,
    ),
)
