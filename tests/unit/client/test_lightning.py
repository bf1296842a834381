"""The callback for Lightning, with a stand-in of the one class that it takes from there."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    stand_in = ModuleType("lightning.pytorch.callbacks")
    stand_in.Callback = type("Callback", (), {})  # type: ignore[attr-defined]
    for name in ("lightning", "lightning.pytorch"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "lightning.pytorch.callbacks", stand_in)
    monkeypatch.delitem(sys.modules, "hai_client.lightning", raising=False)
    found = importlib.import_module("hai_client.lightning")
    monkeypatch.delitem(sys.modules, "hai_client.lightning")
    return found


class Trainer:
    """Saves a file, or a folder as some strategies do, and writes down the order of what happens."""

    def __init__(self, order: list[str], *, zero: bool = True, folders: bool = False) -> None:
        self.is_global_zero, self.global_step = zero, 7
        self._order, self._folders = order, folders
        self.strategy = SimpleNamespace(barrier=lambda _: order.append("barrier"))

    def save_checkpoint(self, path: Path) -> None:
        self._order.append("save")
        if self._folders:
            path.mkdir()
            (path / "part").touch()
        else:
            path.write_text("new")


@pytest.fixture
def order(module: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    told = SimpleNamespace(
        should_suspend=lambda: True,
        saved=lambda step, path: found.append(f"saved {step} {path.name}"),
        suspended=lambda: found.append("suspended"),
        checkpoint_dir="/nowhere",
    )
    monkeypatch.setattr(module, "job", told)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "checkpoints"
    made.mkdir()
    return made


def test_without_a_notice_nothing_is_saved(
    module: Any, order: list[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(module.job, "should_suspend", lambda: False)
    callback = module.HaiCallback(folder)
    callback.on_train_batch_end(Trainer(order), None, None, 0)
    assert (order, callback.last, list(folder.iterdir())) == ([], None, [])


def test_the_checkpoint_is_there_before_it_is_reported_and_reported_before_any_rank_leaves(
    module: Any, order: list[str], folder: Path
) -> None:
    callback = module.HaiCallback(folder)
    callback.on_train_batch_end(Trainer(order), None)
    assert order == ["save", "saved 7 hai.ckpt", "barrier", "suspended"]
    assert callback.last == str(folder / "hai.ckpt")
    assert [path.name for path in folder.iterdir()] == ["hai.ckpt"], "no draft is left"


def test_other_ranks_save_too_and_leave_the_file_to_the_first(module: Any, order: list[str], folder: Path) -> None:
    module.HaiCallback(folder).on_train_batch_end(Trainer(order, zero=False))
    assert order == ["save", "barrier", "suspended"]


def test_a_folder_takes_the_place_of_the_one_before(module: Any, order: list[str], folder: Path) -> None:
    (folder / "hai.ckpt").mkdir()
    (folder / "hai.ckpt" / "old").touch()
    module.HaiCallback(folder).on_train_batch_end(Trainer(order, folders=True))
    assert (folder / "hai.ckpt" / "part").exists()
    assert (folder / "hai.ckpt.before-7" / "old").exists()


def test_without_a_folder_it_is_that_of_the_task(module: Any, order: list[str]) -> None:
    assert module.HaiCallback()._path == Path("/nowhere/hai.ckpt")
    assert order == []
