"""What a verb says that has made a generation: the first one of an environment tells where that is."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest

from haienv.cli.outcome import built
from haienv.store.generations import manifest_or_none
from unit.haienv.envs_kit import env_of, publish

JSON = Namespace(json=True)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HAIENV_ROOT", "HAIENV_PATH", "HAIENV_USER", "HAI_URL", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def said_of(root: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of a new environment below a root."""
    env = env_of(root)
    built(JSON, env, publish(env), None)
    return capsys.readouterr().err


@pytest.mark.parametrize("at", ["root", "elsewhere"])
def test_a_new_environment_that_is_not_the_platforms_says_where_it_is(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], at: str
) -> None:
    root, place = home / "root", home / at
    place.mkdir()
    config = home / ".config/hai/config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"url": "http://h", "user": "ann", "haienv_root": str(place)}))
    where = f"users/ann/vision is in {root}, and tasks do not find it there: those of http://h are in {place};"
    said = said_of(root, capsys)
    assert (where in said) == bool(said) == (at == "elsewhere")
    monkeypatch.setenv("HAIENV_USER", "ann")
    assert said_of(root, capsys) == "", "the platform has said whose environments these are"


def test_later_generations_say_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = env_of(home / "root")
    publish(env)
    (home / ".config/hai").mkdir(parents=True)
    (home / ".config/hai/config.json").write_text('{"url": "http://h"}')
    before = manifest_or_none(env)
    built(JSON, env, publish(env), before)
    assert capsys.readouterr().err == ""


def test_a_platform_elsewhere_is_told_of_where_the_users_own_folder_is_taken(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = home / ".local/share/haienv"
    assert said_of(own, capsys) == "", "no platform is known"
    monkeypatch.setenv("HAI_URL", "https://hub.example")
    assert said_of(home / "shared", capsys) == "", "HAIENV_ROOT may name a folder that both machines see"
    said = said_of(own, capsys)
    assert f"is in {own}, and tasks do not find it there" in said
    assert "those of https://hub.example are not on this machine; `hai environments build create vision ...`" in said
