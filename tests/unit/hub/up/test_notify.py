"""Telling the service manager that the platform is ready."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from hai_hub.up.notify import Notify


@pytest.mark.parametrize("abstract", [False, True])
def test_the_manager_is_told_once_it_is_ready_and_children_do_not_know_it(
    abstract: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"@{tmp_path}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name.replace("@", "\0"))
        manager.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        notify = Notify()
        assert notify.is_service
        assert "NOTIFY_SOCKET" not in os.environ
        with pytest.raises(BlockingIOError):
            manager.recv(100)
        notify.ready()
        assert manager.recv(100) == b"READY=1"


def test_at_a_terminal_there_is_nobody_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify = Notify()
    assert not notify.is_service
    notify.ready()


def test_a_manager_that_has_gone_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    Notify().ready()
    assert "cannot be told that HAI is ready" in capsys.readouterr().err
