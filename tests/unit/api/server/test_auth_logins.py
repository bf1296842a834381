"""Questions to the Hub count for the address that a request comes from; known tokens do not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tornado.httputil import HTTPHeaders

from hai_scheduler.api.server.auth import address, log_in
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.problems import Refused, unauthorized
from hai_scheduler.service.shared.caller import Caller

ALICE = Caller(name="alice")


class Gate:
    """Writes down what happens to a request at the limit of its address."""

    def __init__(self, *, full: bool = False) -> None:
        self.full = full
        self.kind: Kind | None = None
        self.story: list[object] = []

    def __getitem__(self, kind: Kind) -> Gate:
        self.kind = kind
        return self

    def arrive(self, name: str, cost: float) -> Gate:
        if self.full:
            raise Refused("too_many", "later")
        self.story += [name, cost]
        return self

    async def begin(self) -> None:
        self.story.append("begin")

    def charge(self, requests: float) -> None:
        self.story.append(("charge", requests))

    def end(self) -> None:
        self.story.append("end")


def a_handler(*, known: bool = False, must_ask: bool = True, error: Exception | None = None) -> Any:
    async def caller(_: object) -> Caller:
        if error is not None:
            raise error
        return ALICE

    auth = SimpleNamespace(has_known=lambda _: known, must_ask=lambda _: must_ask, caller=caller)
    connection = SimpleNamespace(context=SimpleNamespace(_orig_remote_ip="10.0.0.9"))
    return SimpleNamespace(auth=auth, request=SimpleNamespace(connection=connection, headers=HTTPHeaders()))


async def test_a_known_token_is_not_limited() -> None:
    gate: Any = Gate(full=True)
    assert await log_in(a_handler(known=True), gate) == ALICE
    assert gate.story == []


async def test_who_says_no_name_counts_for_the_address_and_not_for_its_logins() -> None:
    gate: Any = Gate()
    with pytest.raises(Refused, match="who"):
        await log_in(a_handler(must_ask=False, error=unauthorized("who are you?")), gate)
    assert gate.kind is Kind.PUBLIC
    assert gate.story == ["10.0.0.9 without a token", 2.0, "end"]
    full: Any = Gate(full=True)
    with pytest.raises(Refused, match="later"):
        await log_in(a_handler(must_ask=False, error=RuntimeError("it was answered")), full)


async def test_a_question_counts_for_its_address_and_costs_nothing_if_the_token_is_good() -> None:
    gate: Any = Gate()
    assert await log_in(a_handler(), gate) == ALICE
    assert gate.story == ["10.0.0.9", 0.0, "begin", "end"]
    assert gate.kind is Kind.LOGIN


@pytest.mark.parametrize(
    ("error", "charged"),
    [
        (unauthorized("no such token"), True),
        (Refused("forbidden", "a scope is missing"), False),
        (Refused("unavailable", "the Hub does not answer"), False),
        (RuntimeError("a bug"), False),
    ],
    ids=["wrong token", "forbidden", "hub away", "other"],
)
async def test_only_a_wrong_token_is_charged_and_the_place_is_always_given_back(
    error: Exception, charged: bool
) -> None:
    gate: Any = Gate()
    with pytest.raises(type(error)):
        await log_in(a_handler(error=error), gate)
    assert gate.story == ["10.0.0.9", 0.0, "begin", *([("charge", 1.0)] if charged else []), "end"]


async def test_an_address_over_its_limit_is_refused_before_the_hub_is_asked() -> None:
    gate: Any = Gate(full=True)
    with pytest.raises(Refused, match="later"):
        await log_in(a_handler(error=RuntimeError("it was asked")), gate)


def test_the_address_is_the_other_end_of_the_connection_and_not_what_a_client_says_of_itself() -> None:
    handler = a_handler()
    handler.request.remote_ip = "6.6.6.6"
    assert address(handler) == "10.0.0.9"
    handler.request.headers.add("X-Forwarded-For", "6.6.6.6, 10.1.2.3")
    assert address(handler) == "10.1.2.3", "what the nearest proxy has appended"
    bare = a_handler()
    bare.request.connection = SimpleNamespace()
    assert address(bare) == "unknown"
