"""Slurm's commands in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from hai_client.cli.slurm import main
from unit.client import fake_platform as fakes

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def slurm(platform: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one of the commands in this process against the fake, as alice."""
    monkeypatch.setenv("HAI_URL", platform.url)
    monkeypatch.setenv("HAI_TOKEN", fakes.TOKEN)

    def run(name: str, *words: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = main(name, words)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
