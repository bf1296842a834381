"""How much of an arriving body is kept."""

from __future__ import annotations

import pytest
from tornado.httputil import HTTPHeaders

from hai_scheduler.api.routes import ROUTES
from hai_scheduler.api.server.bodies import MAX_BODY, MAX_DRAINED, ArrivingBody
from hai_scheduler.api.server.problems import Refused
from hai_scheduler.api.wire.params import Nothing


def body(**headers: str) -> ArrivingBody:
    return ArrivingBody(HTTPHeaders({name.replace("_", "-"): value for name, value in headers.items()}))


@pytest.mark.parametrize(
    ("announced", "fits"), [("0", True), (str(MAX_BODY), True), (str(MAX_BODY + 1), False), ("-1", False), ("x", False)]
)
def test_the_announced_length_is_checked_before_the_body_comes(announced: str, fits: bool) -> None:
    arriving = body(Content_Length=announced)
    if fits:
        arriving.check_length()
        return
    with pytest.raises(Refused) as refused:
        arriving.check_length()
    assert refused.value.code == "too_large"


def test_a_piece_that_is_one_too_many_is_refused_and_nothing_stays_in_memory() -> None:
    arriving = body()
    arriving.take(b"x" * MAX_BODY, keep=True)
    with pytest.raises(Refused):
        arriving.take(b"x", keep=True)
    assert len(arriving._kept) == 0
    assert arriving.unannounced == MAX_BODY + 1


def test_what_is_thrown_away_counts_until_the_connection_is_closed() -> None:
    arriving = body(Content_Length="4")
    arriving.take(b"abcd", keep=False)
    assert (len(arriving._kept), arriving.unannounced, arriving.is_endless) == (0, 0, False)
    arriving._arrived = MAX_DRAINED
    arriving.take(b"x", keep=False)
    assert arriving.is_endless


@pytest.mark.parametrize(
    ("headers", "worth"),
    [
        ({}, True),
        ({"Content_Length": str(MAX_DRAINED)}, True),
        ({"Content_Length": str(MAX_DRAINED + 1)}, False),
        ({"Content_Length": "many"}, False),
        ({"Content_Length": "5", "Expect": "100-Continue"}, False),
    ],
)
def test_a_refused_body_is_waited_for_if_it_is_short_and_sent_unasked(headers: dict[str, str], worth: bool) -> None:
    assert body(**headers).is_worth_waiting() is worth


MUCH = 1024 * 1024 - 2


@pytest.mark.parametrize(
    ("body", "fine"),
    [
        (b"", True),
        (b" \n", True),
        (b"{}", True),
        (b" {\t} \r\n", True),
        (b"{", False),
        (b"}{", False),
        (b"{}{}", False),
        (b"x", False),
        # A pattern with spaces on both sides of a part that may be missing would look at each pair of these.
        (b" " * MUCH + b"x", False),
        (b"{" + b" " * MUCH + b"x", False),
        (b"{" + b" " * MUCH + b"}", True),
    ],
    ids=lambda value: repr(value[-4:]) if isinstance(value, bytes) else value,
)
def test_a_request_without_a_body_may_say_nothing_at_any_length(body: bytes, fine: bool) -> None:
    arriving = ArrivingBody(HTTPHeaders())
    arriving.take(body, keep=True)
    route = next(route for route in ROUTES if route.path == "/tasks/{task}/stop")
    if fine:
        assert arriving.read(route) == Nothing()
    else:
        with pytest.raises(Refused, match="takes no body"):
            arriving.read(route)
