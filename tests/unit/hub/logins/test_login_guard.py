"""What slows guesses down holds whatever a client writes, and however many guesses it sends at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub.handlers.base import BaseHandler
from tornado.httputil import HTTPHeaders
from tornado.web import HTTPError

from hai_hub.logins import login_guard
from hai_hub.logins.login_guard import address_of, guard_logins, network_of
from hai_hub.logins.login_records import LoginRecords
from hai_hub.logins.slowing import FREE, NAMES_FREE, Slowing

Guess = Callable[..., Any]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def looked_at() -> list[str]:
    """Passwords that were compared."""
    return []


@pytest.fixture
def guess(clock: Clock, looked_at: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guess:
    """Try a password for ann, whose password is `right`; gives the name, None, or 429 for a try not looked at."""

    async def authenticate(_handler: Any, data: Any) -> Any:
        looked_at.append(data["password"])
        await asyncio.sleep(0)
        return {"name": "ann"} if data["password"] == "right" else None

    monkeypatch.setattr(login_guard, "_original", authenticate)
    guard_logins(LoginRecords(tmp_path / "logins.log"), Slowing(clock))

    async def one(
        password: str = "wrong", *, user: object = "ann", peer: str = "127.0.0.1", **headers: str
    ) -> str | int | None:
        sent = HTTPHeaders({name.replace("_", "-"): value for name, value in headers.items()})
        # tornado's own rule, which believes X-Real-Ip.
        remote = sent.get("X-Real-Ip") or sent.get("X-Forwarded-For", peer).rpartition(",")[2].strip()
        handler = SimpleNamespace(
            request=SimpleNamespace(
                remote_ip=remote,
                path="/hub/login",
                headers=sent,
                connection=SimpleNamespace(context=SimpleNamespace(_orig_remote_ip=peer)),
            ),
            authenticator=SimpleNamespace(normalize_username=str.lower),
            set_header=lambda *_: None,
            log=None,
        )
        try:
            found = await BaseHandler.authenticate(handler, {"username": user, "password": password})  # type: ignore[arg-type]
        except HTTPError as error:
            return error.status_code
        return None if found is None else str(found["name"])

    return one


async def test_guesses_that_come_at_once_are_slowed_like_those_that_come_one_by_one(
    guess: Guess, looked_at: list[str]
) -> None:
    answers = await asyncio.gather(*(guess(f"guess {number}") for number in range(200)))
    assert len(looked_at) == FREE + 1
    assert answers.count(429) == 200 - FREE - 1


async def test_an_address_that_a_client_names_itself_frees_no_guess(guess: Guess, looked_at: list[str]) -> None:
    for number in range(50):
        forged = f"10.0.0.{number}"
        await guess(X_Real_Ip=forged, X_Forwarded_For=f"{forged}, 192.0.2.7")
    assert len(looked_at) == FREE + 1


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ([], "10.1.2.3"),
        (["192.0.2.7"], "192.0.2.7"),
        (["6.6.6.6, 192.0.2.7"], "192.0.2.7"),
        (["6.6.6.6", "192.0.2.7"], "192.0.2.7"),
        (["2001:DB8::7"], "2001:db8::7"),
        # What is no address is shown, logged and counted nowhere: the connection's other end is.
        (["unix:"], "10.1.2.3"),
        (["caf\xe9"], "10.1.2.3"),
        (["<b>"], "10.1.2.3"),
        (["fe80::1%<b>"], "fe80::1"),
        (["1" * 60_000], "10.1.2.3"),
        ([""], "10.1.2.3"),
    ],
)
def test_an_address_is_an_address_or_the_connections_other_end(named: list[str], found: str) -> None:
    headers = HTTPHeaders()
    for value in named:
        headers.add("X-Forwarded-For", value)
    connection = SimpleNamespace(context=SimpleNamespace(_orig_remote_ip="10.1.2.3"))
    assert address_of(SimpleNamespace(headers=headers, remote_ip="x", connection=connection)) == found


async def test_addresses_of_one_ipv6_network_are_one(guess: Guess, looked_at: list[str]) -> None:
    for number in range(50):
        await guess(X_Forwarded_For=f"2001:db8:1:2:{number:x}::7")
    assert len(looked_at) == FREE + 1
    assert network_of("2001:db8:1:2:9::7") == "2001:db8:1:2::/64"
    assert network_of("::ffff:192.0.2.7") == network_of("192.0.2.7") == "192.0.2.7"
    assert network_of("unix:") == "unix:"


async def test_guesses_from_ever_new_addresses_are_looked_at_one_a_second(
    guess: Guess, looked_at: list[str], clock: Clock
) -> None:
    """A client that reaches the Hub past the proxy may name any address."""
    for number in range(1000):
        await guess(X_Forwarded_For=f"10.0.{number // 250}.{number % 250}")
    assert len(looked_at) == NAMES_FREE + 1
    looked_at.clear()
    for number in range(100):
        clock.now += 0.1
        await guess(X_Forwarded_For=f"10.1.0.{number}")
    assert len(looked_at) == 10
    clock.now += 1
    assert await guess("right", X_Forwarded_For="192.0.2.7") == "ann"


async def test_a_client_that_gives_the_right_password_starts_again(guess: Guess, looked_at: list[str]) -> None:
    for _ in range(FREE):
        assert await guess() is None
    assert await guess("right") == "ann"
    for _ in range(FREE):
        assert await guess() is None
    assert await guess("right") == "ann"
    assert len(looked_at) == 2 * FREE + 2


@pytest.mark.parametrize("user", [0, False, None, ["ann"]])
async def test_a_name_of_another_kind_is_slowed_too(guess: Guess, looked_at: list[str], user: object) -> None:
    """By REST a client sends any JSON; the authenticator takes its words for the name."""
    for _ in range(20):
        await guess(user=user)
    assert len(looked_at) == FREE + 1
