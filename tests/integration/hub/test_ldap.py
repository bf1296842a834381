"""Signing in by Debian's slapd: passwords, groups, and what is said when something is wrong."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import ldap3
import pytest
from tornado.web import HTTPError

from hai_hub.logins import directory
from hai_hub.logins.directory import Directory, filled_in
from hai_hub.logins.ldap import MOST_WAITING, LdapAuthenticator
from hai_hub.logins.questions import Away, LoginState
from kit.logins.slapd import GROUPS, PEOPLE, READER, READER_PASSWORD, Slapd
from kit.logins.users import FakeUser
from kit.waiting import PATIENCE, until

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
        made.person("zoë", "pässword", homeDirectory="/home/z")
        made.person("twin", "right")
        made.add(f"cn=twin,{PEOPLE}", ["inetOrgPerson"], cn="twin", sn="x", uid="twin", userPassword="right")
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
        # What no directory takes, or ldap3 does not: it is a wrong name or password, and no trouble of the directory.
        ("x" * 1_000_000, "right", None),
        ("ada\ud800", "right", None),
        ("\0", "right", None),
        ("ada", "\ud800", None),
        ("ada", "\u00ad", None),
        ("ada", "\u200b\ufe0f", None),
        ("ada", "\x07", None),
        ("ada", "\u0221", None),
        ("ada", "x" * 1_000_000, None),
        ("zoë", "pässword", "zoë"),
        # Two people have that name, or one has two.
        ("twin", "right", None),
        ("{dn}", "right", None),
    ],
)
async def test_a_password_is_right_or_not(logins: Any, name: str, password: str, who: str | None) -> None:
    found = await sign_in(logins(), name, password)
    assert (found and found["name"]) == who


@pytest.mark.parametrize("name", ["ada2", "ada3"])
async def test_of_several_names_none_is_taken(logins: Any, slapd: Slapd, name: str) -> None:
    """Which one a directory says first is its own affair, and one may be another person's."""
    dn = f"cn=two,{PEOPLE}"
    slapd.add(dn, ["inetOrgPerson"], cn="two", sn="x", uid=["ada2", "ada3"], userPassword="right")
    try:
        with pytest.raises(HTTPError, match="nameAttribute: uid has several values at"):
            await sign_in(logins(), name, "right")
    finally:
        slapd.remove(dn)


@pytest.mark.parametrize("status", [19, 32, 48, 49, 50, 53])
async def test_a_user_whom_the_directory_keeps_out_is_no_trouble_of_the_directory(
    logins: Any, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """One who is locked, for example."""
    bind = ldap3.Connection.bind

    def locked(self: Any, **given: Any) -> bool:
        if self.user == READER:
            return bool(bind(self, **given))
        self.result = {"result": status, "description": "locked"}
        return False

    monkeypatch.setattr(ldap3.Connection, "bind", locked)
    assert await sign_in(logins(), "ada", "right") is None


async def test_a_directory_that_lets_anybody_in_without_a_password_is_asked_nothing(
    logins: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Active Directory does (RFC 4513, 5.1.2). Neither an empty password nor an entry without a name gets there."""
    binds: list[Any] = []
    bind = ldap3.Connection.bind

    def friendly(self: Any, **given: Any) -> bool:
        if self.user == READER:
            return bool(bind(self, **given))
        binds.append(self.password)
        self.result = {"result": 49, "description": "invalidCredentials"}
        return not self.password

    monkeypatch.setattr(ldap3.Connection, "bind", friendly)
    it = logins()
    for password in ("", "\0", "\0right", "\u00ad", "\u200b", "\ud800"):
        assert await sign_in(it, "ada", password) is None, ascii(password)
    assert all(binds)
    found = it.directory.find("ada")
    monkeypatch.setattr(it.directory, "_found", lambda *_: replace(found, dn=""))
    assert await sign_in(it, "ada", "right") is None


def test_what_is_filled_into_a_filter_is_filled_in_once_and_says_nothing_there() -> None:
    assert filled_in("(member={dn})", dn="uid={user},ou=x", user="ada") == "(member=uid={user},ou=x)"
    assert filled_in("(&(uid={user})(x={y}))", user="*)(a=\\\0{dn}") == "(&(uid=\\2a\\29\\28a=\\5c\\00{dn})(x={y}))"


async def test_a_refusal_takes_whole_seconds_whoever_is_named(logins: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else how long it took would tell who is a user."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    it = logins()
    monkeypatch.setattr(it, "_sleep", sleep)
    monkeypatch.setattr(it, "_clock", iter([0.0, 0.25, 0.0, 1.5, 0.0]).__next__)
    for name, password in (("ada", "wrong"), ("nobody", "wrong"), ("ada", "right")):
        await sign_in(it, name, password)
    assert slept == [0.75, 0.5]


async def test_a_flood_of_logins_at_a_directory_that_hangs_waits_in_no_endless_row(
    logins: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = logins()
    answers = threading.Event()
    monkeypatch.setattr(it.directory, "signed_in", lambda *_: answers.wait(PATIENCE) and None)
    row = [asyncio.ensure_future(sign_in(it, f"name{number}", "x")) for number in range(MOST_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(HTTPError) as refused:
        await sign_in(it, "ada", "right")
    assert refused.value.status_code == 429
    # What the Hub does in threads otherwise goes on.
    assert await asyncio.to_thread(lambda: "done") == "done"
    answers.set()
    assert set(await asyncio.gather(*row)) == {None}


async def test_half_of_the_groups_are_not_taken_for_all(logins: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    it = logins()
    user = FakeUser("ada", await sign_in(it, "ada", "right"))
    check = Directory._check

    def limited(self: Any, connection: Any, setting: str, *given: Any) -> None:
        if setting == "groupBase":
            connection.result = {"result": 4, "description": "sizeLimitExceeded"}
        check(self, connection, setting, *given)

    monkeypatch.setattr(Directory, "_check", limited)
    assert (await it.questions.ask(user), user.groups) == (LoginState.AWAY, ["cv"])


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
