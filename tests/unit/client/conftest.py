from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hai_client.api import Client
from hai_client.cli import main
from hai_client.device_login import DeviceLogins
from hai_client.http import Transport
from unit.client import fake_platform as fakes
from unit.client.fake_server import serve


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing of the machine's own configuration reaches a test, and nothing is written outside its folder."""
    for name in list(os.environ):
        if name.startswith("HAI_TEST_"):  # what the tests themselves may use, such as another Python
            continue
        if name.startswith(("HAI_", "JUPYTERHUB_", "XDG_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "VIRTUAL_ENV", "CONDA_PREFIX", "HF_ENV_NAME", "HAIENV_ROOT", "HAIENV_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("PWD", str(work))
    return work


@pytest.fixture
def fake() -> ModuleType:
    return fakes


@pytest.fixture
def platform() -> Iterator[Any]:
    found, server = serve()
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(platform: Any) -> Client:
    base = f"{platform.url}{fakes.API}"
    return Client(transport=Transport(base, fakes.TOKEN, sleep=lambda _seconds: None))


@dataclass
class Result:
    code: int
    out: str
    err: str


Hai = Callable[..., Result]


@pytest.fixture
def hai(platform: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hai:
    """Run `hai` in this process against the fake, as alice."""
    monkeypatch.setenv("HAI_URL", platform.url)
    monkeypatch.setenv("HAI_TOKEN", fakes.TOKEN)
    # No test waits for a retry.
    monkeypatch.setattr(Transport.__init__, "__defaults__", _no_waits())
    monkeypatch.setitem(DeviceLogins.__init__.__kwdefaults__, "sleep", lambda _seconds: None)

    def run(*words: str, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = main(list(words))
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


def _no_waits() -> tuple[Any, ...]:
    defaults = Transport.__init__.__defaults__
    assert defaults is not None
    return tuple((lambda _seconds: None) if callable(item) else item for item in defaults)
