"""`hai login` and `hai whoami`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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
