"""What a row of the table says: its budget, and parameters, body and answer by the function's annotations."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.route import OPEN, RUN, Ask, RawBytes, Route, Stream, Text, YamlText
from hai_scheduler.api.wire.params import FeedQuery, Nothing
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.service.shared.caller import Caller
from unit.api.bindings.models import PartOut, ThingPut


async def plain(ask: Ask[Nothing, Nothing]) -> PartOut: ...
async def silent(ask: Ask[FeedQuery, RawBytes]) -> None: ...
async def text(ask: Ask[Nothing, YamlText | None]) -> Text: ...
async def either(ask: Ask[Nothing, ThingPut | None]) -> PartOut | Stream: ...
async def stream(ask: Ask[Nothing, ThingPut]) -> Stream | Text | None: ...


def a_route(call: Any = plain, method: Any = "GET", access: str = "scope", **fields: Any) -> Route:
    return Route(method=method, path="/x", access=access, call=call, summary="x", **fields)


@pytest.mark.parametrize(
    ("route", "budget"),
    [
        (a_route(), Kind.READ),
        (a_route(method="POST"), Kind.WRITE),
        (a_route(method="DELETE"), Kind.WRITE),
        (a_route(access=OPEN), Kind.PUBLIC),
        (a_route(access=RUN), Kind.RUN),
        (a_route(access=RUN, method="POST"), Kind.RUN),
        (a_route(kind=Kind.EXPENSIVE, method="POST"), Kind.EXPENSIVE),
        (a_route(kind=Kind.STREAM, access=OPEN), Kind.STREAM),
    ],
)
def test_the_budget_follows_from_method_and_access_unless_it_is_named(route: Route, budget: Kind) -> None:
    assert route.budget is budget


@pytest.mark.parametrize(
    ("call", "query", "body", "optional", "answer", "streams", "is_text"),
    [
        (plain, Nothing, None, False, PartOut, False, False),
        (silent, FeedQuery, RawBytes, False, None, False, False),
        (text, Nothing, YamlText, True, None, False, True),
        (either, Nothing, ThingPut, True, PartOut, True, False),
        (stream, Nothing, ThingPut, False, None, True, True),
    ],
)
def test_what_it_takes_and_answers_is_read_from_the_annotations(
    call, query, body, optional, answer, streams, is_text
) -> None:
    route = a_route(call)
    assert (route.query, route.body, route.body_optional) == (query, body, optional)
    assert (route.answer, route.streams, route.text) == (answer, streams, is_text)


def asked_by(who: Caller | RunId | None) -> Ask[Any, Any]:
    nothing: Any = None
    return Ask(platform=nothing, who=who, path={}, query=Nothing(), body=None, headers={})


def test_an_endpoint_for_users_is_not_asked_by_a_run_and_the_other_way_round() -> None:
    assert asked_by(Caller(name="ann")).caller.name == "ann"
    assert asked_by(RunId("4.1")).run == "4.1"
    for who, name in ((RunId("4.1"), "caller"), (None, "caller"), (Caller(name="ann"), "run"), (None, "run")):
        with pytest.raises(AssertionError):
            getattr(asked_by(who), name)
