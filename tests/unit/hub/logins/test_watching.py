"""About whom the provider is asked though they send no request, and what becomes of errors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from hai_hub.logins.questions import Away, Ended, Gone, LoginState
from hai_hub.logins.watching import AT_ONCE, Watch
from kit.logins.users import FakeProvider, FakeUser


class User(FakeUser):
    active = False


def handler_of(provider: Any, *users: User, loaded: tuple[User, ...] = ()) -> Any:
    rolled: list[int] = []
    return SimpleNamespace(
        authenticator=provider,
        settings={},
        db=SimpleNamespace(rollback=lambda: rolled.append(1)),
        rolled=rolled,
        users={user.name: user for user in loaded},
        find_user={user.name: user for user in (*users, *loaded)}.get,
    )


def watch(*names: str) -> Watch:
    async def active(_token: str) -> frozenset[str]:
        return frozenset(names)

    return Watch(active)


async def test_it_is_asked_about_those_with_tasks_or_servers() -> None:
    provider, ann, bob, idle = FakeProvider(), User("ann"), User("bob"), User("idle")
    bob.active = True
    provider.says = {"ann": ["cv"], "bob": ["nlp"]}
    await watch("ann", "unknown").look(handler_of(provider, ann, loaded=(bob, idle)), provider)
    assert (ann.groups, bob.groups, sorted(provider.asked)) == (["cv"], ["nlp"], ["ann", "bob"])


async def test_while_the_service_does_not_answer_the_last_answer_counts() -> None:
    answers: list[Any] = [frozenset({"ann"}), OSError("away")]

    async def active(_token: str) -> frozenset[str]:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return frozenset(found)

    provider, it = FakeProvider(), Watch(active)
    handler = handler_of(provider, User("ann"))
    for _ in range(2):
        await it.look(handler, provider)
    assert provider.asked == ["ann", "ann"]


async def test_so_many_questions_are_open_at_once_and_no_more() -> None:
    provider, users = FakeProvider(), [User(f"u{number}") for number in range(50)]
    await watch(*(user.name for user in users)).look(handler_of(provider, *users), provider)
    assert (len(provider.asked), provider.at_once) == (50, AT_ONCE)


async def test_an_error_about_one_user_is_of_no_concern_to_others() -> None:
    provider, ann, bob = FakeProvider(), User("ann"), User("bob")
    provider.says = {"ann": OperationalError("x", {}, Exception("locked")), "bob": ["cv"]}
    handler = handler_of(provider, ann, bob)
    await watch("ann", "bob").look(handler, provider)
    assert (bob.groups, handler.rolled) == (["cv"], [1])


async def test_an_authenticator_that_cannot_ask_is_left_alone() -> None:
    await watch("ann")(handler_of(object()))


@pytest.mark.parametrize(
    ("said", "state", "groups", "asked_again"),
    [
        (["cv"], LoginState.CURRENT, ["cv"], False),
        (Ended("x"), LoginState.ENDED, [], True),
        (Gone("x"), LoginState.GONE, [], True),
        (Away("x"), LoginState.AWAY, ["old"], False),
    ],
)
async def test_what_a_provider_says_decides_of_groups_and_sessions(
    said: Any, state: LoginState, groups: list[str], asked_again: bool
) -> None:
    provider, ann = FakeProvider(), User("ann")
    ann.groups = ["old"]
    provider.says = {"ann": said}
    assert (await provider.questions.ask(ann), ann.groups) == (state, groups)
    # JupyterHub asks at the next request then, and ends the session.
    assert (ann._auth_refreshed is None) == asked_again
