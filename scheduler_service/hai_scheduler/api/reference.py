"""Writes docs/reference/rest.md from the table: `python -m hai_scheduler.api.reference > docs/reference/rest.md`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hai_scheduler.api.bindings.openapi import PARTS, codes_of, document
from hai_scheduler.api.routes import ROUTES
from hai_scheduler.api.server.problems import CODES
from hai_scheduler.api.server.route import OPEN, RUN, RawBytes, Route, YamlText
from hai_scheduler.api.wire.values import wire_name
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.sentences.catalogue import languages
from hai_scheduler.service.insight.feed import FOR_EVERYBODY
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

_INTRODUCTION = """# REST interface

<!-- Made by `python -m hai_scheduler.api.reference` from the table of routes: change that, not this. -->

Everything is below `{hub}/services/hai/api/v1`. The same description as an OpenAPI 3.1 document is at
`/openapi.json`; it needs no token.

## Who may ask

Send `Authorization: Bearer <token>` with a token of the Hub. It needs `access:services!service=hai` and the scope
that the table names. A page in a browser is signed in by its cookie, and sends the `_xsrf` cookie back as
`X-XSRFToken` (an `EventSource`: as `?_xsrf=`). Ranks use the token of their run, which can do nothing else.

| scope | what it allows |
|---|---|
"""

_SCOPES: Mapping[str, str] = {
    SCOPE_READ: "see the user's own tasks, and the cluster",
    SCOPE_WRITE: "submit and change the user's own tasks; contains the one above",
    SCOPE_ADMIN: "see and change the tasks of all users, nodes and quota; contains the one above",
    SCOPE_METRICS: "read `/metrics`",
    SCOPE_CONTAINERS: "read what users' development containers get and tell what they take; for spawners, contained in "
    "`custom:hai:admin`",
    SCOPE_ARCHIVE: "archive users; for the Hub, contained in `custom:hai:admin`",
    SCOPE_IDENTITIES: "write who users' processes are; for the Hub alone",
    SCOPE_ACTIVE_USERS: "read the names of users with live tasks; for the culler, contained in `custom:hai:admin`",
}

_CONVENTIONS = """
## Conventions

- Bodies are JSON (`Content-Type: application/json`), at most 1 MiB. Unknown keys and parameters are refused.
- Times are RFC 3339 in UTC. Lengths of time are seconds, in fields that end in `_s`.
- `{task}` is an id or a name; a name means the caller's latest task of that name. Admins may write `user/name`,
  URL-encoded. A task of another user is answered like one that does not exist.
- HEAD is answered wherever GET is.
- Sentences are English, or in the language that `Accept-Language` asks for: {languages}. Fields such as `sentence`,
  `message` and `text` are for people; what they say is beside them for programs, the same in all languages.
- Lists come in pages: send `next_cursor` back as `cursor` until it is null.
- Streams are server-sent events. Without messages they send a comment every 15 seconds, and they end after an hour at
  the latest: go on with `Last-Event-ID`.

## Errors

Errors are problem documents (RFC 9457, `application/problem+json`): `detail` is a sentence for people, `code` the
word for programs, `errors` names each wrong field with its value and the remedy.

| code | status | meaning |
|---|---|---|
"""

_IN_BETWEEN = """
While the service or the Hub restarts, a proxy or the Hub answers in its place: 503 `restarting` with `Retry-After` says
that the service has not received the request, so any request may be sent again; 502 `unavailable` says that the
connection broke off behind the proxy, and that a change may have been made. With 503 `unavailable` the service says in
`Retry-After` when to try again, in seconds. A submission with an `Idempotency-Key` may be sent again in any case.

A client that sends too many requests gets 429 `too_many`: it names the limit, its value and the remedy, and
`Retry-After` says when to try again, in seconds. The request was not carried out, so any request may be sent again.
Reads, changes, computations (parsing, forecasts, explanations, searches) and streams have their own budgets; a request
waits a few seconds for its turn before it is refused, and large bodies and answers count as several requests. The
client, the panel and the ranks wait and try again by themselves.
[operations.md](../operations.md#limits-for-each-client) has the numbers.
"""

_FEED = """
## Streams

`GET /events` begins with `event: hello` and `{"seq": n}`; after it every message has the number of the event as
its `id` and the kind of the event as its name. An event tells a client to read its subject again. What a task waits
for (`task.verdict`) is not sent: it is in the history of the task and among its decisions. Users get the events of
their own tasks, changes of quota that can count for them, and {everybody}; admins get all others as well.

| kind | meaning |
|---|---|
{kinds}

`GET /tasks/{task}/logs` as a stream (`Accept: text/event-stream`, or `follow=1`) sends `event: line` with a `LogLine`
and the cursor after it as its `id`, and ends with `event: end` when no more lines will be added. Lines without a rank
are the platform's own: when and where a run started, how it ended and why.

A stream that fails after it has begun sends `event: problem` with the problem document and ends. So does one whose
token is revoked, within 20 seconds.
"""


def reference() -> str:
    """Return the whole page."""
    parts = [
        _INTRODUCTION.rstrip("\n"),
        *(f"| `{scope}` | {meaning} |" for scope, meaning in _SCOPES.items()),
        _CONVENTIONS.rstrip("\n").replace("{languages}", _languages()),
        *(f"| `{code}` | {status} | {title} |" for code, (status, title) in CODES.items()),
        _IN_BETWEEN.rstrip("\n"),
        "\n## Endpoints\n",
        "| method | path | who | what |",
        "|---|---|---|---|",
        *(f"| {r.method} | [`{r.path}`](#{_anchor(r)}) | {_who(r)} | {r.summary} |" for r in ROUTES),
        "",
    ]
    schema = document(ROUTES)
    for route in ROUTES:
        parts += _endpoint(route, schema["paths"][route.path][route.method.lower()])
    parts += [_feed(), "\n## Models\n"]
    for name, model in schema["components"]["schemas"].items():
        parts += _model(name, model)
    return "\n".join(parts).rstrip() + "\n"


def _languages() -> str:
    return " or ".join(f"`{language.tag}`" for language in languages().values())


def _feed() -> str:
    kinds = "\n".join(f"| `{kind.value}` | {_cell(kind.meaning)} |" for kind in EventKind)
    everybody = ", ".join(f"`{kind}`" for kind in sorted(FOR_EVERYBODY))
    return _FEED.strip("\n").replace("{kinds}", kinds).replace("{everybody}", everybody)


def _who(route: Route) -> str:
    return {OPEN: "every client", RUN: "the run"}.get(route.access, f"`{route.access}`")


def _anchor(route: Route) -> str:
    """Return the anchor that GitHub gives the heading of a route."""
    return re.sub(r"[^\w\- ]", "", f"{route.method} {route.path}".lower()).replace(" ", "-")


def _endpoint(route: Route, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {route.method} {route.path}\n"
    yield f"{route.summary}. For {_who(route)}.\n"
    rows = [
        f"| `{parameter['name']}` | {parameter['in']} | {_type(parameter['schema'])} | "
        f"{_cell(parameter.get('description', PARTS.get(parameter['name'], '')))} |"
        for parameter in operation.get("parameters", ())
    ]
    if rows:
        yield from ["| parameter | in | type | meaning |", "|---|---|---|---|", *rows, ""]
    yield f"- Body: {_body(route)}"
    yield f"- Answer: {_answer(route)}"
    yield f"- Errors: {', '.join(f'{CODES[code][0]} `{code}`' for code in codes_of(route))}\n"


def _body(route: Route) -> str:
    if route.body is None:
        return "none"
    if issubclass(route.body, RawBytes):
        return "bytes (`application/octet-stream`)"
    name = "YAML text" if issubclass(route.body, YamlText) else _link(wire_name(route.body))
    return f"{name}, or none" if route.body_optional else name


def _answer(route: Route) -> str:
    kinds = [_link(wire_name(route.answer))] if route.answer else []
    kinds += ["server-sent events"] * route.streams + ["text"] * route.text
    return f"{route.status}, {' or '.join(kinds) or 'no body'}"


def _model(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{schema.get('description', '').strip()}\n"
    yield from ["| field | type | meaning |", "|---|---|---|"]
    required = schema.get("required", ())
    for field, of_field in schema.get("properties", {}).items():
        optional = "" if field in required else f"; default {_default(of_field)}"
        yield f"| `{field}` | {_type(of_field)}{optional} | {_cell(of_field.get('description', ''))} |"
    yield ""


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return f"`{'null' if default is None else default}`"


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return _link(str(schema["$ref"]).rpartition("/")[2])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"])
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return "time" if schema.get("format") == "date-time" else kind


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(_arguments: Iterable[str] = ()) -> int:
    """Print the page. Returns the exit status."""
    sys.stdout.write(reference())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
