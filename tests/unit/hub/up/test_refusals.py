"""What `hai up` refuses before it starts anything."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hai_hub.shared.state import StateDir
from hai_hub.up import processes
from hai_hub.up.command import command, hub_environment


@pytest.fixture(autouse=True)
def _nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        pytest.fail("a process was started")

    monkeypatch.setattr(processes, "start", never)


def test_a_port_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        port = server.getsockname()[1]
        assert command(["--state-dir", str(tmp_path), "--port", str(port)]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), f"port {port}" in error, "--port" in error) == (1, True, True)


def test_a_folder_of_a_newer_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "state.json").write_text(json.dumps({"format": 99}))
    assert command(["--state-dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_a_folder_that_another_one_uses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = StateDir(tmp_path)
    state.lock()
    assert command(["--state-dir", str(tmp_path)]) == 2
    assert "another `hai up`" in capsys.readouterr().err
    state.unlock()


def test_the_hub_inherits_no_login_and_nothing_of_another_hub() -> None:
    env = hub_environment(
        {
            "HAI_TOKEN": "x",
            "HAI_URL": "x",
            "HOME": "/home/ann",
            "JUPYTERHUB_API_TOKEN": "x",
            "JPY_API_TOKEN": "x",
            "CONFIGPROXY_AUTH_TOKEN": "x",
            "PATH": "/bin",
        },
        Path("/state/settings.json"),
    )
    assert set(env) == {"HAI_HUB_SETTINGS", "HOME", "PATH", "PYTHONUNBUFFERED"}
    assert env["HAI_HUB_SETTINGS"] == "/state/settings.json"


def test_refusing_is_quick_because_jupyterhub_is_not_imported_for_it() -> None:
    code = "import sys, hai_hub.up.command; sys.exit('jupyterhub' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
