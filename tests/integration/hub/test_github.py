"""Signing in by a GitHub: organizations and teams are groups, and numbers are who somebody is."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from tornado.web import HTTPError

from hai_hub.logins.github import GitHubAuthenticator
from hai_hub.logins.questions import LoginState
from kit.logins.browser import Visit
from kit.logins.github import GitHub
from kit.logins.provider import CLIENT_SECRET
from kit.logins.users import FakeUser

ROWS = [{"match": "acme", "group": "staff"}, {"match": "acme:(.+)", "group": r"\1"}]


@pytest.fixture
async def github() -> AsyncIterator[GitHub]:
    made = await GitHub(organizations=["acme", "evil"], teams=["acme:cv", "evil:cv2"]).start()
    try:
        yield made
    finally:
        await made.stop()


def make(github: GitHub, **given: Any) -> GitHubAuthenticator:
    settings = {"github_url": github.url, "client_id": "Iv1", "client_secret": CLIENT_SECRET, "group_table": ROWS}
    it = GitHubAuthenticator(**(settings | given))
    it.log = logging.getLogger("logins")
    return it


async def sign_in(it: GitHubAuthenticator, **users: Any) -> Any:
    nobody: Any = SimpleNamespace(authorized=lambda *_: "code", signs_in="")
    return await it.authenticate(Visit(nobody, "ada", users))


async def test_organizations_and_teams_are_groups_of_now(github: GitHub) -> None:
    it = make(github)
    user = FakeUser("ada", await sign_in(it))
    assert user.groups == ["cv", "staff"]
    github.teams = [*(f"acme:t{number:03}" for number in range(150)), "acme:late"]
    github.organizations = []
    assert await it.questions.ask(user) is LoginState.CURRENT
    assert (len(user.groups), "staff" in user.groups) == (50, False)
    github.teams = ["evil:cv"]
    assert (await it.questions.ask(user), user.groups) == (LoginState.GONE, [])


async def test_a_token_that_was_taken_back_ends_the_groups(github: GitHub) -> None:
    it = make(github)
    user = FakeUser("ada", await sign_in(it))
    github.tokens.clear()
    assert (await it.questions.ask(user), user.groups) == (LoginState.ENDED, [])


@pytest.mark.parametrize("status", [403, 429, 500])
async def test_a_limit_of_github_takes_no_groups(github: GitHub, status: int) -> None:
    it = make(github)
    user = FakeUser("ada", await sign_in(it))
    github.fails = status
    assert (await it.questions.ask(user), user.groups) == (LoginState.AWAY, ["cv", "staff"])


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("user", {}),
        ("user", {"login": "ada"}),
        ("user", {"login": 5, "id": 7}),
        ("user/orgs", {"login": "acme"}),
        ("user/orgs", [5]),
        ("user/orgs", [{"name": "acme"}]),
        ("user/teams", [{"slug": "cv", "organization": None}]),
        ("user/teams", "acme:cv"),
    ],
)
async def test_an_answer_of_another_shape_is_a_sentence_and_takes_no_groups(
    github: GitHub, what: str, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = make(github)
    user = FakeUser("ada", await sign_in(it))
    about = github.about
    monkeypatch.setattr(github, "about", lambda asked: answer if asked == what else about(asked))
    assert (await it.questions.ask(user), user.groups) == (LoginState.AWAY, ["cv", "staff"])
    with pytest.raises(HTTPError) as refused:
        await sign_in(it)
    assert (refused.value.status_code, "Nobody can sign in until then" in refused.value.log_message) == (503, True)


async def test_a_name_that_somebody_else_has_taken_is_refused(github: GitHub) -> None:
    it = make(github)
    ada = FakeUser("ada", await sign_in(it))
    github.number = 8
    with pytest.raises(HTTPError, match="belongs to another account"):
        await sign_in(it, ada=ada)


async def test_a_wrong_secret_is_named_and_not_shown(github: GitHub, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(HTTPError) as refused:
        await sign_in(make(github, client_secret="other-secret"))
    said = f"{refused.value.log_message} {caplog.text}"
    assert "logins.github.clientId and the key client-secret of logins.existingSecret" in said
    assert "other-secret" not in said
