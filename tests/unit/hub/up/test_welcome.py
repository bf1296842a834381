"""What `hai up` says to type next works in a new terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hai_hub.up.command import _activation, _haienv_export


def test_an_environment_that_is_not_active_is_to_be_activated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").touch()
    (tmp_path / ".venv/bin/hai").touch(mode=0o755)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin")
    assert _activation() == ["  source .venv/bin/activate"]
    monkeypatch.setenv("PATH", str(tmp_path / ".venv/bin"))
    assert _activation() == [], "it is active already"


def test_outside_an_environment_there_is_nothing_to_activate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert _activation() == []


def test_the_folder_of_environments_is_told_where_the_shell_has_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAIENV_ROOT", "/mine")
    [line] = _haienv_export(Path("/var/lib/my hai/haienv"))
    assert line.split("   ")[0] == "  export HAIENV_ROOT='/var/lib/my hai/haienv'"
    monkeypatch.setenv("HAIENV_ROOT", "/var/lib/my hai/haienv")
    assert _haienv_export(Path("/var/lib/my hai/haienv")) == _haienv_export(None) == []
    monkeypatch.delenv("HAIENV_ROOT")
    assert _haienv_export(Path("/var/lib/my hai/haienv")) == _haienv_export(None) == []
