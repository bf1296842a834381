"""A Hub that was configured in a test leaves the process as it was."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from traitlets.config import Config

from hai_hub.config.settings import HubSettings
from hai_hub.install import install
from kit.one_hub import as_it_was


def all_that_may_change() -> dict[str, Any]:
    """Every name of JupyterHub's and tornado's modules and classes."""
    modules = {
        name: module for name, module in sys.modules.items() if name.partition(".")[0] in ("jupyterhub", "tornado")
    }
    classes = {
        f"{name}.{each.__name__}": each
        for name, module in modules.items()
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == name
    }
    return {
        f"{name}.{key}": value for name, each in {**modules, **classes}.items() for key, value in vars(each).items()
    }


def changed(before: dict[str, Any]) -> set[str]:
    return {name for name, value in all_that_may_change().items() if before.get(name, value) is not value}


def test_it_leaves_nothing_changed(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    for name in ("cookie_secret", "admin_password", "service_token", "spawner_token", "up_token"):
        (tmp_path / "secrets" / name).write_text("ab" * 32)
    settings = HubSettings(state_dir=tmp_path, user="ann", port=8123, hub_port=21001, service_port=21002)
    with as_it_was():
        install(Config(), settings)
    server = HTTPServer.configured_class()
    before = all_that_may_change()
    with as_it_was():
        install(Config(), settings)
        assert changed(before)
        assert HTTPServer.configured_class() is not server
    assert changed(before) == set()
    assert HTTPServer.configured_class() is server
