"""The callback for Hugging Face's Trainer, with a stand-in of the one class that it takes from there."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    stand_in = ModuleType("transformers")
    stand_in.TrainerCallback = type("TrainerCallback", (), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", stand_in)
    monkeypatch.delitem(sys.modules, "hai_client.transformers", raising=False)
    found = importlib.import_module("hai_client.transformers")
    monkeypatch.delitem(sys.modules, "hai_client.transformers")
    return found


class Job:
    """The in-job API: whether there is a notice, and what it was told."""

    def __init__(self, *, notice: bool) -> None:
        self.notice = notice
        self.told: list[Any] = []

    def should_suspend(self) -> bool:
        return self.notice

    def saved(self, step: int, path: Path) -> None:
        self.told.append((step, path))

    def suspended(self) -> None:
        self.told.append("suspended")


def checkpoint(folder: Path, name: str, *, complete: bool = True) -> None:
    (folder / name).mkdir()
    if complete:
        (folder / name / "trainer_state.json").touch()


def test_the_last_checkpoint_is_the_complete_one_with_the_highest_step(module: Any, tmp_path: Path) -> None:
    assert module.last_checkpoint(tmp_path) is None
    assert module.last_checkpoint(tmp_path / "missing") is None
    for step in (9, 100, 20):
        checkpoint(tmp_path, f"checkpoint-{step}")
    checkpoint(tmp_path, "checkpoint-300", complete=False)
    checkpoint(tmp_path, "checkpoint-best")
    assert module.last_checkpoint(tmp_path) == str(tmp_path / "checkpoint-100")


@pytest.mark.parametrize("notice", [False, True])
def test_a_notice_has_the_trainer_save_before_it_evaluates(
    module: Any, monkeypatch: pytest.MonkeyPatch, notice: bool
) -> None:
    monkeypatch.setattr(module, "job", Job(notice=notice))
    control = SimpleNamespace(should_save=False, should_evaluate=True)
    assert module.HaiCallback().on_step_end(None, None, control, model=None) is control
    assert (control.should_save, control.should_evaluate) == (notice, not notice)


@pytest.mark.parametrize(
    ("notice", "zero", "told"),
    [
        (False, True, [(7, "checkpoint-7")]),
        (True, True, [(7, "checkpoint-7"), "suspended"]),
        (True, False, ["suspended"]),
        (False, False, []),
    ],
)
def test_rank_0_reports_what_was_saved_and_all_ranks_leave_after_a_notice(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, notice: bool, zero: bool, told: list[Any]
) -> None:
    job = Job(notice=notice)
    monkeypatch.setattr(module, "job", job)
    callback = module.HaiCallback()
    callback.on_step_end(None, None, SimpleNamespace(should_save=False, should_evaluate=False))
    state = SimpleNamespace(is_world_process_zero=zero, global_step=7)
    callback.on_save(SimpleNamespace(output_dir=str(tmp_path), world_size=1), state, None)
    assert job.told == [one if one == "suspended" else (one[0], tmp_path / one[1]) for one in told]
