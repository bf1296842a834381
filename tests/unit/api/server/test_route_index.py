"""The route of a request is found by method and path."""

from __future__ import annotations

import pytest

from hai_scheduler.api.bindings.openapi import PARTS
from hai_scheduler.api.routes import ROUTES
from hai_scheduler.api.server.problems import Refused
from hai_scheduler.api.server.route import RouteIndex

TABLE = RouteIndex("/p", ROUTES)


@pytest.mark.parametrize(
    ("method", "path", "pattern", "parts"),
    [
        ("GET", "/p/tasks", "/tasks", {}),
        ("POST", "/p/tasks/parse", "/tasks/parse", {}),
        ("GET", "/p/tasks/parse", "/tasks/{task}", {"task": "parse"}),
        ("GET", "/p/tasks/bob%2Ft", "/tasks/{task}", {"task": "bob/t"}),
        ("GET", "/p/tasks/t/logs/search", "/tasks/{task}/logs/search", {"task": "t"}),
        ("POST", "/p/runs/4.2/ranks/0/report", "/runs/{run_id}/ranks/{rank}/report", {"run_id": "4.2", "rank": "0"}),
    ],
)
def test_the_table_finds_the_route(method, path, pattern, parts) -> None:
    route, found = TABLE.find(method, path)
    assert (route.path, found) == (pattern, parts)
    assert parts.keys() <= PARTS.keys()


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/p", "not_found"),
        ("GET", "/tasks", "not_found"),
        ("GET", "/p/tasks/", "not_found"),
        ("GET", "/p/tasks//logs", "not_found"),
        ("GET", "/p/xopenapi.json", "not_found"),
        ("GET", "/p/openapi-json", "not_found"),
        ("PUT", "/p/tasks", "method_not_allowed"),
        ("GET", "/p/tasks/%ff", "invalid"),
    ],
)
def test_the_table_refuses_what_is_not_in_it(method, path, code) -> None:
    with pytest.raises(Refused) as caught:
        TABLE.find(method, path)
    assert caught.value.code == code
