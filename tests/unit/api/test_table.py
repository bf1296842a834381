"""The table of routes, and what is made from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from openapi_spec_validator import validate

from hai_scheduler.api.bindings.comments import comments_of
from hai_scheduler.api.bindings.openapi import PARTS, document
from hai_scheduler.api.reference import reference
from hai_scheduler.api.routes import ROUTES
from hai_scheduler.api.server.problems import CODES, Refused
from hai_scheduler.api.server.route import OPEN, RUN
from hai_scheduler.api.server.table import RouteIndex
from hai_scheduler.api.wire import base
from hai_scheduler.api.wire import cluster as cluster_schemas
from hai_scheduler.api.wire import runs as run_schemas
from hai_scheduler.api.wire import tasks as schemas
from hai_scheduler.api.wire.params import FeedQuery, TaskQuery
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.service.shared.caller import (
    SCOPE_ACTIVE_USERS,
    SCOPE_ADMIN,
    SCOPE_CONTAINERS,
    SCOPE_METRICS,
    SCOPE_READ,
    SCOPE_WRITE,
)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rest.md"
DOCUMENT = document(ROUTES)
routes = pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.method} {r.path}")


@routes
def test_every_route_says_who_may_ask(route) -> None:
    scopes = {SCOPE_READ, SCOPE_WRITE, SCOPE_ADMIN, SCOPE_METRICS, SCOPE_ACTIVE_USERS, SCOPE_CONTAINERS}
    assert route.access in {OPEN, RUN, *scopes}
    security = DOCUMENT["paths"][route.path][route.method.lower()]["security"]
    assert (security == []) == (route.access == OPEN)


def test_only_health_and_the_document_are_open() -> None:
    opened = {route.path for route in ROUTES if route.access == OPEN}
    assert opened == {"/health", "/health/live", "/health/ready", "/openapi.json"}


@routes
def test_what_changes_something_needs_more_than_reading(route) -> None:
    if route.method != "GET" and route.access != RUN:
        assert route.access in {SCOPE_WRITE, SCOPE_ADMIN}


@routes
def test_every_route_is_in_the_document_with_its_models(route) -> None:
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    assert ("requestBody" in operation) == (route.body is not None)
    assert operation["summary"] == route.summary
    assert str(route.status) in operation["responses"]
    assert "500" in operation["responses"]
    assert set(route.codes) <= CODES.keys()
    named = {parameter["name"] for parameter in operation.get("parameters", ())}
    assert named >= set(re.findall(r"\{(\w+)\}", route.path)) | set(route.query.model_fields)


def test_the_document_is_valid_openapi_and_has_no_more_than_the_table() -> None:
    validate(DOCUMENT)
    listed = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert listed == {(route.method, route.path) for route in ROUTES}
    assert len(listed) == len(ROUTES)


def test_no_former_path_hides_a_path_of_now() -> None:
    former = [route.former for route in ROUTES if route.former is not None]
    assert len(set(former)) == len(former) > 0
    assert not set(former) & {route.path for route in ROUTES}
    assert not [path for path in former if "{" in path]
    for route in ROUTES:
        if route.former is not None:
            assert TABLE.find(route.method, f"/p{route.former}") == (route, {})


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for path in DOCUMENT["paths"].values() for operation in path.values()]
    assert len(set(names)) == len(names)


def test_comments_of_the_models_are_in_the_document() -> None:
    assert comments_of(TaskQuery)["cursor"] == "`next_cursor` of the page before."
    task = DOCUMENT["components"]["schemas"]["TaskDetail"]["properties"]
    assert task["served_s"]["description"] == "Running time of all runs so far, in seconds."
    assert "Last-Event-ID" in comments_of(FeedQuery)["after"]


def test_the_reference_page_is_up_to_date() -> None:
    assert PAGE.read_text() == reference(), "run: python -m hai_scheduler.api.reference > docs/reference/rest.md"


def test_the_reference_page_has_no_dead_links_to_itself() -> None:
    text = reference()
    headings = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


@pytest.mark.parametrize(
    ("wire", "core"),
    [
        (get_args(base.PriorityName), {level.name for level in Priority}),
        (get_args(base.PriorityChoice), {"AUTO", *(level.name for level in Priority)}),
        (get_args(base.TaskStateName), {state.value for state in TaskState}),
        (get_args(base.ProfileName), {profile.value for profile in Profile}),
        (get_args(run_schemas.RankOut.model_fields["state"].annotation), {state.value for state in RankState}),
        (get_args(cluster_schemas.NodeOut.model_fields["mark"].annotation), {mark.value for mark in NodeMark}),
    ],
)
def test_the_words_of_the_wire_are_those_of_the_core(wire, core) -> None:
    assert set(wire) == core


def test_every_kind_of_verdict_has_a_word_on_the_wire() -> None:
    assert {kind.value for kind in VerdictKind} <= set(get_args(schemas.VerdictOut.model_fields["kind"].annotation))


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
