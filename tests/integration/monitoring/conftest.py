"""Debian's Prometheus and promtool, as `make helm` puts them into .venv/bin."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

ABSENT = "no {name}: on Debian `make helm` fetches it, elsewhere put it on PATH"


def _program(name: str) -> str:
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
    found = shutil.which(name, path=places)
    if found is None:
        pytest.skip(ABSENT.format(name=name))
    return found


@pytest.fixture(scope="session")
def promtool() -> str:
    return _program("promtool")


@pytest.fixture(scope="session")
def prometheus() -> str:
    return _program("prometheus")
