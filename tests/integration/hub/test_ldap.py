"""Signing in by Debian's slapd: passwords, groups, and what is said when something is wrong."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tornado.web import HTTPError

from hai_hub.logins import directory
from hai_hub.logins.ldap import LdapAuthenticator
from hai_hub.logins.questions import Away, LoginState
from kit.logins.slapd import GROUPS, PEOPLE, READER, READER_PASSWORD, Slapd
from kit.logins.users import FakeUser
from kit.waiting import until

# ldap3 leaves the socket of an address that does not answer to the collection of garbage.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

ROWS = [
    {"match": f"cn=gpu-([^,]+),{GROUPS}", "group": r"\1"},
    {"match": f"cn=admins,{GROUPS}", "group": "hai-admins", "admin": True},
]


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    made = Slapd(tmp_path_factory.mktemp("slapd")).start()
    try:
        ada = made.person("ada", "right")
        made.person("bob", "right")
        # Names that would say more in a filter.
        made.person("eve*", "right")
        made.group("gpu-cv", ada)
        made.group("everybody", ada)
        yield made
    finally:
        made.stop()


@pytest.fixture
def logins(slapd: Slapd, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("SSL_CERT_FILE", str(slapd.ca))

    def make(**given: Any) -> LdapAuthenticator:
        settings = {"address": slapd.tls, "bind_dn": READER, "bind_password": READER_PASSWORD, "group_table": ROWS}
        settings |= {"user_base": PEOPLE, "group_base": GROUPS}
        return LdapAuthenticator(**(settings | given))

    return make


async def sign_in(it: LdapAuthenticator, name: str, password: str) -> Any:
    return await it.authenticate(None, {"username": name, "password": password})


@pytest.mark.parametrize(
    ("name", "password", "who"),
    [
        ("ada", "right", "ada"),
        ("ADA", "right", "ada"),
        ("ada", "wrong", None),
        ("ada", "", None),
        ("ada", "\0", None),
        ("nobody", "right", None),
        ("*", "right", None),
        ("ada)(uid=*", "right", None),
        ("", "right", None),
        ("é" * 300, "right", None),
    ],
)
async def test_a_password_is_right_or_not(logins: Any, name: str, password: str, who: str | None) -> None:
    found = await sign_in(logins(), name, password)
    assert (found and found["name"]) == who


async def test_groups_come_by_the_table_and_attributes_are_kept(logins: Any) -> None:
    found = await sign_in(logins(), "ada", "right")
    assert found["groups"] == ["cv"]
    claims = found["auth_state"]["claims"]
    assert (claims["uidNumber"], claims["gidNumber"], claims["homeDirectory"]) == ("20017", "3100", "/home/ada")
    assert "userPassword" not in claims


@pytest.mark.parametrize("way", ["member of", "by its groups", "start tls"])
async def test_both_ways_to_groups_and_both_ways_of_encryption(logins: Any, slapd: Slapd, way: str) -> None:
    given: dict[str, Any] = {"member of": {"group_base": ""}, "start tls": {"address": slapd.plain}}.get(way, {})
    assert (await sign_in(logins(**given), "ada", "right"))["groups"] == ["cv"]


async def test_who_leaves_a_group_or_the_directory_has_no_groups_without_a_login(logins: Any, slapd: Slapd) -> None:
    it = logins()
    zoe = slapd.person("zoe", "right")
    slapd.group("gpu-nlp", zoe)
    user = FakeUser("zoe", await sign_in(it, "zoe", "right"))
    assert user.groups == ["nlp"]
    slapd.group("gpu-nlp", f"uid=bob,{PEOPLE}")
    assert (await it.questions.ask(user), user.groups) == (LoginState.GONE, [])
    slapd.group("gpu-nlp", zoe)
    assert (await it.questions.ask(user), user.groups) == (LoginState.CURRENT, ["nlp"])
    assert await it.refresh_user(user) is True
    slapd.remove(zoe)
    assert (await it.questions.ask(user), user.groups) == (LoginState.GONE, [])
    assert await it.refresh_user(user) is False


async def test_who_is_in_no_group_is_refused_with_a_remedy(logins: Any) -> None:
    it = logins()
    found = await sign_in(it, "bob", "right")
    with pytest.raises(HTTPError) as refused:
        await it.check_allowed("bob", found)
    assert (refused.value.status_code, "add a row to logins.groups" in refused.value.log_message) == (403, True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bind_password": "other"}, "logins.ldap.bindDn: 'cn=hai,dc=example,dc=org' is refused by ldaps://localhost"),
        ({"bind_dn": "", "bind_password": ""}, "logins.ldap."),
        ({"user_base": "ou=none,dc=example,dc=org"}, "logins.ldap.userBase: "),
        ({"group_base": "ou=none,dc=example,dc=org"}, "logins.ldap.groupBase: "),
        ({"user_filter": "(uid={user}"}, "logins.ldap.userFilter: "),
        ({"name_attribute": "sAMAccountName"}, "logins.ldap.nameAttribute: sAMAccountName is not there"),
        ({"address": "ldaps://localhost:1"}, "logins.ldap.address: ldaps://localhost:1 does not answer ("),
        ({"address": "ldaps://127.0.0.1:{tls}"}, "does not answer ("),
        ({"address": "ldap://localhost:{plain}", "start_tls": False}, "refuses to let"),
    ],
)
async def test_what_is_wrong_is_named_with_field_value_and_remedy(
    logins: Any, slapd: Slapd, given: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    if "address" in given:
        given = given | {"address": given["address"].format(tls=slapd.tls_port, plain=slapd.port)}
    it = logins(**given)
    it.log = logging.getLogger("logins")
    with pytest.raises(HTTPError) as refused:
        await sign_in(it, "ada", "right")
    assert refused.value.status_code == 503
    assert said in refused.value.log_message
    assert said in caplog.text
    assert READER_PASSWORD not in caplog.text + repr(it.directory._is)


async def test_a_certificate_of_nobody_is_not_believed(logins: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(HTTPError) as refused:
        await sign_in(logins(), "ada", "right")
    assert "does not answer" in refused.value.log_message


async def test_a_directory_that_hangs_takes_no_groups_and_holds_up_nobody(
    logins: Any, slapd: Slapd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory, "_CONNECT_S", 0.5)
    monkeypatch.setattr(directory, "_ANSWER_S", 1)
    it = logins()
    user = FakeUser("ada", await sign_in(it, "ada", "right"))
    slapd.send(signal.SIGSTOP)
    try:
        assert (await it.questions.ask(user), user.groups) == (LoginState.AWAY, ["cv"])
        with pytest.raises(Away):
            await it.ask_again("ada", {})
        # Requests do not wait for it now.
        assert await it.refresh_user(user) is True
        assert it.questions._open == {}
    finally:
        slapd.send(signal.SIGCONT)
    await until(
        "the directory to answer again", lambda: it.questions.ask(user), met=lambda found: found is LoginState.CURRENT
    )
