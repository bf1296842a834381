"""Sinks: names of files in a folder, with apprise behind them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hai_scheduler.adapters.messaging.sinks import AppriseMessenger, SinkFolder
from hai_scheduler.ports.messengers import OutgoingMessage, Recipient, Undelivered
from kit.builders import T0

MESSAGE = OutgoingMessage(id="hai-1", user="ann", at=T0, subject="Task 7 (train) has failed.", lines=("ValueError",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"ops": "json://token@example.org\n", "empty": " \n", "..data": "x", "a b": "x"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "sub").mkdir()
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    return tmp_path


def apprise(monkeypatch: pytest.MonkeyPatch, *, known: bool = True, accepts: bool = True) -> list[tuple[str, Any]]:
    """Stand in for apprise; returns what it is asked for."""
    asked: list[tuple[str, Any]] = []

    class Apprise:
        def add(self, address: str) -> bool:
            asked.append(("add", address))
            return known

        def notify(self, **words: Any) -> bool:
            asked.append(("notify", words))
            return accepts

    module = ModuleType("apprise")
    module.Apprise = Apprise  # type: ignore[attr-defined]
    module.NotifyFormat = type("NotifyFormat", (), {"TEXT": "text"})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "apprise", module)
    return asked


def test_names_are_those_of_files_and_the_folder_may_be_missing(folder: Path) -> None:
    assert SinkFolder(folder).names() == ["binary", "empty", "ops"]
    assert SinkFolder(folder / "none").names() == ()
    assert SinkFolder(None).names() == ()


async def test_a_message_goes_to_the_address_in_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = apprise(monkeypatch)
    await AppriseMessenger(SinkFolder(folder)).send(Recipient(address="ops"), MESSAGE)
    body = "For ann: Task 7 (train) has failed.\nValueError"
    assert asked == [
        ("add", "json://token@example.org"),
        ("notify", {"title": "HAI", "body": body, "body_format": "text"}),
    ]


@pytest.mark.parametrize(
    ("name", "said", "hopeless"),
    [
        ("gone", "there is no sink 'gone' any more", True),
        ("../ops", "there is no sink", True),
        ("..data", "there is no sink", True),
        ("empty", "the file of sink empty is empty", False),
        ("binary", "cannot be read (UnicodeDecodeError)", False),
    ],
)
async def test_a_sink_without_an_address(folder: Path, name: str, said: str, hopeless: bool) -> None:
    with pytest.raises(Undelivered) as refused:
        await AppriseMessenger(SinkFolder(folder)).send(Recipient(address=name), MESSAGE)
    assert said in str(refused.value)
    assert refused.value.hopeless is hopeless


@pytest.mark.parametrize("wrong", ["known", "accepts"])
async def test_no_error_shows_the_address(folder: Path, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    apprise(monkeypatch, **{wrong: False})
    with pytest.raises(Undelivered, match="ops has not accepted") as refused:
        await AppriseMessenger(SinkFolder(folder)).send(Recipient(address="ops"), MESSAGE)
    assert "token" not in str(refused.value)


async def test_apprise_may_be_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(Undelivered, match=r"pip install|an admin installs 'hai-platform\[notify\]'"):
        await AppriseMessenger(SinkFolder(folder)).send(Recipient(address="ops"), MESSAGE)
