"""`haienv config`: settings of one user and of all, and the original's words for variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.store import config
from unit.haienv.cli.conftest import Haienv
from unit.haienv.envs_kit import env_of, publish

A, B = "https://a.example/simple", "https://b.example/simple"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".config" / "haienv" / "config.toml"


@pytest.fixture
def everybody(root: Path) -> Path:
    root.mkdir()
    return root / "config.toml"


def test_a_setting_is_set_changed_and_removed(haienv: Haienv, own: Path) -> None:
    assert haienv("config", "set", "link_mode", "copy").out == f"link_mode is copy ({own})\n"
    haienv("config", "set", "link_mode", "clone")
    assert config.read(own) == {"link_mode": ("clone",)}
    assert haienv("config", "clear", "link_mode").out == f"link_mode is not set ({own})\n"
    assert not config.read(own).get("link_mode")


def test_a_setting_with_several_values_is_added_to_at_its_end_and_has_each_once(haienv: Haienv, own: Path) -> None:
    for value in (A, B, A):
        found = haienv("config", "append", "indexes", value, "--json")
    assert found.data == {"setting": "indexes", "values": [B, A], "file": str(own)}
    assert config.read(own)["indexes"] == (B, A)
    haienv("config", "set", "indexes", A)
    assert config.read(own)["indexes"] == (A,)


def test_other_settings_stay(haienv: Haienv, own: Path) -> None:
    haienv("config", "set", "indexes", A)
    haienv("config", "set", "link_mode", "copy")
    haienv("config", "clear", "indexes")
    assert {name: value for name, value in config.read(own).items() if value} == {"link_mode": ("copy",)}


def test_an_admin_sets_it_for_all_and_a_user_for_themselves(haienv: Haienv, own: Path, everybody: Path) -> None:
    haienv("config", "set", "--root", "link_mode", "copy")
    haienv("config", "set", "--root", "indexes", A)
    haienv("config", "set", "indexes", B)
    assert config.read(everybody) == {"indexes": (A,), "link_mode": ("copy",)}
    lines = {line.split()[0]: line.partition(" ")[2].strip() for line in haienv("config", "show").out.splitlines()}
    assert lines["link_mode"] == f"copy    ({everybody})"
    assert lines["indexes"].startswith(B)
    assert str(own) in lines["indexes"]
    assert lines["proxy"] == "-    (the proxy for http and https)"
    assert haienv("config", "show", "--json").data["files"] == [str(own), str(everybody)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["set", "colour", "red"], "config: 'colour' is not known; known are indexes, "),
        (["clear", "colour"], "config: 'colour' is not known; known are indexes, "),
        (["clear"], "config: None is not known; known are indexes, "),
        (["set"], "config: a setting and a value are needed: haienv config append"),
        (["set", "indexes"], "config: a setting and a value are needed"),
        (["set", "link_mode", "magic"], "link_mode: 'magic' is not one of hardlink"),
        (["append", "link_mode", "copy"], "link_mode: has one value only; write `haienv config set link_mode VALUE`"),
        (["append", "indexes", "ftp://x"], "indexes: "),
        (["set", "-n", "vision", "indexes", A], "variables of an environment are changed by `append` and `clear`"),
        (["append", "-n", "vision", "-k", "extra-search-dir", "-v", "/x"], "key: extra-search-dir would be a part"),
        (["append", "-n", "vision", "-k", "extra-search-bin-dir", "-v", "/x"], "install what is there as a package"),
        (["append", "-n", "vision", "-k", "colour", "-v", "A=1"], "key: 'colour' is not known; write -k extra-env"),
        (["append", "-n", "vision", "-k", "extra-environment", "-v", "1A=1"], "variable"),
        (["clear", "-n", "vision", "-k", "colour"], "key: 'colour' is not known"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(haienv: Haienv, own: Path, words: list[str], says: str) -> None:
    found = haienv("config", *words)
    assert found.code == 2
    assert says in found.err
    assert not own.exists()


def test_variables_of_an_environment_are_shown_in_the_originals_words(haienv: Haienv, root: Path) -> None:
    env = env_of(root)
    publish(env, variables={"A": "1", "B": "2"})
    found = haienv("config", "show", "-n", "vision")
    assert found.out == f"users/ann/vision: {env.folder}\n  A=1\n  B=2\n"
    data = haienv("config", "show", "-n", "vision", "-u", "ann", "--json").data
    assert data == {"environment": "users/ann/vision", "path": str(env.folder), "variables": {"A": "1", "B": "2"}}


@pytest.mark.parametrize("words", [["show"], ["append", "-k", "extra-environment", "-v", "A=1"]])
def test_an_environment_that_is_not_there_has_none(haienv: Haienv, words: list[str]) -> None:
    found = haienv("config", *words, "-n", "vision")
    assert found.code == 1
    assert "there is no " in found.err
