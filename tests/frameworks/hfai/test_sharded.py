"""`hfai.checkpoint.save` and `load` in one process: a folder that comes back whole, and what a crash leaves of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from frameworks.hfai.trainings import equal, training  # noqa: E402
from hfai import checkpoint  # noqa: E402
from hfai.checkpoint import _sharded  # noqa: E402


def test_a_checkpoint_in_a_folder_comes_back_whole(tmp_path: Path) -> None:
    model, optimizer, scheduler = training()
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    folder = tmp_path / "latest"
    for epoch in (1, 2):
        checkpoint.save(folder, [model, model], optimizer, others={"epoch": epoch, "lr": scheduler.state_dict()})
    assert [entry.name for entry in tmp_path.iterdir()] == ["latest"]
    found = checkpoint.load(folder, map_location="cpu")
    assert found["epoch"] == 2
    assert len(found["model"]) == 2
    again = training()
    again[0].load_state_dict(found["model"][1])
    again[1].load_state_dict(found["optimizer"])
    assert equal(again[0], model)
    moments = [state["exp_avg"] for state in optimizer.state_dict()["state"].values()]
    loaded = [state["exp_avg"] for state in again[1].state_dict()["state"].values()]
    assert all(torch.equal(a, b) for a, b in zip(moments, loaded, strict=True))


def test_what_a_crash_leaves_of_a_folder_is_read_or_refused(tmp_path: Path) -> None:
    model = training()[0]
    folder = tmp_path / "latest"
    checkpoint.save(folder, model)
    folder.rename(tmp_path / ".latest.old")  # killed between the two renames
    assert equal_state(checkpoint.load(folder)["model"], model)
    (tmp_path / ".latest.old").rename(folder)
    state = torch.load(folder / "PART_000.pt", weights_only=True)
    torch.save({**state, "hai_parts": 2}, folder / "PART_000.pt")
    with pytest.raises(ValueError, match="has 1 of 2 parts"):
        checkpoint.load(folder)
    with pytest.raises(FileNotFoundError, match="no checkpoint of"):
        checkpoint.load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="others: model is the checkpoint's own"):
        checkpoint.save(folder, model, others={"model": 1})


def equal_state(state: Any, model: Any) -> bool:
    return all(torch.equal(state[name], tensor) for name, tensor in model.state_dict().items())


def shares(folder: Path, model: Any, ranks: int) -> None:
    """Write the parts that several ranks would have written."""
    state = torch.load(folder / "PART_000.pt", weights_only=True)
    for rank in range(ranks):
        part = _sharded._share(_sharded._states(model)[0], rank, ranks)
        torch.save({**state, "hai_parts": ranks, "model": [part]}, folder / f"PART_{rank:03d}.pt")


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_the_parts_of_any_number_of_ranks_make_the_whole(tmp_path: Path, ranks: int) -> None:
    model = training()[0]
    folder = tmp_path / "latest"
    checkpoint.save(folder, model)
    shares(folder, model, ranks)
    assert equal_state(checkpoint.load(folder)["model"], model)
    sizes = [(folder / f"PART_{rank:03d}.pt").stat().st_size for rank in range(ranks)]
    assert sizes[0] == max(sizes), "the first rank has the largest tensor"


def test_a_checkpoint_of_another_program_or_version_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "latest"
    checkpoint.save(folder, training()[0])
    state = torch.load(folder / "PART_000.pt", weights_only=True)
    for version in (None, 2):
        torch.save({**state, "hai_version": version}, folder / "PART_000.pt")
        with pytest.raises(ValueError, match="is of another version, or was written by the original"):
            checkpoint.load(folder)
