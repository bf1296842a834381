from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from hai_client import settings
from hai_client.errors import Invalid, NotLoggedIn
from hai_client.settings import Settings

HERE = "http://127.0.0.1:8000"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def test_the_file_is_written_for_its_owner_alone_and_read_back(env: dict[str, str]) -> None:
    path = settings.save(Settings(HERE, "abc", "alice"), environ=env)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert settings.load(environ=env) == Settings(HERE, "abc", "alice", str(path))
    assert [item.name for item in path.parent.iterdir()] == ["config.json"]


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_nobody_else_may_put_another_folder_in_its_place(env: dict[str, str], mask: int) -> None:
    before = os.umask(mask)
    try:
        path = settings.save(Settings(HERE, "abc"), environ=env)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path.parents[1], path.parent, path)] == [0o700, 0o700, 0o600]


def test_writing_again_tightens_a_file_and_folder_that_were_open(env: dict[str, str]) -> None:
    path = settings.save(Settings(HERE, "abc"), environ=env)
    path.chmod(0o644)
    path.parent.chmod(0o755)
    settings.save(Settings(HERE, "def"), environ=env)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_without_xdg_the_file_is_below_home(tmp_path: Path) -> None:
    assert settings.config_path({"HOME": str(tmp_path)}) == tmp_path / ".config/hai/config.json"
    relative = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "not/absolute"}
    assert settings.config_path(relative) == tmp_path / ".config/hai/config.json"


def test_a_token_is_never_shown(env: dict[str, str]) -> None:
    found = settings.load(url=HERE, token="very-secret", environ=env)
    assert "very-secret" not in repr(found)


def test_arguments_win_over_environment_which_wins_over_the_file(env: dict[str, str]) -> None:
    settings.save(Settings(HERE, "of-file", "alice"), environ=env)
    env |= {"HAI_URL": "https://env.example", "HAI_TOKEN": "of-env"}
    assert settings.load(environ=env) == Settings("https://env.example", "of-env", None, "HAI_TOKEN")
    assert settings.load(url="https://arg.example", token="of-arg", environ=env) == Settings(
        "https://arg.example", "of-arg", None, "argument"
    )


def test_the_token_in_the_file_is_for_the_address_in_the_file_alone(env: dict[str, str]) -> None:
    settings.save(Settings(HERE, "of-file"), environ=env)
    assert settings.load(url="https://elsewhere.example", environ=env).token is None
    assert settings.load(environ={**env, "HAI_URL": "https://elsewhere.example"}).token is None
    assert settings.load(url=HERE + "/", environ=env).token == "of-file"


def test_inside_a_server_of_the_hub_its_own_token_is_used_with_hai_url_alone(env: dict[str, str]) -> None:
    env["JUPYTERHUB_API_TOKEN"] = "of-server"
    with pytest.raises(NotLoggedIn):
        settings.load(environ=env)
    env["HAI_URL"] = HERE
    assert settings.load(environ=env).token == "of-server"
    assert settings.load(url="https://elsewhere.example", environ=env).token is None


def test_without_any_address_the_remedy_is_named(env: dict[str, str]) -> None:
    with pytest.raises(NotLoggedIn, match="hai login --url"):
        settings.load(environ=env)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://h:8000", "http://h:8000"),
        (" http://h:8000/ ", "http://h:8000"),
        ("https://h/jupyter/", "https://h/jupyter"),
        ("http://h:8000/hub/home", "http://h:8000"),
        ("https://h/jupyter/hub/token?x=1#y", "https://h/jupyter"),
        ("http://h/services/hai/api/v1", "http://h"),
        ("http://h/user/alice/lab", "http://h"),
        ("http://h/github", "http://h/github"),
    ],
)
def test_an_address_is_brought_into_its_one_form(text: str, url: str) -> None:
    assert settings.check_url(text) == url


@pytest.mark.parametrize(
    "text", ["h:8000", "localhost:8000", "", "ftp://h", "http://", "http://h:port", "http://a b", "//h"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match=r"write for example http://127\.0\.0\.1:8000"):
        settings.check_url(text)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(Invalid) as caught:
        settings.check_url("http://alice:hunter2@h")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("content", ["{", "[]", '{"url": 1}', "\xff"])
def test_a_broken_file_is_named_with_a_remedy(env: dict[str, str], content: str) -> None:
    path = settings.save(Settings(HERE, "abc"), environ=env)
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(Invalid, match="hai login") as caught:
        settings.load(environ=env)
    assert str(path) in caught.value.message


def test_a_file_that_others_can_read_is_refused(env: dict[str, str]) -> None:
    path = settings.save(Settings(HERE, "abc"), environ=env)
    path.chmod(0o644)
    with pytest.raises(Invalid, match="chmod 600"):
        settings.load(environ=env)


def test_a_broken_file_does_not_disturb_a_user_who_does_not_need_it(env: dict[str, str]) -> None:
    settings.save(Settings(HERE, "abc"), environ=env).write_text("{")
    env |= {"HAI_URL": HERE, "HAI_TOKEN": "of-env"}
    assert settings.load(environ=env).token == "of-env"


def test_a_token_with_a_line_break_is_refused_and_not_repeated(env: dict[str, str]) -> None:
    with pytest.raises(Invalid) as caught:
        settings.load(url=HERE, token="abc\r\nX-Evil: 1", environ=env)
    assert "Evil" not in str(caught.value)


def test_a_folder_that_cannot_be_written_is_named(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file is in the way")
    with pytest.raises(Invalid, match="XDG_CONFIG_HOME"):
        settings.save(Settings(HERE, "abc"), environ=env)


def test_the_file_is_plain_json(env: dict[str, str]) -> None:
    path = settings.save(Settings(HERE, "abc", "alice"), environ=env)
    assert json.loads(path.read_text()) == {"url": HERE, "user": "alice", "token": "abc"}


def test_a_task_is_told_that_it_has_no_login(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "HAI_RUN_ID": "41.1"}
    with pytest.raises(NotLoggedIn, match="a task has no login, and speaks of itself alone"):
        settings.load(environ=environ)
    assert settings.load(environ={**environ, "HAI_URL": "http://hub", "HAI_TOKEN": "secret"}).url == "http://hub"
