"""Slurm's commands in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from hai_slurm.commands import main
from unit.client import fake_platform as fakes
from unit.client.conftest import clean_environment, hai, platform

__all__ = ["clean_environment", "hai", "platform"]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def slurm(platform: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one of the commands in this process against the fake, as alice."""
    monkeypatch.setenv("HAI_URL", platform.url)
    monkeypatch.setenv("HAI_TOKEN", fakes.TOKEN)

    monkeypatch.delenv("HAI_RUNTIME_DIR", raising=False)

    def run(name: str, *words: str, stdin: str | bytes = "") -> tuple[int, str, str]:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code = main(name, list(words))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
