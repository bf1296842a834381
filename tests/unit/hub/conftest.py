"""Settings in a temporary state folder, with secrets that tests can look for."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_hub.config.settings import HubSettings
from kit.one_hub import _as_it_was  # noqa: F401  # for all tests of this folder

SECRETS = {
    "cookie_secret": "ab" * 32,
    "admin_password": "hunter22-hunter22",
    "service_token": "secret-service-token",
    "spawner_token": "secret-spawner-token",
    "up_token": "secret-up-token",
}


@pytest.fixture
def settings(tmp_path: Path) -> HubSettings:
    (tmp_path / "secrets").mkdir()
    for name, value in SECRETS.items():
        (tmp_path / "secrets" / name).write_text(value + "\n")
    return HubSettings(state_dir=tmp_path, user="ann", port=8123, hub_port=21001, service_port=21002)


@pytest.fixture
def secrets() -> list[str]:
    return list(SECRETS.values())
