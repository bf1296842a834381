"""What `hai up` says to type next works in a new terminal."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from hai_hub.up import welcome
from hai_hub.up.welcome import activation, haienv_export, nodes_of, real_gpus, training


def test_an_environment_that_is_not_active_is_to_be_activated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").touch()
    (tmp_path / ".venv/bin/hai").touch(mode=0o755)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin")
    assert activation() == ["  source .venv/bin/activate"]
    monkeypatch.chdir("/")
    assert activation() == [f"  source {tmp_path}/.venv/bin/activate"], "the folder of services"
    monkeypatch.setenv("PATH", str(tmp_path / ".venv/bin"))
    assert activation() == [], "it is active already"


def test_a_link_on_path_is_found_without_activating(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool, linked = tmp_path / "my tools/hai-client", tmp_path / "linked"
    (tool / "bin").mkdir(parents=True)
    linked.mkdir()
    (tool / "bin/activate").touch()
    (tool / "bin/hai").touch(mode=0o755)
    monkeypatch.setattr(sys, "prefix", str(tool))
    monkeypatch.setenv("PATH", str(linked))
    assert activation() == [f"  source '{tool}/bin/activate'"], "a path with a space is one word"
    (linked / "hai").symlink_to(tool / "bin/hai")
    assert activation() == []


def test_the_training_to_try_is_one_that_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "my site/hai_lab"
    (package / "example_files").mkdir(parents=True)
    spec = ModuleSpec("hai_lab", None, origin=str(package / "__init__.py"))
    monkeypatch.setattr(welcome, "find_spec", {"hai_lab": spec}.get)
    assert training() == "'my site/hai_lab/example_files/train_digits.py'"
    monkeypatch.chdir("/")
    assert training() == f"'{package}/example_files/train_digits.py'"
    monkeypatch.chdir(Path(__file__).parents[4])
    assert training() == "examples/train_digits.py"


def test_outside_an_environment_there_is_nothing_to_activate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert activation() == []


def test_the_folder_of_environments_is_told_where_the_shell_has_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAIENV_ROOT", "/mine")
    [line] = haienv_export(Path("/var/lib/my hai/haienv"))
    assert line.split("   ")[0] == "  export HAIENV_ROOT='/var/lib/my hai/haienv'"
    monkeypatch.setenv("HAIENV_ROOT", "/var/lib/my hai/haienv")
    assert haienv_export(Path("/var/lib/my hai/haienv")) == haienv_export(None) == []
    monkeypatch.delenv("HAIENV_ROOT")
    assert haienv_export(Path("/var/lib/my hai/haienv")) == haienv_export(None) == []


@pytest.mark.parametrize(
    ("gpus", "real", "said"),
    [
        ([1, 1, 1, 1], 0, "4, each with 1 simulated GPU"),
        ([8, 8], 16, "2, each with 8 GPUs"),
        ([8, 8], 8, "2, each with 8 simulated GPUs"),
        ([1], 1, "1, with 1 GPU"),
        ([4], 0, "1, with 4 simulated GPUs"),
        ([4, 2], 8, "2, with 6 GPUs in all"),
        ([0, 0], 0, "2"),
    ],
)
def test_the_nodes_are_told_with_the_gpus_of_each(gpus: list[int], real: int, said: str) -> None:
    assert nodes_of(gpus, real) == said


@pytest.mark.parametrize(
    ("count", "patience_s", "found"),
    [("print(3)", 60.0, 3), ("raise SystemExit('no driver')", 60.0, 0), ("import time; time.sleep(600)", 0.1, 0)],
    ids=["answers", "none", "hangs"],
)
def test_a_driver_that_hangs_does_not_hold_up_the_start(
    count: str, patience_s: float, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(welcome, "_COUNT", count)
    assert real_gpus(patience_s) == found
