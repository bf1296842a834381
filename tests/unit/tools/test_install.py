"""`make` installs with uv, which pip brings; pip tries where uv fails. Neither installs what a lock does not name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import install


class Programs:
    """Stands for uv and pip: notes what is started, and lets those fail that it is told."""

    def __init__(self, failing: str = "") -> None:
        self.failing, self.started = failing, []

    def run(self, command: list[str], check: bool, env: dict[str, str] | None = None) -> Any:
        name = "pip" if "-m" in command else Path(command[0]).name
        self.started.append((name, command, env))
        status = 2 if name == self.failing else 0
        if check and status:
            raise subprocess.CalledProcessError(status, command)
        return subprocess.CompletedProcess(command, status)


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


def programs(monkeypatch: pytest.MonkeyPatch, failing: str = "") -> Programs:
    ran = Programs(failing)
    monkeypatch.setattr(install.subprocess, "run", ran.run)
    return ran


def names(ran: Programs) -> list[str]:
    return [name for name, _, _ in ran.started]


def test_uv_comes_by_pip_with_the_hashes_of_the_lock_and_installs(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://pip.example/simple")
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    ran = programs(monkeypatch)
    install.install("some.lock", "/other/bin/python")
    assert names(ran) == ["pip", "uv"]
    (_, brought, _), (_, installed, env) = ran.started
    assert brought[0] == sys.executable
    assert brought[-1] == str(prefix / ".uv.lock")
    assert "--require-hashes" in brought
    assert (prefix / ".uv.lock").read_text().startswith("uv==")
    assert "--require-hashes" in installed
    assert installed[installed.index("--python") + 1] == "/other/bin/python"
    assert installed[-2:] == ["-r", "some.lock"]
    assert env is not None
    assert env["UV_DEFAULT_INDEX"] == "https://pip.example/simple"


def test_uv_that_is_there_is_used_until_the_lock_names_another_one(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (prefix / "bin").mkdir()
    (prefix / "bin" / "uv").touch()
    (prefix / ".uv.lock").write_text(install.entry(install.ROOT / "requirements.lock", "uv"))
    ran = programs(monkeypatch)
    install.install("some.lock", sys.executable)
    assert names(ran) == ["uv"]
    (prefix / ".uv.lock").write_text("uv==0.0.1\n")
    install.install("some.lock", sys.executable)
    assert names(ran) == ["uv", "pip", "uv"]


def test_pip_tries_where_uv_fails(
    prefix: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = programs(monkeypatch, failing="uv")
    install.install("some.lock", "/other/bin/python")
    assert names(ran) == ["pip", "uv", "pip"]
    command = ran.started[-1][1]
    assert (command[0], command[-1]) == ("/other/bin/python", "some.lock")
    assert "--require-hashes" in command
    assert "uv could not install some.lock" in capsys.readouterr().err


def test_where_both_fail_the_status_is_that_of_pip(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs(monkeypatch, failing="pip")
    with pytest.raises(subprocess.CalledProcessError):
        install.install("some.lock", sys.executable)


def test_the_entry_of_a_package_is_its_version_and_its_hashes(tmp_path: Path) -> None:
    lock = tmp_path / "a.lock"
    lock.write_text("uvloop==1 \\\n    --hash=sha256:a\nuv==2 \\\n    --hash=sha256:b \\\n    --hash=sha256:c\nx==3\n")
    assert install.entry(lock, "uv") == "uv==2 \\\n    --hash=sha256:b \\\n    --hash=sha256:c\n"
    with pytest.raises(SystemExit, match=r"a\.lock has no entry for missing: run `make lock`"):
        install.entry(lock, "missing")
