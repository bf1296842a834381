"""Signing in by OpenID Connect: names, groups, tokens that are renewed, and what is said when something is wrong."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tornado.web import HTTPError

from hai_hub.logins import careful_http, questions
from hai_hub.logins.oidc import OidcAuthenticator
from hai_hub.logins.plain_names import refuse_look_alikes
from hai_hub.logins.questions import LoginState
from kit.logins.browser import Visit
from kit.logins.provider import CLIENT_SECRET, Provider
from kit.logins.users import FakeUser
from kit.proxy import proxying
from kit.waiting import until

ROWS = [{"match": "/ml/(.+)", "group": r"\1"}, {"match": "platform", "group": "hai-admins", "admin": True}]
BOSS = "boss@example.org"
Make = Callable[..., OidcAuthenticator]


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    made = await Provider().start()
    made.person("ada", "/ml/cv", "/ml/nlp", "everybody")
    try:
        yield made
    finally:
        await made.stop()


@pytest.fixture
def make(provider: Provider) -> Make:
    def made(**given: Any) -> OidcAuthenticator:
        settings = {"issuer": provider.issuer, "client_id": "hai", "client_secret": CLIENT_SECRET, "group_table": ROWS}
        it = OidcAuthenticator(**(settings | given))
        it.log = logging.getLogger("logins")
        return it

    return made


async def sign_in(it: OidcAuthenticator, provider: Provider, name: str = "ada", **users: Any) -> Any:
    return await it.authenticate(Visit(provider, name, users))


async def test_a_login_tells_name_and_groups(make: Make, provider: Provider) -> None:
    it = make()
    model = await sign_in(it, provider)
    assert (model["name"], model["groups"]) == ("ada", ["cv", "nlp"])
    assert await it.check_allowed("ada", model)
    provider.person("boss", "platform")
    boss = await sign_in(it, provider, "boss")
    assert (boss["groups"], it.table.admins) == (["hai-admins"], ("hai-admins",))


@pytest.mark.parametrize("where", ["page", "token", "both"])
@pytest.mark.parametrize("expired", [False, True])
async def test_groups_are_those_of_now_without_a_login(
    make: Make, provider: Provider, where: str, expired: bool
) -> None:
    provider.groups_in_page, provider.groups_in_token = where != "token", where != "page"
    it = make()
    user = FakeUser("ada", await sign_in(it, provider))
    for groups in (["/ml/cv"], ["/ml/cv", "/ml/new"], ["/ml/cv"]):
        provider.person("ada", *groups)
        if expired:
            provider.expire()
        assert await it.questions.ask(user) is LoginState.CURRENT
        assert user.groups == [name.removeprefix("/ml/") for name in groups]


async def test_a_claim_that_is_left_out_means_no_groups(make: Make, provider: Provider) -> None:
    it = make(allow_all=True)
    user = FakeUser("ada", await sign_in(it, provider))
    provider.person("ada")
    provider.accounts["ada"].claims.pop("groups")
    assert (await it.questions.ask(user), user.groups) == (LoginState.CURRENT, [])
    assert (await it.questions.ask(user), user.groups) == (LoginState.CURRENT, [])


async def test_who_leaves_every_group_is_out_and_who_comes_back_is_in(make: Make, provider: Provider) -> None:
    it = make()
    user = FakeUser("ada", await sign_in(it, provider))
    provider.person("ada", "everybody")
    assert (await it.refresh_user(user), user.groups) == (False, [])
    provider.person("ada", "/ml/cv")
    assert (await it.refresh_user(user), user.groups) == (True, ["cv"])


async def test_a_refresh_token_that_is_good_once_is_used_once_however_many_ask(make: Make, provider: Provider) -> None:
    provider.groups_in_page = False
    it = make()
    user = FakeUser("ada", await sign_in(it, provider))
    asked = provider.asked.count("/token")
    looks = [it.questions.ask(user) for _ in range(20)]
    assert {await look for look in looks} == {LoginState.CURRENT}
    assert provider.asked.count("/token") == asked + 1
    assert await it.questions.ask(user) is LoginState.CURRENT


async def test_a_request_that_does_not_wait_loses_no_token(
    make: Make, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "_PATIENCE_S", 0.0)
    provider.groups_in_page = False
    it = make()
    user = FakeUser("ada", await sign_in(it, provider))
    assert await it.refresh_user(user) is True
    await until("the question to end", lambda: not it.questions._open)
    assert user.saved == 1
    assert await it.questions.ask(user) is LoginState.CURRENT


class Request:
    """Of a user, by token or by a browser's cookie."""

    def __init__(self, user: FakeUser, *, by_token: bool = False) -> None:
        self._jupyterhub_user = user
        self._token_authenticated = by_token


@pytest.mark.parametrize(("keep", "left"), [(0, []), (3600, ["cv", "nlp"])])
async def test_a_login_that_the_provider_has_ended(make: Make, provider: Provider, keep: int, left: list[str]) -> None:
    it = make(keep_groups_s=keep)
    user = FakeUser("ada", await sign_in(it, provider))
    provider.end_sessions()
    assert (await it.questions.ask(user), user.groups) == (LoginState.ENDED, left)
    asked = len(provider.asked)
    # A browser signs in again; a token cannot, and an admin is somebody else.
    requests = [Request(user), Request(user, by_token=True), Request(FakeUser("root"))]
    assert [await it.refresh_user(user, request) for request in requests] == [False, True, True]
    assert len(provider.asked) == asked
    again = FakeUser("ada", await sign_in(it, provider, ada=user))
    assert (await it.questions.ask(again), again.groups) == (LoginState.CURRENT, ["cv", "nlp"])


async def test_a_user_who_never_signed_in_has_no_groups(make: Make) -> None:
    user = FakeUser("bob")
    assert (await make().questions.ask(user), user.saved) == (LoginState.ENDED, 0)


@pytest.mark.parametrize("status", [500, 503, 429, 302, -1])
async def test_a_provider_that_fails_takes_no_groups_and_is_told_once(
    make: Make, provider: Provider, status: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(careful_http, "_ANSWER_S", 0.3)
    it = make()
    user = FakeUser("ada", await sign_in(it, provider))
    provider.fails = status
    caplog.set_level(logging.INFO)
    caplog.clear()
    for _ in range(3):
        assert (await it.questions.ask(user), user.groups) == (LoginState.AWAY, ["cv", "nlp"])
    asked = len(provider.asked)
    assert await it.refresh_user(user) is True
    assert len(provider.asked) == asked
    (said,) = [record.getMessage() for record in caplog.records if record.name == "logins"]
    assert said.startswith(f"logins.oidc.issuer: {provider.issuer}/page ")
    provider.fails = 0
    assert await it.questions.ask(user) is LoginState.CURRENT
    assert "The provider of logins answers again" in caplog.text


async def refusal(it: OidcAuthenticator, provider: Provider, name: str = "ada", **users: Any) -> HTTPError:
    async def signed_in() -> None:
        model = await sign_in(it, provider, name, **users)
        await it.check_allowed(name, model)

    with pytest.raises(HTTPError) as refused:
        await signed_in()
    return refused.value


@pytest.mark.parametrize(
    ("given", "changed", "status", "said"),
    [
        (
            {"client_secret": "other-secret"},
            {},
            503,
            "refuses the client 'hai' (status 401 invalid_client): check logins.oidc.clientId",
        ),
        ({"client_id": "nobody"}, {}, 503, "refuses the client 'nobody'"),
        ({"issuer": "{issuer}/"}, {}, 503, "/', and the provider there is '{issuer}': write that."),
        ({"issuer": "{issuer}/realm"}, {}, 503, "is not there (status 404): write the issuer"),
        ({"issuer": "http://127.0.0.1:1"}, {}, 503, "does not answer ("),
        ({}, {"fails": 500}, 503, "answers with status 500: look at"),
        (
            {"name_claim": "upn"},
            {},
            403,
            "logins.oidc.usernameClaim: {issuer} says no upn of you; it says aud, exp, groups",
        ),
        ({"name_domain": "example.org"}, {}, 403, "logins.oidc.domain: 'ada' is no account of example.org"),
        ({"group_table": []}, {}, 403, "ada is in no group that may use this platform"),
        ({"allowed_members": ["x"]}, {}, 403, "ada is in cv, nlp, and only members of x may use this platform"),
        ({}, {"lies": {"aud": "other"}}, 503, "sends an ID token that is refused: it is for another client."),
        ({}, {"lies": {"iss": "https://evil"}}, 503, "it is of another issuer."),
        ({}, {"lies": {"exp": 1}}, 503, "it has expired: is the clock"),
        ({}, {"lies": {"sub": "another"}}, 503, "answers with the claims of another account"),
        ({}, {"algorithm": "none"}, 503, "it is signed by 'none', which anybody could do."),
        ({}, {"algorithm": "HS256"}, 503, "it is signed by 'HS256', which anybody could do."),
        ({}, {"signs_with": "another"}, 503, "its signature is wrong."),
    ],
)
async def test_what_is_wrong_is_named_and_no_secret_with_it(
    make: Make,
    provider: Provider,
    given: dict[str, Any],
    changed: dict[str, Any],
    status: int,
    said: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    given = {key: text.format(issuer=provider.issuer) if isinstance(text, str) else text for key, text in given.items()}
    for name, value in changed.items():
        setattr(provider, name, provider.other_key if value == "another" else value)
    refused = await refusal(make(**given), provider)
    assert (refused.status_code, said.format(issuer=provider.issuer) in refused.log_message) == (status, True), refused
    for secret in (CLIENT_SECRET, "other-secret", "eyJ"):
        assert secret not in f"{refused.log_message} {caplog.text}"


async def test_a_claim_that_is_no_list_is_said_once(
    make: Make, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    it = make(allow_all=True)
    for claim, said in (
        ({"a": 1}, "groups is dict at the provider"),
        (None, f"{provider.issuer} says no groups (it says"),
    ):
        caplog.clear()
        provider.accounts["ada"].claims["groups"] = claim
        assert [(await sign_in(it, provider))["groups"] for _ in range(3)] == [[], [], []]
        (found,) = [text for record in caplog.records if "groupsClaim" in (text := record.getMessage())]
        assert f"logins.oidc.groupsClaim: ada has no groups: {said}" in found
    provider.accounts["ada"].claims |= {"groups": None, "_claim_names": {"groups": "src1"}}
    await sign_in(it, provider)
    assert "more groups than Entra sends" in caplog.text


@pytest.mark.parametrize(
    ("claim", "value", "groups"),
    [
        ("realm.roles", {"realm": {"roles": ["/ml/cv"]}}, ["cv"]),
        ("https://x.org/g", {"https://x.org/g": ["/ml/cv"]}, ["cv"]),
    ],
)
async def test_a_claim_may_lie_in_a_table_or_have_dots(
    make: Make, provider: Provider, claim: str, value: dict[str, Any], groups: list[str]
) -> None:
    provider.accounts["ada"].claims |= value
    it = make(groups_claim=claim)
    user = FakeUser("ada", await sign_in(it, provider))
    assert user.groups == groups
    provider.accounts["ada"].claims |= {next(iter(value)): {"roles": []} if "." in claim and "/" not in claim else []}
    await it.questions.ask(user)
    assert user.groups == []


async def test_a_domain_is_cut_off(make: Make, provider: Provider) -> None:
    provider.person("Ada.L@Example.org", "/ml/cv")
    model = await sign_in(make(name_domain="example.org"), provider, "Ada.L@Example.org")
    assert model["name"] == "ada.l"


async def test_a_name_of_several_lines_is_one_line_of_the_log(
    make: Make, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.person("ada\nroot has signed in", "somewhere")
    await sign_in(make(allow_all=True), provider, "ada\nroot has signed in")
    said = [record.getMessage() for record in caplog.records if record.name == "logins"]
    assert said
    assert not [text for text in said if "\n" in text]


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        (5, []),
        (True, []),
        ({"/ml/cv": True}, []),
        ([None, 5, ["/ml/x"], {"name": "/ml/y"}, "/ml/cv"], ["cv"]),
        ("/ml/cv", ["cv"]),
        ("/ml/" + "x" * 300_000, []),
        (["/ml/<b>", "/ml/../cv", "/ml/\u202ecv", "/ml/cv\n", "/ml/"], []),
        (["hai-admins", "/ml/hai-admins"], []),
        ([f"/ml/g{number:05}" for number in range(60_000)], [f"g{number:05}" for number in range(50)]),
    ],
    ids=lambda value: repr(value)[:20],
)
async def test_whatever_stands_in_the_claim_groups_are_groups_and_nobody_becomes_an_admin(
    make: Make, provider: Provider, groups: Any, found: list[str]
) -> None:
    it = make(allow_all=True)
    user = FakeUser("ada", await sign_in(it, provider))
    provider.accounts["ada"].claims["groups"] = groups
    assert (await it.questions.ask(user), user.groups) == (LoginState.CURRENT, found)
    assert (await sign_in(it, provider))["groups"] == found


@pytest.mark.parametrize("value", [5, ["x"], {}, None, "", True])
@pytest.mark.parametrize("claim", ["preferred_username", "_claim_names", "sub"])
async def test_a_claim_of_another_type_is_a_refusal_and_no_error_of_the_hub(
    make: Make, provider: Provider, claim: str, value: Any
) -> None:
    it = make(allow_all=True)
    user = FakeUser("ada", await sign_in(it, provider))
    provider.accounts["ada"].claims |= {claim: value} | ({"groups": None} if claim == "_claim_names" else {})
    assert await it.questions.ask(user) in (LoginState.CURRENT, LoginState.AWAY)
    with contextlib.suppress(HTTPError):
        await sign_in(it, provider)


@pytest.mark.parametrize(
    "body", [b"[" * 500_000, b"5", b'"x"', b"null", b"[]", b"{}", b"\xff\xfe", b"", b'{"keys": 5}']
)
@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys", "/token", "/page"])
async def test_a_provider_that_answers_anything_is_a_sentence(
    make: Make, provider: Provider, path: str, body: bytes
) -> None:
    before = FakeUser("ada", await sign_in(make(), provider))
    provider.says[path] = body
    refused = await refusal(make(), provider)
    assert (refused.status_code, "logins" in refused.log_message) == (503, True)
    provider.expire()
    assert (await make().questions.ask(before), before.groups) == (LoginState.AWAY, ["cv", "nlp"])


@pytest.mark.parametrize(
    "name",
    [
        "ada/x",
        "../root",
        "..",
        "%2e%2e",
        "",
        " ada",
        "ad\u202ea",
        "ad\u200ba",
        "a\u0430da",
        "\u212aim",
        "a\nb",
        "a" + "\u0301",
    ],
)
async def test_a_name_that_is_a_path_or_looks_like_another_is_refused(
    make: Make, provider: Provider, name: str
) -> None:
    refuse_look_alikes()
    it = make(allow_all=True)
    provider.person("eve", "/ml/cv", preferred_username=name)
    found = None
    with contextlib.suppress(HTTPError):
        found = await it.get_authenticated_user(Visit(provider, "eve", {}), None)
    assert found is None


@pytest.mark.parametrize(
    ("verified", "who"),
    [
        ({}, BOSS),
        ({"email_verified": True}, BOSS),
        ({"email_verified": "true"}, BOSS),
        ({"email_verified": False}, None),
        ({"email_verified": "false"}, None),
    ],
)
async def test_an_address_that_was_not_verified_is_nobodys_name(
    make: Make, provider: Provider, verified: dict[str, Any], who: str | None
) -> None:
    """Anybody may write an admin's address into an account of their own."""
    it = make(name_claim="email")
    provider.person("eve", "/ml/cv", email=BOSS, **verified)
    if who is None:
        refused = await refusal(it, provider, "eve")
        assert (refused.status_code, "has not verified that 'boss@example.org' is yours" in refused.log_message) == (
            403,
            True,
        )
    else:
        assert (await sign_in(it, provider, "eve"))["name"] == who


async def test_a_name_stays_with_its_account(make: Make, provider: Provider) -> None:
    it = make()
    ada = FakeUser("ada", await sign_in(it, provider))
    # Somebody else has taken the name at the provider.
    provider.accounts["ada"].sub = "another"
    refused = await refusal(it, provider, ada=ada)
    assert (refused.status_code, "The name ada belongs to another account" in refused.log_message) == (403, True)
    assert (await make(bind_names=False).authenticate(Visit(provider, "ada", {"ada": ada})))["name"] == "ada"
    # Tokens of before now tell of somebody else.
    assert await it.questions.ask(ada) is not LoginState.CURRENT


async def test_a_provider_without_refresh_tokens_is_told_of(
    make: Make, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.refresh = False
    it = make()
    for _ in range(2):
        await sign_in(it, provider)
    assert caplog.text.count("logins.oidc.scopes: ") == 1


async def test_a_new_key_of_the_provider_is_found(
    make: Make, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = make()
    await sign_in(it, provider)
    monkeypatch.setattr(it.provider._id_tokens, "_keys", {"old": next(iter(it.provider._id_tokens._keys.values()))})
    assert (await refusal(it, provider)).status_code == 503
    monkeypatch.setattr(it.provider._id_tokens, "_asked_at", -1e9)
    assert (await sign_in(it, provider))["name"] == "ada"


async def test_by_https_the_authority_must_be_known(tmp_path: Path, make: Make) -> None:
    provider = await Provider().start(tmp_path)
    try:
        provider.person("ada", "/ml/cv")
        refused = await refusal(make(issuer=provider.issuer), provider)
        assert "give the Hub the certificate of your authority" in refused.log_message
        it = make(issuer=provider.issuer, http_request_kwargs={"ca_certs": str(tmp_path / "provider.crt")})
        assert (await sign_in(it, provider))["groups"] == ["cv"]
    finally:
        await provider.stop()


@pytest.mark.parametrize("scheme", ["https", "http"])
async def test_a_provider_outside_is_asked_by_the_proxy(
    make: Make, tmp_path: Path, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = "sso.outside.invalid"
    provider = await Provider().start(tmp_path if scheme == "https" else None, host)
    place = f"{host}:{443 if scheme == 'https' else 80}"
    try:
        provider.person("ada", "/ml/cv")
        more = {"http_request_kwargs": {"ca_certs": str(tmp_path / "provider.crt")}} if scheme == "https" else {}
        async with proxying({place: provider.port}) as proxy:
            monkeypatch.setenv(f"{scheme}_proxy", proxy.address)
            assert (await sign_in(make(issuer=provider.issuer, **more), provider))["groups"] == ["cv"]
            assert set(proxy.asked) == {place}
            refused = await refusal(make(issuer="https://other.invalid"), provider)
    finally:
        await provider.stop()
    if scheme == "https":
        assert f"does not answer (status 403 by the proxy {proxy.address}): check" in refused.log_message


async def test_a_provider_inside_is_not_asked_by_the_proxy(
    make: Make, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://ann:canary-of-the-proxy@127.0.0.1:1")
    refused = await refusal(make(), provider)
    assert "by the proxy http://127.0.0.1:1): check" in refused.log_message
    assert "canary" not in refused.log_message
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    assert (await sign_in(make(), provider))["name"] == "ada"
