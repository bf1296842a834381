"""What one user may ask of the Hub: requests, and tokens that stay."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub import orm
from jupyterhub.apihandlers.users import UserTokenListAPIHandler
from jupyterhub.handlers.base import BaseHandler
from jupyterhub.user import User
from tornado.web import HTTPError

from hai_hub.logins import user_limits
from hai_hub.logins.user_limits import BURST, CHANGE, MOST_TOKENS, RATE, UserRates, limit_users, tokens_of


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ann() -> Iterator[orm.User]:
    with orm.new_session_factory("sqlite:///:memory:")() as db:
        db.add(orm.OAuthClient(identifier="jupyterhub"))
        db.add(orm.OAuthClient(identifier="jupyterhub-user-ann"))
        made = orm.User(name="ann")
        db.add(made)
        db.commit()
        yield made


@pytest.mark.parametrize(("cost", "at_first"), [(1.0, BURST), (CHANGE, BURST / CHANGE)])
def test_a_user_has_a_burst_and_then_a_rate(clock: Clock, cost: float, at_first: float) -> None:
    rates = UserRates(clock)
    passed = sum(rates.wait_s("ann", cost) == 0 for _ in range(1000))
    assert passed == at_first
    assert rates.wait_s("ann", cost) == 1
    passed = 0
    for _ in range(1000):
        clock.now += 0.01
        passed += rates.wait_s("ann", cost) == 0
    assert abs(passed - 10 * RATE / cost) <= 1, "ten seconds went by; what was refused does not count"
    clock.now += BURST / RATE
    assert sum(rates.wait_s("ann", cost) == 0 for _ in range(1000)) == at_first


def test_users_do_not_share_and_are_forgotten_in_the_end(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_limits, "_MOST_USERS", 3)
    rates = UserRates(clock)
    for _ in range(1000):
        rates.wait_s("ann", 1.0)
    assert rates.wait_s("bob", 1.0) == 0
    assert rates.wait_s("ann", 1.0) > 0
    for name in ("cid", "dan", "eve"):
        rates.wait_s(name, 1.0)
    assert len(rates._free_at) == 3


def handler(user: object, method: str = "GET", scopes: frozenset[str] = frozenset()) -> Any:
    return SimpleNamespace(current_user=user, expanded_scopes=scopes, request=SimpleNamespace(method=method))


def a_user(name: str) -> User:
    made = User.__new__(User)
    made.orm_user = SimpleNamespace(name=name)
    return made


Prepare = Callable[[Any], Awaitable[None]]


@pytest.fixture
def prepare(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Prepare:
    async def own(_: Any) -> None:
        return

    monkeypatch.setattr(user_limits, "_prepare", own)
    limit_users(UserRates(clock))
    return BaseHandler.prepare  # type: ignore[return-value]


async def refused(prepare: Prepare, asked: Any) -> int:
    """How many of a thousand requests are."""
    answers = []
    for _ in range(1000):
        try:
            await prepare(asked)
        except HTTPError as error:
            answers.append((error.status_code, error.headers))  # type: ignore[attr-defined]
    assert all(answer == (429, {"Retry-After": "1"}) for answer in answers)
    return len(answers)


async def test_a_users_requests_are_counted_and_changes_for_more(prepare: Prepare) -> None:
    assert await refused(prepare, handler(a_user("ann"))) == 1000 - BURST
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert await refused(prepare, handler(a_user(method), method)) == 1000 - BURST / CHANGE


@pytest.mark.parametrize(
    "asked",
    [
        handler(None, "POST"),
        handler(orm.Service(name="hai"), "POST"),
        handler(a_user("root"), "POST", frozenset({"admin:users"})),
    ],
    ids=["nobody", "a service", "an admin"],
)
async def test_who_is_no_ordinary_user_is_not_limited(prepare: Prepare, asked: Any) -> None:
    assert await refused(prepare, asked) == 0


def fill(ann: orm.User, count: int) -> None:
    db = orm.object_session(ann)
    for number in range(count):
        db.add(orm.APIToken(user=ann, client_id="jupyterhub", hashed=f"x{number}", prefix="x"))
    db.commit()


def test_only_good_tokens_that_were_asked_for_count(ann: orm.User) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    fill(ann, 3)
    db = orm.object_session(ann)
    for number, (client, until) in enumerate(
        [("jupyterhub", now - timedelta(1)), ("jupyterhub", now + timedelta(1)), ("jupyterhub-user-ann", None)]
    ):
        db.add(orm.APIToken(user=ann, client_id=client, expires_at=until, hashed=f"y{number}", prefix="y"))
    db.commit()
    assert tokens_of(ann) == 4


@pytest.mark.parametrize("by", ["a token", "a password"])
async def test_a_further_token_is_refused_beyond_the_most_and_a_server_gets_its_own(
    ann: orm.User, clock: Clock, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    asked = handler(a_user("ann") if by == "a token" else None, "POST")

    async def post(self: Any, user_name: str) -> None:
        self.current_user = a_user(user_name)
        ann.new_api_token(scopes=[])

    monkeypatch.setattr(user_limits, "_post_token", post)
    limit_users(UserRates(clock))
    fill(ann, MOST_TOKENS - 1)
    await UserTokenListAPIHandler.post(asked, "ann")
    assert tokens_of(ann) == MOST_TOKENS
    with pytest.raises(ValueError, match=rf"ann has {MOST_TOKENS} tokens, .* revoke some on .*/hub/token"):
        await UserTokenListAPIHandler.post(asked, "ann")
    ann.new_api_token(scopes=[])
    assert tokens_of(ann) == MOST_TOKENS + 1, "what the Hub makes for a server is not asked for"
