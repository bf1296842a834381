"""The state folder."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from hai_hub.shared.errors import UpError
from hai_hub.shared.state import FORMAT, StateDir, checked_password, default_state_dir, haienv_root


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_looking_makes_nothing(tmp_path: Path) -> None:
    StateDir(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_a_newer_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(json.dumps({"format": FORMAT + 1, "new": True}))
    before = listing(tmp_path)
    with pytest.raises(UpError) as refused:
        StateDir(tmp_path)
    text = str(refused.value)
    assert refused.value.exit_code == 2
    assert "\n" not in text
    for word in (str(tmp_path), f"format {FORMAT + 1}", f"up to {FORMAT}", "--state-dir"):
        assert word in text
    assert listing(tmp_path) == before


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "x"}', '{"format": null}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(UpError, match=r"state\.json is damaged") as refused:
        StateDir(tmp_path)
    assert refused.value.exit_code == 2


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(UpError, match="is not a folder"):
        StateDir(tmp_path / "state")


def test_the_folder_and_its_secrets_are_private(tmp_path: Path) -> None:
    state = StateDir(tmp_path / "state")
    state.lock()
    state.secret("cookie_secret")
    state.unlock()
    assert stat.S_IMODE(state.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((state.path / "secrets").stat().st_mode) == 0o700
    assert stat.S_IMODE((state.path / "secrets" / "cookie_secret").stat().st_mode) == 0o600


def test_what_is_remembered_is_there_at_the_next_start(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    state.lock()
    state.remember(user="ann", hub_port=1, service_port=2, paused_by_up=True)
    state.unlock()
    again = StateDir(tmp_path).remembered
    assert (again.user, again.hub_port, again.service_port, again.paused_by_up) == ("ann", 1, 2, True)
    assert json.loads((tmp_path / "state.json").read_text())["format"] == FORMAT


def test_secrets_stay_the_same_and_a_new_password_replaces_the_old_one(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    state.lock()
    first = state.secret("admin_password")
    assert state.secret("admin_password") == first
    assert len(first) >= 8
    assert state.secret("admin_password", new="another one") == "another one"
    assert state.secret("admin_password") == "another one"
    assert state.secret("up_token") != state.secret("service_token")
    state.unlock()


def test_a_second_user_of_the_folder_is_told_who_has_it(tmp_path: Path) -> None:
    first, second = StateDir(tmp_path), StateDir(tmp_path)
    first.lock()
    with pytest.raises(UpError, match=r"another `hai up` \(process \d+\) uses") as refused:
        second.lock()
    assert refused.value.exit_code == 2
    first.unlock()
    second.lock()
    second.unlock()


@pytest.mark.parametrize("password", ["short", "1234567", " padded with spaces ", "with\ttab in it"])
def test_a_password_that_is_too_short_or_cannot_be_typed_is_refused(password: str) -> None:
    with pytest.raises(UpError, match="--password") as refused:
        checked_password(password)
    assert password not in str(refused.value)


def test_the_default_folder_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/x/state")
    assert default_state_dir() == Path("/x/state/hai")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/ann")
    assert default_state_dir() == Path("/home/ann/.local/state/hai")


def test_environments_are_where_those_who_use_them_may_enter() -> None:
    assert haienv_root(Path("/x/state/hai"), "") == Path("/x/state/hai/haienv")
    assert haienv_root(Path("/var/lib/hai"), "{username}") == Path("/var/lib/hai-haienv"), "the state folder is closed"
