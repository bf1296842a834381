"""What comes of questions about one user costs other users nothing, and cannot be of use to that user."""

from __future__ import annotations

import logging

import pytest
from tornado.web import HTTPError

from hai_hub.logins.questions import UNANSWERED_S, Away, LoginState, Questions
from kit.logins.users import FakeProvider, FakeUser

LOOK_S = 30.0
CURRENT, AWAY, ENDED = LoginState.CURRENT, LoginState.AWAY, LoginState.ENDED


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def provider(clock: Clock) -> FakeProvider:
    made = FakeProvider()
    made.questions = Questions(made, clock)
    made.log = logging.getLogger("logins")
    return made


def users(*names: str) -> list[FakeUser]:
    return [FakeUser(name, {"auth_state": {"a": 1}, "groups": ["cv"]}) for name in names]


async def look(provider: FakeProvider, clock: Clock, *them: FakeUser) -> list[LoginState]:
    """Ask about each, as is done regularly."""
    clock.now += LOOK_S
    return [await provider.questions.ask(user) for user in them]


async def test_silence_about_one_user_keeps_no_question_about_another_back(provider: FakeProvider) -> None:
    eve, ann = users("eve", "ann")
    provider.says = {"eve": Away("odd"), "ann": ["cv"]}
    assert [await provider.questions.soon(user) for user in (eve, ann, eve)] == [AWAY, CURRENT, AWAY]
    assert provider.asked == ["eve", "ann"], "and about that one it is not asked at each request"


async def test_where_it_answers_about_nobody_requests_do_not_wait(provider: FakeProvider, clock: Clock) -> None:
    them = users("a", "b", "c", "d", "e")
    provider.says = {user.name: Away("down") for user in them}
    assert {await provider.questions.soon(user) for user in them} == {AWAY}
    assert provider.asked == ["a", "b", "c"]
    clock.now += LOOK_S
    provider.says = {}
    assert await provider.questions.soon(them[3]) is CURRENT
    assert await provider.questions.soon(them[4]) is CURRENT


async def test_who_sees_to_it_that_there_is_no_answer_keeps_no_groups_for_that(
    provider: FakeProvider, clock: Clock
) -> None:
    """By using up one's own share of requests at the provider, for example."""
    eve, ann = users("eve", "ann")
    provider.says = {"eve": Away("a limit of requests"), "ann": ["cv"]}
    while clock.now < 1000 + UNANSWERED_S:
        assert await look(provider, clock, eve, ann) == [AWAY, CURRENT]
        assert eve.groups == ["cv"]
    await look(provider, clock, ann)
    assert await look(provider, clock, eve, ann) == [ENDED, CURRENT]
    assert (eve.groups, ann.groups) == ([], ["cv"])
    provider.says["eve"] = ["cv"]
    assert await look(provider, clock, eve, ann) == [CURRENT, CURRENT]
    assert eve.groups == ["cv"]


async def test_a_provider_that_is_away_for_hours_takes_groups_from_nobody(provider: FakeProvider, clock: Clock) -> None:
    them = users("a", "b", "c", "d")
    for _ in range(3):
        provider.says = {user.name: Away("down") for user in them}
        for _ in range(int(2 * UNANSWERED_S / LOOK_S)):
            assert set(await look(provider, clock, *them)) == {AWAY}
        # It answers about some, and is away again.
        provider.says = {"a": ["cv"], "b": ["cv"], "c": Away("down"), "d": Away("down")}
        assert await look(provider, clock, *them) == [CURRENT, CURRENT, AWAY, AWAY]
    assert {tuple(user.groups) for user in them} == {("cv",)}


@pytest.mark.parametrize(
    "error",
    [KeyError("login"), TypeError(), ValueError(), AttributeError(), RecursionError(), IndexError(), HTTPError(403)],
)
async def test_an_answer_of_another_shape_is_no_answer(
    provider: FakeProvider, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    (eve,) = users("eve")
    provider.says = {"eve": error}
    assert (await provider.refresh_user(eve), eve.groups) == (True, ["cv"])
    assert f"in a shape that is not known ({type(error).__name__})" in caplog.text


async def test_each_cause_is_said_once_however_many_users_it_is_about(
    provider: FakeProvider, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    them = users("a", "b", "c", "eve")

    def said() -> list[str]:
        found = [record.getMessage().partition(" Groups")[0] for record in caplog.records if record.name == "logins"]
        caplog.clear()
        return found

    odd = {"eve": Away("odd.")}
    provider.says = dict(odd)
    for _ in range(5):
        await look(provider, clock, *them)
    assert said() == ["odd."]
    # One user of whom there is no answer does not hide that there is none of all.
    for _ in range(2):
        provider.says = odd | {name: Away("down.") for name in "abc"}
        await look(provider, clock, *them)
        provider.says = dict(odd)
        await look(provider, clock, *them)
        assert said() == ["down.", "The provider of logins answers again"]
