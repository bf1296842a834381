"""How the command waits for a person's answer, what it takes for a Hub without such logins, and what it prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hai_client.device_login import SLOWER_S, DeviceLogin, DeviceLogins, NoDeviceLogins
from hai_client.errors import Forbidden, HaiError, NotLoggedIn, Unavailable
from hai_client.http import Transport
from unit.client.fake_platform import Call, Drop, Refuse

PENDING = "authorization_pending"


class Clock:
    """Time that goes on by what is slept."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def __call__(self) -> float:
        return sum(self.slept)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def logins(platform: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> DeviceLogins:
    monkeypatch.setattr(Transport, "_wait", lambda *_: None)
    return DeviceLogins(platform.url, sleep=clock.slept.append, clock=clock)


@pytest.mark.parametrize(
    ("answers", "waits"),
    [
        ([PENDING, "yes"], [5, 5]),
        (["slow_down", PENDING, "slow_down", "yes"], [5, 10, 10, 15]),
        # An outage: asked again, and more slowly (RFC 8628, 3.5).
        (["503", "502", "yes"], [5, 10, 15]),
        (["429", "yes"], [5, 10]),
    ],
)
def test_it_asks_until_there_is_an_answer(
    logins: DeviceLogins, platform: Any, clock: Clock, answers: list[str], waits: list[float]
) -> None:
    platform.answers = answers
    given = logins.wait(logins.begin("login3", "tasks"))
    assert (given.token, given.user, given.scopes) == ("given-alice", "alice", ("a", "b"))
    assert clock.slept == waits
    assert SLOWER_S == 5


def test_a_connection_that_is_lost_in_the_middle_ends_nothing(
    logins: DeviceLogins, platform: Any, clock: Clock
) -> None:
    begun = logins.begin("login3", "tasks")

    def lose(_call: Call) -> None:
        raise Drop

    platform.before, platform.answers = [lose, lose], ["yes"]
    assert logins.wait(begun).user == "alice"
    assert len(clock.slept) == 3


@pytest.mark.parametrize("code", ["access_denied", "expired_token", "unheard_of"])
def test_a_no_ends_it_with_what_the_hub_says(logins: DeviceLogins, platform: Any, code: str) -> None:
    platform.answers = [PENDING, code]
    with pytest.raises(NotLoggedIn, match=f"said {code}"):
        logins.wait(logins.begin("login3", "tasks"))


@pytest.mark.parametrize(("answers", "kind"), [([], NotLoggedIn), (["503"] * 200, Unavailable)])
def test_at_the_end_it_says_whether_nobody_answered_or_the_hub_was_away(
    logins: DeviceLogins, platform: Any, clock: Clock, answers: list[str], kind: type[HaiError]
) -> None:
    platform.answers = answers
    with pytest.raises(HaiError) as raised:
        logins.wait(logins.begin("login3", "tasks"))
    assert type(raised.value) is kind
    assert 600 <= clock() < 660


@pytest.mark.parametrize(("interval", "first"), [(0, 1.0), (-5, 1.0), (10**9, 30.0)])
def test_a_hub_does_not_choose_any_interval(
    logins: DeviceLogins, platform: Any, clock: Clock, interval: int, first: float
) -> None:
    platform.answers = ["yes"]
    logins.wait(DeviceLogin(device_code="x", user_code="WXZB-QRST", expires_in=600, interval=interval))
    assert clock.slept == [first]


def test_a_hub_without_such_logins_is_told_by_its_404(logins: DeviceLogins, platform: Any) -> None:
    platform.by_browser = False
    with pytest.raises(NoDeviceLogins):
        logins.begin("login3", "tasks")


def _page(status: int) -> Callable[[Call], None]:
    def refuse(_call: Call) -> None:
        raise Refuse(status, "page", "<html>")

    return refuse


def _words(_call: Call) -> None:
    raise Refuse(403, "hub", "this is for the hai command, not for pages")


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        ([_page(403)], Forbidden),  # A proxy keeps out what is posted; the Hub itself has the page.
        ([_page(403), _page(403)], Forbidden),  # It keeps out anything.
        ([_words], Forbidden),
        ([_page(404), _page(404), _page(404)], Unavailable),  # No Hub at all: a web server that knows nothing.
        ([_page(405), _page(404), _page(503)], HaiError),
    ],
)
def test_a_refusal_for_another_cause_is_said_as_it_is(
    logins: DeviceLogins, platform: Any, before: list[Any], kind: type[HaiError]
) -> None:
    platform.before = before
    with pytest.raises(kind) as raised:
        logins.begin("login3", "tasks")
    assert not isinstance(raised.value, NoDeviceLogins)


@pytest.mark.parametrize(
    ("given", "public", "printed"),
    [
        ("http", "", False),
        ("http", "https://hub.example.org/lab/hub/hai/device", True),
        ("http", "http://hub.example.org/hub/hai/device", True),
        ("https", "https://hub.example.org/hub/hai/device", True),
        ("https", "http://hub.example.org/hub/hai/device", False),  # Away from TLS: never.
        ("http", "ftp://hub.example.org/", False),
        ("http", "javascript:alert(1)", False),
        ("http", "https://hub.example.org/\x1b[2J", False),
        ("http", "https://hub.example.org/\u202e", False),
        ("http", "https://hub.example.org/ and type your password there", False),
        ("http", "https://" + "x" * 5000, False),
    ],
)
def test_the_address_to_open_is_the_hubs_public_one_or_the_one_that_was_given(
    logins: DeviceLogins, platform: Any, monkeypatch: pytest.MonkeyPatch, given: str, public: str, printed: bool
) -> None:
    platform.public_uri = public
    # Only the word counts: the fake speaks no TLS.
    own = f"{given}{platform.url[4:]}"
    monkeypatch.setattr(logins, "_url", own)
    monkeypatch.setattr(logins, "_page", f"{own}/hub/hai/device")
    assert logins.begin("login3", "tasks").page == (public if printed else f"{own}/hub/hai/device")
