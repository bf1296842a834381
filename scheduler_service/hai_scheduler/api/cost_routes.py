"""The routes for reports, rates and budgets."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import costs
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.preconditions import HEADERS
from hai_scheduler.api.server.route import Route
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_CONTAINERS, SCOPE_READ

COST_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET",
        "/reports",
        SCOPE_READ,
        costs.usage_report,
        "What tasks took in some time, and what it costs: users see themselves and sums of their groups, admins all",
        kind=Kind.EXPENSIVE,
        codes=("too_many",),
    ),
    Route(
        "GET",
        "/reports/nodes",
        SCOPE_READ,
        costs.nodes_report,
        "How the nodes were used in some time, by all users together",
        kind=Kind.EXPENSIVE,
        codes=("too_many",),
    ),
    Route(
        "PUT",
        "/containers",
        SCOPE_CONTAINERS,
        costs.containers_told,
        "Tell which development containers live and which have ended, for the ledger: a spawner does it each minute",
        status=204,
    ),
    Route("GET", "/rates", SCOPE_READ, costs.rates, "What node and GPU hours cost"),
    Route("PUT", "/rates", SCOPE_ADMIN, costs.put_rate, "Write a rate", codes=("conflict",), headers=HEADERS),
    Route(
        "DELETE",
        "/rates",
        SCOPE_ADMIN,
        costs.delete_rate,
        "Remove a rate",
        status=204,
        codes=("conflict", "not_found"),
        headers=HEADERS,
    ),
    Route(
        "GET",
        "/budgets",
        SCOPE_READ,
        costs.budgets,
        "Budgets of user groups and their use: admins see all, users those of their groups",
    ),
    Route(
        "PUT",
        "/budgets/{name}",
        SCOPE_ADMIN,
        costs.put_budget,
        "Write the budget of a user group",
        codes=("conflict",),
        headers=HEADERS,
    ),
    Route(
        "DELETE",
        "/budgets/{name}",
        SCOPE_ADMIN,
        costs.delete_budget,
        "Remove the budget of a user group",
        status=204,
        codes=("conflict", "not_found"),
        headers=HEADERS,
    ),
)
