"""Makes the OpenAPI 3.1 document from the table of routes and the models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from hai_scheduler import __version__
from hai_scheduler.api.bindings.catalogue import parts_of
from hai_scheduler.api.bindings.comments import comments_of
from hai_scheduler.api.server.problems import CODES, CONTENT_TYPE
from hai_scheduler.api.server.route import OPEN, RUN, RawBytes, Route, YamlText
from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import Output
from hai_scheduler.api.wire.problem import Problem
from hai_scheduler.api.wire.values import adapter_of, is_body, wire_name

_REF: Final = "#/components/schemas/{model}"

_ABOUT: Final = """Task-level time-sharing for GPU clusters.

`{task}` is an id or a name; a name means the caller's latest task of that name. Admins may write `user/name`,
URL-encoded. Times are RFC 3339 in UTC, lengths of time are seconds in fields that end in `_s`. Errors are
problem documents (RFC 9457); `code` is the word for programs. HEAD is answered wherever GET is. Each answer says the
version of the service in `HAI-Version`; a request that says there that its client is too old or too new is refused.

Streams are server-sent events (`text/event-stream`): `x-messages` names the kinds of their messages with the schema of
each one's `data`, which is JSON; `*` stands for every other kind."""

#: Meanings of the variable parts of paths.
PARTS: Final = {
    "task": "Id or name of a task.",
    "name": "Name of a node.",
    "user": "Name of a user.",
    "rule": "Name of a mount rule.",
    "secret": "Name of a secret of the caller.",
    "environment": "Name of an image or environment: `torch`, or `users%2Fann%2Fvision` with each `/` as `%2F`.",
    "run_id": "Id of a run: `<task id>.<run number>`.",
    "rank": "Number of a rank, from 0.",
    "profile": "Number of a recording.",
    "trace": "Number of a trace among those of its rank, from 0.",
    "digest": "SHA-256 of the manifest of a snapshot.",
}


def document(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the OpenAPI document of the routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "HAI", "version": __version__, "description": _ABOUT},
        "servers": [{"url": "/services/hai/api/v1"}],
        "paths": paths,
        "components": {
            "schemas": _schemas(routes),
            "securitySchemes": {
                "hubToken": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of the Hub with access:services!service=hai and the scope named.",
                },
                "runToken": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token of a run, for that run alone.",
                },
            },
        },
    }


def codes_of(route: Route) -> list[str]:
    """Return the codes of all errors that the route can answer."""
    codes = {"internal", "too_many", *route.codes}
    if route.access != OPEN:
        codes |= {"unauthorized", "forbidden", "unavailable"}
    if route.access not in (OPEN, RUN):
        codes.add("version")
    if route.body is not None:
        codes |= {"invalid", "too_large", "unsupported_media_type"}
    if route.query.model_fields or route.location or "{rank}" in route.path:
        codes.add("invalid")
    return sorted(codes, key=lambda code: CODES[code][0])


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{route.call.__module__.rpartition('.')[2]}.{route.call.__name__}",
        "summary": route.summary,
        "tags": [route.path.split("/")[1]],
        "security": _security(route),
        "responses": {**_success(route), **_failures(route)},
    }
    if parameters := [*_path_parameters(route), *_query_parameters(route), *_header_parameters(route)]:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = {"required": not route.body_optional, "content": _body_content(route.body)}
    return operation


def _security(route: Route) -> list[dict[str, list[str]]]:
    if route.access == OPEN:
        return []
    return [{"runToken": []}] if route.access == RUN else [{"hubToken": [route.access]}]


def _body_content(body: type) -> dict[str, Any]:
    if issubclass(body, RawBytes):
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    if issubclass(body, YamlText):
        return {"application/yaml": {"schema": {"type": "string"}}}
    return {"application/json": {"schema": _ref(body)}}


def _success(route: Route) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if route.answer is not None:
        content["application/json"] = {"schema": _ref(route.answer)}
    if route.streams:
        content["text/event-stream"] = {
            "schema": {"type": "string", "contentMediaType": "text/event-stream"},
            "x-messages": {
                kind: {"type": "object"} if model is None else _ref(model) for kind, model in route.messages.items()
            },
        }
    if route.text:
        kind = "application/json" if route.path.endswith(".json") else "text/plain"
        content[kind] = {"schema": {"type": "object" if kind.endswith("json") else "string"}}
    response: dict[str, Any] = {"description": "Done." if content else "Done; there is no body."}
    if content:
        response["content"] = content
    if route.location:
        response["headers"] = {"Location": {"description": "Path of the created object.", "schema": {"type": "string"}}}
    return {str(route.status): response}


def _failures(route: Route) -> dict[str, Any]:
    return {
        str(CODES[code][0]): {
            "description": f"{CODES[code][1]} (`{code}`).",
            "content": {CONTENT_TYPE: {"schema": _ref(Problem)}},
        }
        for code in codes_of(route)
    }


def _path_parameters(route: Route) -> Iterable[dict[str, Any]]:
    for name in re.findall(r"\{(\w+)\}", route.path):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": PARTS[name],
            "schema": shapes.PARTS[name],
        }


def _query_parameters(route: Route) -> Iterable[dict[str, Any]]:
    schema = route.query.model_json_schema(ref_template=_REF)
    shapes.without_nul(schema.get("properties", {}))
    comments = comments_of(route.query)
    for name, of_field in schema.get("properties", {}).items():
        of_field.pop("title", None)
        parameter = {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": of_field,
        }
        if name in comments:
            parameter["description"] = comments[name]
        yield parameter


def _header_parameters(route: Route) -> Iterable[dict[str, Any]]:
    for name, meaning in route.headers.items():
        yield {"name": name, "in": "header", "description": meaning, "schema": shapes.HEADERS[name]}


def _ref(model: type) -> dict[str, str]:
    return {"$ref": _REF.format(model=wire_name(model))}


def _mode(model: type) -> JsonSchemaMode:
    """Return the mode of a body's schema: inputs as they are read, outputs as they are written."""
    return "serialization" if issubclass(model, Output) else "validation"


class _WireNames(GenerateJsonSchema):
    """Names the schemas of dataclasses as the interface does."""

    def __init__(self, names: dict[str, str], **options: Any) -> None:
        super().__init__(**options)
        self._names = names

    def normalize_name(self, name: str) -> str:
        """Return the name of a definition; pydantic calls this with the name of a class."""
        return super().normalize_name(self._names.get(name, name))


def _schemas(routes: Sequence[Route]) -> dict[str, Any]:
    roots = {Problem, *(model for route in routes for model in (route.body, route.answer, *route.messages.values()))}
    by_name = _all_models(model for model in roots if is_body(model))
    names = {model.__name__: name for name, model in by_name.items()}
    _, schema = TypeAdapter.json_schemas(
        [(name, _mode(model), adapter_of(model)) for name, model in by_name.items()],
        ref_template=_REF,
        schema_generator=partial(_WireNames, names),  # type: ignore[arg-type]  # it is called like the class
    )
    schemas: dict[str, Any] = schema["$defs"]
    for name, one in schemas.items():
        if _mode(by_name[name]) == "validation":
            shapes.without_nul(one)
        for field, comment in comments_of(by_name[name]).items():
            if field in one.get("properties", {}):
                one["properties"][field].setdefault("description", comment)
    return dict(sorted(schemas.items()))


def _all_models(models: Iterable[type]) -> dict[str, type]:
    """Return these bodies and all that their fields name, by name."""
    found: dict[str, type] = {}
    waiting = list(models)
    while waiting:
        model = waiting.pop()
        if wire_name(model) not in found:
            found[wire_name(model)] = model
            waiting += parts_of(model)
    return found
