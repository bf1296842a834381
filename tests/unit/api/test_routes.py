"""The table of routes: who may ask, and whether its paths and names are its own."""

from __future__ import annotations

import pytest

from hai_scheduler.api.routes import ROUTES
from hai_scheduler.api.server.route import OPEN, RUN, RouteIndex
from hai_scheduler.service.shared.caller import (
    SCOPE_ACTIVE_USERS,
    SCOPE_ADMIN,
    SCOPE_ARCHIVE,
    SCOPE_CONTAINERS,
    SCOPE_IDENTITIES,
    SCOPE_METRICS,
    SCOPE_READ,
    SCOPE_WRITE,
)

TABLE = RouteIndex("/p", ROUTES)
routes = pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.method} {r.path}")


@routes
def test_every_route_says_who_may_ask(route) -> None:
    users = {SCOPE_READ, SCOPE_WRITE, SCOPE_ADMIN}
    scopes = users | {SCOPE_ARCHIVE, SCOPE_METRICS, SCOPE_ACTIVE_USERS, SCOPE_CONTAINERS, SCOPE_IDENTITIES}
    assert route.access in {OPEN, RUN, *scopes}


def test_only_health_and_the_document_are_open() -> None:
    opened = {route.path for route in ROUTES if route.access == OPEN}
    assert opened == {"/health", "/health/live", "/health/ready", "/openapi.json"}


@routes
def test_what_changes_something_needs_more_than_reading(route) -> None:
    if route.method != "GET" and route.access != RUN:
        # What spawners and the Hub tell is all that their scopes change, and no user but admins has them.
        told = {
            SCOPE_CONTAINERS: "/containers",
            SCOPE_ARCHIVE: "/users/{user}/archive",
            SCOPE_IDENTITIES: "/users/{user}/identity",
        }
        assert route.access in {SCOPE_WRITE, SCOPE_ADMIN} or told[route.access] == route.path
