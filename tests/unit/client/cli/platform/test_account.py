"""`hai login`, `hai logout` and `hai whoami`."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hai_client.backports import UTC
from hai_client.snapshots.machine import machine_id
from unit.client.conftest import Hai


def test_a_login_asks_for_all_rights_and_takes_what_there_is(hai: Hai, platform: Any, clean_environment: Path) -> None:
    result = hai("login", "--user", "alice", "--password-stdin", stdin="right\n")
    file = Path.home() / ".config/hai/config.json"
    assert result.out == f"logged in at {platform.url} as alice; the token is in {file}, for you alone to read\n"
    assert json.loads(file.read_text()) == {"url": platform.url, "user": "alice", "token": "made-alice"}
    asked = [call.body["scopes"] for call in platform.said("POST", "/tokens")]
    assert "custom:hai:admin" in asked[0]
    assert asked[-1] == list(platform.held_scopes)
    assert all("authorization" not in call.headers for call in platform.said("POST", "/tokens"))
    assert "HAI_TOKEN is set here and wins" in result.err


def test_an_admin_keeps_the_rights_of_an_admin(hai: Hai, platform: Any) -> None:
    platform.held_scopes += ("custom:hai:admin", "admin:users", "tokens")
    found = json.loads(hai("login", "--user", "root", "--password-stdin", "--json", stdin="right\n").out)
    assert "admin:users" in found["scopes"]
    assert "token" not in found
    assert len(platform.said("POST", "/tokens")) == 1


def test_a_wrong_password_is_refused_and_nothing_is_kept(hai: Hai, platform: Any) -> None:
    result = hai("login", "--user", "alice", "--password-stdin", stdin="wrong-hunter2\n")
    assert (result.code, result.out) == (3, "")
    assert "hunter2" not in result.err
    assert len(result.err.splitlines()) == 1
    assert not (Path.home() / ".config/hai/config.json").exists()
    assert len(platform.said("POST", "/tokens")) == 1


def test_a_token_is_checked_before_it_is_kept(hai: Hai, platform: Any, fake: Any) -> None:
    result = hai("login", "--token-stdin", stdin="made-up\n")
    assert (result.code, "made-up" in result.err) == (3, False)
    result = hai("login", "--token-stdin", stdin=f"{fake.TOKEN}\n")
    assert result.code == 0
    assert " as alice; " in result.out
    assert fake.TOKEN not in result.out + result.err


def test_what_was_logged_in_is_used_afterwards(hai: Hai, fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hai("login", "--token-stdin", stdin=f"{fake.TOKEN}\n")
    monkeypatch.delenv("HAI_TOKEN")
    monkeypatch.delenv("HAI_URL")
    assert hai("whoami").out.startswith("alice\n  at       http")


def test_whoami_says_which_account_processes_have(hai: Hai, platform: Any) -> None:
    groups = [{"gid": 20017, "name": ""}, {"gid": 3100, "name": "cv"}, {"gid": 3200, "name": "nlp"}]
    identity = {"name": "alice", "uid": 20017, "groups": groups, "home": "", "shell": "/bin/sh"}
    platform.who = {"identity": identity}
    assert hai("whoami").out.splitlines()[0] == "alice  uid 20017  groups 20017 cv(3100) nlp(3200)"
    assert hai("whoami", "--json").out.count("20017") == 2


def test_whoami_says_why_nothing_of_the_user_starts(hai: Hai, platform: Any) -> None:
    platform.who = {"identity": None, "no_identity": "no process is started for the user 'alice': uid 0 is root's"}
    first, _, third, *_ = hai("whoami").out.splitlines()
    assert first == "alice"
    assert third == "  runs as  nobody: no process is started for the user 'alice': uid 0 is root's"


@pytest.mark.parametrize(
    ("machine", "readable", "kept"),
    [(machine_id(), True, True), ("another", True, False), (None, True, False), (machine_id(), False, False)],
    ids=["here", "elsewhere", "kubernetes", "closed"],
)
def test_the_folder_of_environments_is_kept_where_the_platform_runs_here(
    hai: Hai, platform: Any, fake: Any, tmp_path: Path, machine: str | None, readable: bool, kept: bool
) -> None:
    root = tmp_path / "haienv"
    if readable:
        root.mkdir()
    platform.machine, platform.haienv_root = machine, str(root)
    assert hai("login", "--token-stdin", stdin=f"{fake.TOKEN}\n").code == 0
    found = json.loads((Path.home() / ".config/hai/config.json").read_text())
    assert found.get("haienv_root") == (str(root) if kept else None)


@pytest.fixture
def from_file(hai: Hai, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the file says who one is."""
    for name in ("HAI_TOKEN", "HAI_URL"):
        monkeypatch.delenv(name)


def keep(platform: Any, token: str, **beside: str) -> Path:
    """Write a login into the file, as `hai login` does."""
    file = Path.home() / ".config/hai/config.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"url": platform.url, "user": "alice", "token": token, **beside}))
    file.chmod(0o600)
    return file


def in_days(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


@pytest.mark.usefixtures("from_file")
def test_a_login_by_browser_prints_an_address_and_a_code_and_keeps_the_token(hai: Hai, platform: Any) -> None:
    platform.answers = ["authorization_pending", "slow_down", "yes"]
    result = hai("login", "--url", platform.url)
    assert result.err == (
        f"hai: open {platform.url}/hub/hai/device in a browser, on any machine, and type the code WXZB-QRST\n"
        "hai: the code is good for 10 minutes; waiting (Ctrl-C ends this)\n"
    )
    assert f"logged in at {platform.url} as alice until 2099-11-2" in result.out
    kept = json.loads((Path.home() / ".config/hai/config.json").read_text())
    assert (kept["token"], kept["ends"][:7]) == ("given-alice", "2099-11")
    assert "given-alice" not in result.out + result.err


def test_where_the_hub_has_no_logins_by_browser_a_password_is_asked_for(hai: Hai, platform: Any) -> None:
    platform.by_browser = False
    result = hai("login")
    assert (result.code, "give --user NAME" in result.err) == (2, True)
    assert hai("login", "--user", "alice", "--password-stdin", stdin="right\n").code == 0


def test_a_hub_whose_tokens_end_sooner_makes_one_that_ends_then(hai: Hai, platform: Any) -> None:
    platform.longest_s = 3600
    result = hai("login", "--user", "alice", "--password-stdin", stdin="right\n")
    assert (result.code, " as alice until 2099-11-2" in result.out) == (0, True), result.err
    # A right that is not held is still told apart.
    platform.held_scopes = ()
    result = hai("login", "--user", "alice", "--password-stdin", stdin="right\n")
    assert (result.code, "no right to use HAI" in result.err) == (3, True)


@pytest.mark.usefixtures("from_file")
@pytest.mark.parametrize(("ends", "revoked"), [({"ends": "2099-01-01T00:00:00+00:00"}, True), ({}, False)])
def test_a_new_login_revokes_the_one_that_the_file_had_if_it_was_a_logins(
    hai: Hai, platform: Any, ends: dict[str, str], revoked: bool
) -> None:
    """One without an end is not a login's: `hai up` or a person has made it, and other programs may have it."""
    platform.tokens["earlier"] = None
    keep(platform, "earlier", **ends)
    platform.answers = ["yes"]
    assert hai("login", "--url", platform.url).code == 0
    assert ("earlier" not in platform.tokens) is revoked
    assert "given-alice" in platform.tokens


@pytest.mark.usefixtures("from_file")
def test_the_earlier_login_is_revoked_where_it_was_made(hai: Hai, platform: Any) -> None:
    """At another platform: nobody could revoke it later, as the file holds one login."""
    from unit.client.fake_server import serve

    other, server = serve()
    try:
        other.tokens["earlier"] = None
        keep(other, "earlier", ends=in_days(20))
        platform.answers = ["yes"]
        assert hai("login", "--url", platform.url).code == 0
    finally:
        server.shutdown()
        server.server_close()
    assert other.tokens == {}


@pytest.mark.usefixtures("from_file")
def test_an_earlier_login_that_cannot_be_revoked_hinders_no_new_one(hai: Hai, platform: Any) -> None:
    file = keep(platform, "unknown-there", ends=in_days(20))
    platform.answers = ["yes"]
    assert hai("login", "--url", platform.url).code == 0
    assert json.loads(file.read_text())["token"] == "given-alice"


@pytest.mark.usefixtures("from_file")
@pytest.mark.parametrize(
    ("content", "mode"), [("{", 0o600), ("[]", 0o600), ('{"url": "nonsense"}', 0o600), ("{}", 0o644)]
)
def test_a_broken_file_is_written_anew(hai: Hai, platform: Any, content: str, mode: int) -> None:
    """Its error says to run `hai login --url`."""
    file = keep(platform, "x")
    file.write_text(content)
    file.chmod(mode)
    platform.answers = ["yes"]
    assert hai("login", "--url", platform.url).code == 0
    assert json.loads(file.read_text())["token"] == "given-alice"


@pytest.mark.usefixtures("from_file")
def test_whoami_says_until_when_as_the_hub_does_else_as_the_file_does(hai: Hai, platform: Any, fake: Any) -> None:
    keep(platform, fake.TOKEN, ends=in_days(10.5))
    assert "\n  until    " in hai("whoami").out
    assert ", in 10 d" in hai("whoami").out
    platform.tokens[fake.TOKEN] = in_days(20.5)
    assert ", in 20 d" in hai("whoami").out
    assert json.loads(hai("whoami", "--json").out)["ends"][:4] >= "2026"
    platform.tokens[fake.TOKEN] = None
    assert "until" not in hai("whoami").out, "it has no end"


@pytest.mark.usefixtures("from_file")
@pytest.mark.parametrize("ends", ["", "soon", "2026-99-99", "9" * 5000, "\x1b[2J", "0001-01-01T00:00:00"])
def test_an_end_that_is_no_time_is_left_out(hai: Hai, platform: Any, fake: Any, ends: str) -> None:
    keep(platform, fake.TOKEN, ends=ends)
    result = hai("whoami")
    assert (result.code, result.err) == (0, "")
    assert "\x1b" not in result.out


@pytest.mark.usefixtures("from_file")
def test_an_end_without_a_zone_is_local_time(hai: Hai, platform: Any, fake: Any) -> None:
    keep(platform, fake.TOKEN, ends="2099-11-21T04:00:00")
    assert "  until    2099-11-21 04:00:00, " in hai("whoami").out


@pytest.mark.usefixtures("from_file")
def test_logout_revokes_and_forgets_and_a_second_one_says_so(hai: Hai, platform: Any) -> None:
    file = keep(platform, "good", ends=in_days(20))
    platform.tokens["good"] = None
    result = hai("logout")
    assert result.out == (f"logged out at {platform.url}: the token is revoked, and gone from {file}\n")
    assert platform.tokens == {}
    assert "good" not in file.read_text()
    result = hai("logout")
    assert (result.code, result.out) == (0, "no login is kept here\n")
    assert json.loads(hai("logout", "--json").out) == {"url": platform.url, "revoked": False}
    file.unlink()
    assert hai("logout").out == "no login is kept here\n"


@pytest.mark.usefixtures("from_file")
def test_logout_with_a_token_that_the_hub_does_not_know_forgets_it(hai: Hai, platform: Any) -> None:
    file = keep(platform, "ended", ends=in_days(-1))
    assert "the token was not good any more, and gone from" in hai("logout").out
    assert "ended" not in file.read_text()


@pytest.mark.usefixtures("from_file")
@pytest.mark.parametrize("status", [403, 404, 502])
def test_a_token_that_may_still_be_good_stays_in_the_file(hai: Hai, platform: Any, fake: Any, status: int) -> None:
    """A proxy that refuses, an older Hub, a Hub that is away: who forgot the token could not revoke it any more."""

    def refuse(_call: Any) -> None:
        raise fake.Refuse(status, "page", "<html>")

    file = keep(platform, "good")
    platform.before = [refuse] * 30
    result = hai("logout")
    assert (result.code > 0, result.out) == (True, "")
    assert "good" in file.read_text()


@pytest.mark.usefixtures("from_file")
def test_logout_where_no_hub_is_leaves_the_login(hai: Hai, platform: Any, clean_environment: Path) -> None:
    from kit.ports import free_port

    platform.url = f"http://127.0.0.1:{free_port()}"
    file = keep(platform, "good")
    result = hai("logout")
    assert (result.code, "cannot reach" in result.err) == (4, True)
    assert "good" in file.read_text()
