"""`hai up --unix-users`: what it needs, and what it tells the Hub and the service."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from traitlets.config import Config

from hai_hub.config.services import Role, service_command
from hai_hub.config.settings import HubSettings
from hai_hub.install import install
from hai_hub.shared.errors import UpError
from hai_hub.up import unix_users
from hai_hub.up.command import command
from hai_hub.up.options import parse
from hai_hub.up.unix_users import SYSTEM_STATE_DIR, require_account, require_rights


@pytest.fixture
def all_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unix_users, "lacking_rights", list)


def test_the_option_takes_accounts_of_the_users_names_or_by_a_template() -> None:
    assert parse([]).unix_users == ""
    assert parse(["--unix-users"]).unix_users == "{username}"
    assert parse(["--unix-users", "--port", "9000"]).unix_users == "{username}"
    assert parse(["--unix-users", "hub-{username}"]).unix_users == "hub-{username}"


def test_state_is_where_root_keeps_such_things_unless_another_folder_is_named() -> None:
    assert parse(["--unix-users"]).state_dir == SYSTEM_STATE_DIR
    assert parse(["--unix-users", "--state-dir", "/srv/hai"]).state_dir == Path("/srv/hai")


def test_who_may_not_is_told_what_is_needed_and_nothing_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(unix_users, "lacking_rights", lambda: ["CAP_SETGID", "CAP_SETUID"])
    state = tmp_path / "state"
    assert command(["--unix-users", "--state-dir", str(state)]) == 2
    said = capsys.readouterr().err
    assert "CAP_SETGID, CAP_SETUID is missing" in said
    assert "sudo hai up --unix-users" in said
    assert said.count("\n") == 1
    assert not state.exists()


@pytest.mark.usefixtures("all_rights")
def test_a_state_folder_behind_a_closed_one_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    # What lies above differs by machine: the first closed folder is named.
    with pytest.raises(UpError, match=r"is closed to them; choose another --state-dir, for example /var/lib/hai"):
        require_rights(closed / "state")


@pytest.mark.usefixtures("all_rights")
def test_a_python_that_users_cannot_start_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unix_users, "closed_folder", lambda path: "/closed" if "python" in path else None)
    monkeypatch.setattr("sys.executable", "/closed/venv/bin/python")
    with pytest.raises(UpError, match=r"need /closed/venv/bin/python, and /closed is closed to them; install HAI"):
        require_rights(Path("/var/lib/hai"))
    monkeypatch.setattr(unix_users, "closed_folder", lambda path: "/closed" if "hai_client" in path else None)
    with pytest.raises(UpError, match=r"need .*/hai_client, and /closed is closed to them; install HAI"):
        require_rights(Path("/var/lib/hai"))


def test_the_local_user_needs_an_account_that_is_not_roots() -> None:
    with pytest.raises(UpError, match=r"useradd --create-home hai-no-such-user.*; --user names the local user"):
        require_account("{username}", "hai-no-such-user")
    with pytest.raises(UpError, match=r"would run as 'root', which is root"):
        require_account("{username}", "root")
    with pytest.raises(UpError, match=r"would run as 'root', which is root"):
        require_account("root", "ann")


def test_hub_and_service_are_told(settings: HubSettings) -> None:
    chosen = replace(settings, unix_users="hub-{username}")
    roles: tuple[Role, ...] = ("loop", "api")
    for role in roles:
        assert "--unix-users" not in service_command(settings, role)
        words = service_command(chosen, role)
        assert words[words.index("--unix-users") + 1] == "hub-{username}"
    config = Config()
    install(config, chosen)
    assert config.HaiLocalSpawner.unix_users == "hub-{username}"
    settings.save(settings.state_dir / "s.json")
    assert json.loads((settings.state_dir / "s.json").read_text())["unix_users"] == ""


def test_servers_are_known_by_what_every_one_of_them_has(settings: HubSettings) -> None:
    assert settings.server_mark == f"HOME={settings.state_dir / 'home'}/"
    assert replace(settings, unix_users="x").server_mark == f"HAI_API_URL={settings.service_url}/services/hai/api/v1"


@pytest.mark.parametrize(
    ("template", "apart"), [("", False), ("{username}", True), ("hub-{username}", True), ("everybody", False)]
)
def test_users_are_apart_where_each_has_an_account(settings: HubSettings, template: str, apart: bool) -> None:
    assert replace(settings, unix_users=template).users_are_apart is apart
