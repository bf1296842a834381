"""The OpenAPI document is what the table of routes and the models say."""

from __future__ import annotations

import re

import pytest
from openapi_spec_validator import validate

from hai_scheduler.api.bindings.comments import comments_of
from hai_scheduler.api.bindings.openapi import codes_of, document
from hai_scheduler.api.routes import ROUTES
from hai_scheduler.api.server.problems import CODES
from hai_scheduler.api.server.route import OPEN, RUN, Ask, RawBytes, Route, Stream, Text, YamlText
from hai_scheduler.api.wire.params import FeedQuery, Nothing, TaskQuery
from unit.api.bindings.models import PartOut, ThingPut, WholeOut

DOCUMENT = document(ROUTES)
routes = pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.method} {r.path}")


@routes
def test_every_route_is_in_the_document_with_its_models(route) -> None:
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    assert ("requestBody" in operation) == (route.body is not None)
    assert operation["summary"] == route.summary
    assert (operation["security"] == []) == (route.access == OPEN)
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


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for path in DOCUMENT["paths"].values() for operation in path.values()]
    assert len(set(names)) == len(names)


def test_comments_of_the_models_are_in_the_document() -> None:
    assert comments_of(TaskQuery)["cursor"] == "`next_cursor` of the page before."
    task = DOCUMENT["components"]["schemas"]["TaskDetail"]["properties"]
    assert task["served_s"]["description"] == "Running time of all runs so far, in seconds."
    assert "Last-Event-ID" in comments_of(FeedQuery)["after"]


# -- routes of every kind ---------------------------------------------------------------------------


async def plain(ask: Ask[Nothing, Nothing]) -> PartOut: ...
async def silent(ask: Ask[Nothing, Nothing]) -> None: ...
async def text(ask: Ask[Nothing, Nothing]) -> Text: ...
async def put(ask: Ask[Nothing, ThingPut]) -> WholeOut: ...
async def maybe(ask: Ask[Nothing, ThingPut | None]) -> PartOut: ...
async def yaml(ask: Ask[Nothing, YamlText]) -> PartOut: ...
async def raw(ask: Ask[Nothing, RawBytes]) -> None: ...
async def stream(ask: Ask[FeedQuery, Nothing]) -> PartOut | Stream: ...


def a_route(call, method: str = "GET", path: str = "/things", access: str = "scope", **fields) -> Route:
    return Route(method=method, path=path, access=access, call=call, summary="A thing", **fields)


def operation(route: Route) -> dict:
    return document([route])["paths"][route.path][route.method.lower()]


USUAL = {"unauthorized", "forbidden", "unavailable", "version"}
BODY = {"invalid", "too_large", "unsupported_media_type"}


@pytest.mark.parametrize(
    ("route", "more"),
    [
        (a_route(plain, access=OPEN), set()),
        (a_route(plain), USUAL),
        (a_route(plain, codes=("not_found",)), {*USUAL, "not_found"}),
        (a_route(put, "PUT"), {*USUAL, *BODY}),
        (a_route(stream), {*USUAL, "invalid"}),
        (a_route(plain, "POST", location="/things/{limit}"), {*USUAL, "invalid"}),
        (a_route(plain, path="/runs/{run_id}/ranks/{rank}"), {*USUAL, "invalid"}),
    ],
)
def test_the_errors_of_a_route_follow_from_what_it_takes(route: Route, more: set[str]) -> None:
    assert set(codes_of(route)) == {"internal", "too_many", *more}
    statuses = [CODES[code][0] for code in codes_of(route)]
    assert statuses == sorted(statuses)


@pytest.mark.parametrize(
    ("access", "security"),
    [(OPEN, []), (RUN, [{"runToken": []}]), ("custom:x", [{"hubToken": ["custom:x"]}])],
)
def test_which_token_a_route_asks_for(access: str, security: list) -> None:
    assert operation(a_route(plain, access=access))["security"] == security


@pytest.mark.parametrize(
    ("call", "kind", "schema", "required"),
    [
        (put, "application/json", {"$ref": "#/components/schemas/ThingPut"}, True),
        (maybe, "application/json", {"$ref": "#/components/schemas/ThingPut"}, False),
        (yaml, "application/yaml", {"type": "string"}, True),
        (raw, "application/octet-stream", {"type": "string", "format": "binary"}, True),
    ],
)
def test_a_body_is_described_with_its_media_type(call, kind: str, schema: dict, required: bool) -> None:
    assert operation(a_route(call, "POST"))["requestBody"] == {
        "required": required,
        "content": {kind: {"schema": schema}},
    }


def test_a_route_without_an_answer_says_so() -> None:
    assert operation(a_route(silent, "DELETE", status=204))["responses"]["204"] == {
        "description": "Done; there is no body."
    }


@pytest.mark.parametrize(
    ("path", "kind", "type_"), [("/openapi.json", "application/json", "object"), ("/metrics", "text/plain", "string")]
)
def test_an_answer_that_is_a_text_is_json_where_its_path_says_so(path: str, kind: str, type_: str) -> None:
    found = operation(a_route(text, path=path))["responses"]["200"]["content"]
    assert found == {kind: {"schema": {"type": type_}}}


def test_a_stream_names_the_schema_of_each_kind_of_message() -> None:
    found = operation(a_route(stream, messages={"line": PartOut, "end": None}))["responses"]["200"]["content"]
    assert found["application/json"] == {"schema": {"$ref": "#/components/schemas/PartOut"}}
    assert found["text/event-stream"]["x-messages"] == {
        "line": {"$ref": "#/components/schemas/PartOut"},
        "end": {"type": "object"},
    }


def test_a_created_object_has_its_path_in_a_header() -> None:
    response = operation(a_route(put, "POST", status=201, location="/things/{limit}"))["responses"]["201"]
    assert response["headers"]["Location"]["schema"] == {"type": "string"}


def test_schemas_are_those_of_the_routes_and_of_what_they_name() -> None:
    schemas = document([a_route(put, "PUT")])["components"]["schemas"]
    assert {"PartOut", "ThingPut", "WholeOut", "Problem"} <= set(schemas)
    assert schemas["WholeOut"]["required"] == ["at", "parts", "names", "data"]
    assert schemas["ThingPut"]["required"] == ["name"]
    assert schemas["WholeOut"]["properties"]["at"]["description"] == "When it was made; null: nobody knows."


def test_only_texts_that_are_sent_to_the_service_are_without_nul() -> None:
    """PostgreSQL refuses a NUL, so no client may send one."""
    schemas = document([a_route(put, "PUT")])["components"]["schemas"]
    assert "pattern" in schemas["ThingPut"]["properties"]["name"]
    assert "pattern" not in schemas["WholeOut"]["properties"]["names"]["additionalProperties"]["items"]
