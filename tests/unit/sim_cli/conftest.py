"""A small trace for the verbs of `hai sim`."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_scheduler.sim_cli import command


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Forty jobs for four nodes."""
    path = str(tmp_path / "trace.jsonl")
    assert command(["generate", "--tasks", "40", "--load", "0.9", "--nodes", "4", "--seed", "5", "-o", path]) == 0
    return path
