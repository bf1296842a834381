"""The folder of all environments, by the variables of a shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from haienv.shared.errors import Wrong
from haienv.store.layout import own_root, root_of
from haienv.store.login import login_of
from haienv.store.people import caller_of


def test_haienv_root_comes_before_the_originals_variable_and_the_users_own_folder(tmp_path: Path) -> None:
    given = {"HAIENV_ROOT": "/a", "HAIENV_PATH": "/b", "HOME": "/home/ann"}
    assert root_of(given) == Path("/a")
    assert root_of({**given, "HAIENV_ROOT": ""}) == Path("/b")
    assert root_of({"HOME": "/home/ann"}) == Path("/home/ann/.local/share/haienv")
    assert root_of({"HOME": "/home/ann", "XDG_DATA_HOME": "/data"}) == Path("/data/haienv")
    assert root_of({"HAIENV_ROOT": str(tmp_path / "new")}) == tmp_path / "new"


@pytest.mark.parametrize("variable", ["HAIENV_ROOT", "HAIENV_PATH"])
def test_a_root_that_is_no_folder_is_refused_by_the_name_of_its_variable(tmp_path: Path, variable: str) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(Wrong, match=f"{variable}: {file} is no folder; set it to the folder of all environments"):
        root_of({variable: str(file)})


@pytest.fixture
def logged_in(tmp_path: Path) -> dict[str, str]:
    """The variables of ann, whom `hai up` on this machine has logged in."""
    (tmp_path / "platform").mkdir()
    (tmp_path / ".config/hai").mkdir(parents=True)
    write(tmp_path, url="http://127.0.0.1:8000", user="ann-at-hub", token="x", haienv_root=f"{tmp_path}/platform")
    return {"HOME": str(tmp_path)}


def write(home: Path, **login: object) -> None:
    (home / ".config/hai/config.json").write_text(json.dumps(login))


def test_the_platform_that_hai_is_logged_in_to_names_the_root_and_the_user(
    logged_in: dict[str, str], tmp_path: Path
) -> None:
    assert root_of(logged_in) == tmp_path / "platform"
    assert caller_of(logged_in).name == "ann-at-hub"
    same = logged_in | {"HAI_URL": "http://127.0.0.1:8000/"}
    assert root_of(same) == tmp_path / "platform"
    moved = {"HOME": "/nowhere", "XDG_CONFIG_HOME": str(tmp_path / ".config")}
    assert root_of(moved) == tmp_path / "platform"


@pytest.mark.parametrize("variable", ["HAIENV_ROOT", "HAIENV_PATH"])
def test_a_variable_goes_before_the_login(logged_in: dict[str, str], tmp_path: Path, variable: str) -> None:
    assert root_of(logged_in | {variable: "/mine"}) == Path("/mine")
    assert caller_of(logged_in | {variable: "/mine"}).name != "ann-at-hub", "that user is the platform's"
    assert caller_of(logged_in | {variable: f"{tmp_path}/platform"}).name == "ann-at-hub"
    assert caller_of(logged_in | {"HAIENV_USER": "bob"}).name == "bob"


@pytest.mark.parametrize(
    ("variables", "login"),
    [
        ({"HAI_URL": "https://elsewhere.example"}, None),
        ({}, {"url": "https://elsewhere.example", "user": "ann", "token": "x"}),
        ({}, {"url": "http://127.0.0.1:8000", "user": "ann", "haienv_root": "/not/on/this/machine"}),
        ({}, {"url": "http://127.0.0.1:8000", "user": "ann", "haienv_root": "relative"}),
        ({}, {"url": "http://127.0.0.1:8000", "haienv_root": 7}),
    ],
    ids=["another platform for this shell", "remote", "gone", "no full path", "no text"],
)
def test_a_platform_elsewhere_names_no_folder_of_this_machine(
    logged_in: dict[str, str], tmp_path: Path, variables: dict[str, str], login: dict[str, object] | None
) -> None:
    if login is not None:
        write(tmp_path, **login)
    environ = logged_in | variables
    assert root_of(environ) == own_root(environ) == tmp_path / ".local/share/haienv"
    found = login_of(environ)
    assert found is not None
    assert found.root is None


@pytest.mark.parametrize("text", ["", "{", "[]", '"text"', "\xff"])
def test_a_damaged_login_is_none(logged_in: dict[str, str], tmp_path: Path, text: str) -> None:
    (tmp_path / ".config/hai/config.json").write_text(text, encoding="latin-1")
    assert login_of(logged_in) is None
    assert root_of(logged_in) == own_root(logged_in)


def test_a_users_name_that_is_no_name_of_a_folder_is_not_taken(logged_in: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, url="http://127.0.0.1:8000", user="../bob", haienv_root=f"{tmp_path}/platform")
    assert caller_of(logged_in).name != "../bob"
