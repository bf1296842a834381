"""The command haienv in this process, as ann, on environments that are made by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from haienv.cli import main


@dataclass
class Result:
    """What the command has printed, and its exit status."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Haienv = Callable[..., Result]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def haienv(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Iterator[Haienv]:
    for name in list(os.environ):
        if name.startswith(("HAIENV", "UV_", "PIP_", "XDG_", "HF_ENV")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name, value in {"ROOT": str(root), "USER": "ann", "GROUPS": "cv", "UV": "/no/such/uv"}.items():
        monkeypatch.setenv(f"HAIENV_{name}", value)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    mask = os.umask(0o022)

    def run(*words: str) -> Result:
        code = main(list(words))
        found = capsys.readouterr()
        assert "Traceback" not in found.err
        return Result(code, found.out, found.err)

    yield run
    # Verbs that write set it for their process.
    os.umask(mask)
