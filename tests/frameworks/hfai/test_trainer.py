"""`hfai.checkpoint.init` and `try_save` in one process: what is written, restored and refused."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

from frameworks.hfai.trainings import equal, training  # noqa: E402
from hfai import checkpoint  # noqa: E402
from hfai.checkpoint import _files  # noqa: E402


@pytest.fixture(autouse=True)
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save at the end of every step."""
    monkeypatch.setenv("HFAI_SAVE_MINUTES", "1e-9")


def steps(model: Any, optimizer: Any, scheduler: Any, first: int, last: int) -> None:
    for step in range(first, last):
        x = torch.arange(6.0).reshape(2, 3) + step
        model(x).pow(2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        model.try_save(0, step + 1, others=(np.float32(0.5), [step]))


def test_it_resumes_where_it_was_random_numbers_included(tmp_path: Path) -> None:
    path = tmp_path / "deep/latest.pt"
    whole = training()
    assert checkpoint.init(*whole, ckpt_path=path) == (0, 0, None)
    steps(*whole, 0, 5)
    path.unlink()

    first = training()
    checkpoint.init(*first, ckpt_path=path)
    steps(*first, 0, 3)
    second = training()
    assert checkpoint.init(*second, ckpt_path=path) == (0, 3, (0.5, [2]))
    torch.rand(7)  # whatever else draws numbers before the first step
    with torch.no_grad():
        second[0].eval()(torch.ones(1, 3))
    second[0].train()
    averaged = copy.deepcopy(second[0])
    steps(*second, 3, 4)
    with torch.random.fork_rng():
        # A copy draws numbers as the model itself does, and sets none back.
        assert after(averaged) == after(second[0])
    steps(*second, 4, 5)
    assert equal(second[0], whole[0])
    assert second[2].state_dict() == whole[2].state_dict()


def after(model: Any) -> list[int]:
    """The state of the generator after a step that began with a state of its own."""
    torch.manual_seed(99)
    model(torch.ones(1, 3))
    state: list[int] = torch.get_rng_state().tolist()
    return state


def test_zero_minutes_mean_only_when_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HFAI_SAVE_MINUTES", "0")
    made = training()
    checkpoint.init(*made, ckpt_path=tmp_path / "latest.pt")
    steps(*made, 0, 2)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("HFAI_SAVE_MINUTES", "often")
    with pytest.raises(ValueError, match="HFAI_SAVE_MINUTES is 'often'"):
        checkpoint.init(*made, ckpt_path=tmp_path / "latest.pt")


def test_a_failed_writing_leaves_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "latest.pt"
    made = training()
    checkpoint.init(*made, ckpt_path=path)
    steps(*made, 0, 1)
    before = path.read_bytes()

    def fail(_state: Any, file: Any) -> None:
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(OSError, match="No space left"):
        made[0].try_save(0, 2)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["latest.pt"]


class Harmful:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self._path),))


def test_what_cannot_be_read_back_is_refused_at_the_first_step(tmp_path: Path) -> None:
    made = training()
    checkpoint.init(*made, ckpt_path=tmp_path / "latest.pt")
    with pytest.raises(_files.NotPlain, match="others cannot be kept in a checkpoint"):
        made[0].try_save(0, 1, others={"best": Harmful(tmp_path / "made")})
    assert list(tmp_path.iterdir()) == []


class Odd:
    """A scheduler whose state is a thing of its own."""

    def state_dict(self) -> dict[str, Any]:
        return {"me": self}


def test_a_scheduler_that_cannot_be_kept_is_refused_at_the_start(tmp_path: Path) -> None:
    model, optimizer, _ = training()
    with pytest.raises(_files.NotPlain, match="scheduler cannot be kept in a checkpoint"):
        checkpoint.init(model, optimizer, Odd(), ckpt_path=tmp_path / "latest.pt")


def test_a_checkpoint_with_a_program_in_it_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "latest.pt"
    torch.save({"model": Harmful(tmp_path / "made")}, path)
    with pytest.raises(_files.NotPlain, match="holds more than tensors and plain data"):
        checkpoint.init(*training(), ckpt_path=path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["latest.pt"]


def test_copies_of_a_model_share_it_and_pickles_leave_it_behind(tmp_path: Path) -> None:
    made = training()
    checkpoint.init(*made, ckpt_path=tmp_path / "latest.pt")
    assert copy.deepcopy(made[0]).try_save is made[0].try_save
    assert pickle.loads(pickle.dumps(made[0])).try_save is None
