"""The command line of a rank, and the folders of the programs that it starts."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from hai_client.launching.starting import own_shims, slurm_commands


def test_the_programs_that_start_processes_are_in_the_client() -> None:
    assert (Path(own_shims()) / "hai-launch").is_file()


def test_slurms_commands_are_where_hai_slurm_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (Path(str(slurm_commands())) / "srun").is_file()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert slurm_commands() is None
