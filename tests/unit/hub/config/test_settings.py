"""The settings of a Hub and their file."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from hai_hub.config.settings import HubSettings


def test_what_is_saved_is_loaded_again(settings: HubSettings, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    settings = replace(settings, haienv_root=tmp_path / "envs")
    settings.save(file)
    assert HubSettings.load(file) == settings
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_neither_the_repr_nor_the_file_holds_a_secret(
    settings: HubSettings, tmp_path: Path, secrets: list[str]
) -> None:
    file = tmp_path / "settings.json"
    settings.save(file)
    shown = repr(settings) + file.read_text()
    assert not [secret for secret in secrets if secret in shown]


@pytest.mark.parametrize(
    ("ip", "bind_url", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80/", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://0.0.0.0:80/", "http://127.0.0.1:80"),
        ("::", "http://[::]:80/", "http://[::1]:80"),
        ("10.1.2.3", "http://10.1.2.3:80/", "http://10.1.2.3:80"),
    ],
)
def test_the_own_address_is_one_that_this_machine_can_reach(ip: str, bind_url: str, url: str, tmp_path: Path) -> None:
    made = HubSettings(state_dir=tmp_path, user="ann", ip=ip, port=80)
    assert (made.bind_url, made.url) == (bind_url, url)


def test_below_a_path_all_addresses_have_it(tmp_path: Path) -> None:
    made = HubSettings(state_dir=tmp_path, user="ann", port=80, hub_port=81, service_port=82, base_url="/lab/")
    assert (made.bind_url, made.url) == ("http://127.0.0.1:80/lab/", "http://127.0.0.1:80/lab")
    assert (made.hub_bind_url, made.hub_api_url) == ("http://127.0.0.1:81", "http://127.0.0.1:81/lab/hub/api")
    assert made.api_url == "http://127.0.0.1:82/lab/services/hai/api/v1"
    assert made.service_prefix == "/lab/services/hai/"


def test_an_unknown_setting_is_named(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"state_dir": "/x", "user": "ann", "prot": 1}')
    with pytest.raises(ValueError, match="prot is no setting"):
        HubSettings.load(file)


def test_without_the_variable_the_error_says_what_it_must_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HAI_HUB_SETTINGS", raising=False)
    with pytest.raises(ValueError, match="HAI_HUB_SETTINGS is not set"):
        HubSettings.from_environment()
