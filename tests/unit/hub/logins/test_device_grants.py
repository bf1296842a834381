"""Logins that wait for a person: when they answer what, and how few can be guessed or taken."""

from __future__ import annotations

import contextlib

import pytest

from hai_hub.logins import device_grants
from hai_hub.logins.device_grants import (
    INTERVAL_S,
    LETTERS,
    LIFETIME_S,
    MOST_OF_NETWORK,
    SILENT_S,
    Consent,
    DeviceGrants,
    Login,
    TooManyLogins,
    plain_host,
)
from hai_hub.logins.device_texts import CHINESE, ENGLISH, length_of, texts_for
from hai_hub.logins.slowing import FREE, Guessing

BOB = Consent(2, "bob", ("read",))


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def grants(clock: Clock) -> DeviceGrants:
    return DeviceGrants(clock)


@pytest.mark.parametrize(("consent", "answer"), [(BOB, "yes"), (None, "access_denied")])
def test_an_answer_is_given_once(grants: DeviceGrants, clock: Clock, consent: Consent | None, answer: str) -> None:
    begun = grants.begin("login3", "10.0.0.1", "tasks")
    assert grants.ask(begun.device_code) == ("authorization_pending", None)
    assert grants.decide(begun.user_code, consent)
    assert not grants.decide(begun.user_code, BOB), "the first answer counts"
    clock.now += INTERVAL_S
    told, login = grants.ask(begun.device_code)
    assert told == answer
    assert (login and login.consent) == consent
    clock.now += INTERVAL_S
    assert grants.ask(begun.device_code) == ("expired_token", None)


def test_who_asks_too_soon_has_to_wait_longer_from_then_on(grants: DeviceGrants, clock: Clock) -> None:
    code = grants.begin("login3", "10.0.0.1", "tasks").device_code
    # The interval is 5 s, then 10 s, then 15 s; a question that comes a second early is not too soon.
    for wait_s, told in ((0, "authorization_pending"), (4, "authorization_pending"), (3, "slow_down"),
                         (8, "slow_down"), (14, "authorization_pending")):  # fmt: skip
        clock.now += wait_s
        assert grants.ask(code)[0] == told, wait_s


def test_nothing_counts_after_the_end(grants: DeviceGrants, clock: Clock) -> None:
    begun = grants.begin("login3", "10.0.0.1", "tasks")
    grants.decide(begun.user_code, BOB)
    late = grants.begin("login3", "10.0.0.1", "tasks")
    clock.now += LIFETIME_S
    assert not grants.decide(late.user_code, BOB)
    assert {grants.ask(one.device_code)[0] for one in (begun, late)} == {"expired_token"}
    assert len(grants) == 0


def test_ten_thousand_guesses_find_nothing(grants: DeviceGrants) -> None:
    for number in range(MOST_OF_NETWORK):
        begun = grants.begin("login3", "10.0.0.1", "tasks")
        assert set(begun.user_code) <= {*LETTERS, "-"}
        assert len(begun.device_code) >= 43
        if number % 2:
            grants.decide(begun.user_code, BOB)
    assert {grants.ask(f"guess-{number}")[0] for number in range(10_000)} == {"expired_token"}
    with pytest.raises(TooManyLogins):
        grants.begin("login3", "10.0.0.1", "tasks")
    grants.begin("login3", "10.0.0.2", "tasks")


def test_only_commands_that_go_on_asking_keep_others_of_their_network_out(grants: DeviceGrants, clock: Clock) -> None:
    """All of a company may share an address, with somebody who floods it."""
    honest = grants.begin("login3", "10.0.0.1", "tasks").device_code
    for _ in range(MOST_OF_NETWORK - 1):
        grants.begin("flood", "10.0.0.1", "tasks")
    late = None
    for _ in range(int((INTERVAL_S + SILENT_S) / INTERVAL_S) + 1):
        clock.now += INTERVAL_S
        assert grants.ask(honest)[0] == "authorization_pending"
        try:
            late = grants.begin("late", "10.0.0.1", "tasks")
        except TooManyLogins:
            assert late is None
    assert late is not None
    assert len(grants) < MOST_OF_NETWORK
    assert grants.ask(honest)[0] != "expired_token"


def test_a_flood_that_finds_no_room_searches_for_it_once_a_second(
    grants: DeviceGrants, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[Login] = []
    silent = Login.is_silent
    monkeypatch.setattr(Login, "is_silent", lambda self, now: looked_at.append(self) or silent(self, now))
    for _ in range(2 * MOST_OF_NETWORK):
        with contextlib.suppress(TooManyLogins):
            grants.begin("flood", "10.0.0.1", "tasks")
    assert len(looked_at) == MOST_OF_NETWORK


def test_a_used_code_gives_its_place_back(grants: DeviceGrants, clock: Clock) -> None:
    for _ in range(2 * MOST_OF_NETWORK):
        begun = grants.begin("login3", "10.0.0.1", "tasks")
        grants.decide(begun.user_code, BOB)
        assert grants.ask(begun.device_code)[0] == "yes"
    assert len(grants) == 0


@pytest.mark.parametrize(
    ("seconds", "said", "chinese"),
    [
        (30 * 86_400, "30 days", "30 天"),
        (2 * 86_400 - 1, "47 hours", "47 小时"),
        (7200, "2 hours", "2 小时"),
        (7199, "119 minutes", "119 分钟"),
    ],
)
def test_how_long_a_token_is_good_is_said_in_both_languages(seconds: int, said: str, chinese: str) -> None:
    assert (length_of(seconds, ENGLISH), length_of(seconds, CHINESE)) == (said, chinese)


def test_all_addresses_together_have_an_end(grants: DeviceGrants, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_grants, "MOST", 3)
    for number in range(3):
        grants.begin("login3", f"10.0.0.{number}", "tasks")
    with pytest.raises(TooManyLogins):
        grants.begin("login3", "10.0.1.1", "tasks")


def test_a_right_code_does_not_make_the_next_guess_free(clock: Clock) -> None:
    guessing = Guessing(clock)
    for number in range(FREE + 1):
        guessing.failed("eve", f"10.0.0.{number}")
    assert guessing.wait_s("eve", "10.9.9.9") > 0, "another address does not help"
    assert guessing.wait_s("bob", "10.0.0.1") == 0


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("login3.example.org", "login3.example.org"),
        ("", "?"),
        ("<b>x</b>", "?b?x??b?"),
        ("a\u202eb\n", "a?b?"),
        ("x" * 9999, "x" * 64),
    ],
)
def test_a_hosts_name_is_shown_as_plain_text(host: str, shown: str) -> None:
    assert plain_host(host) == shown


def test_both_languages_say_all() -> None:
    assert set(ENGLISH) == set(CHINESE)
    for header, texts in (("zh-CN,en", CHINESE), ("en,zh", ENGLISH), ("fr,zh-Hans-CN", CHINESE), ("", ENGLISH)):
        assert texts_for(header) is texts
