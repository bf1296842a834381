"""Scripts in the style of those for the original, on this machine alone: several trainers, no platform."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from frameworks.alone import Run, run_afresh, said

pytest.importorskip("torch")


def test_sharded_models_have_try_save_too(run: Run, tmp_path: Path) -> None:
    uninterrupted = said(run("sharded.py", "flat", 0, 6))
    where = {"SAVE_TO": str(tmp_path), "HFAI_SAVE_MINUTES": "1e-9"}
    assert "weights" not in said(run("sharded.py", "try_save", 0, 3, **where))
    assert said(run("sharded.py", "try_save", 3, 6, **where))["weights"] == uninterrupted["weights"]


def test_a_rehearsed_training_saves_leaves_and_resumes_with_the_same_weights(run: Run, tmp_path: Path) -> None:
    # This one with trainers that are started afresh: they come to the same weights as those that are forked.
    uninterrupted = said(run_afresh("try_save.py", SAVE_TO=str(tmp_path / "a")))["weights"]
    gate, where = tmp_path / "gate", {"SAVE_TO": str(tmp_path / "b"), "HFAI_SIMULATE": "1"}
    gate.touch()
    # Told from the first step on, which may be any: it leaves at the end of that one.
    first = run("try_save.py", **where, SIMULATE_SUSPEND="0.001")
    assert "step 0,1" not in first.stdout, first.stderr
    assert (tmp_path / "b/latest.pt").exists(), first.stderr
    second = run("try_save.py", **where)
    assert "at epoch 0, step 1" in second.stdout
    assert said(second)["weights"] == uninterrupted


def test_a_dataset_of_ffrecord_files_goes_on_in_the_middle_of_an_epoch(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("hai_ffrecord.torch")
    from hai_ffrecord import FileWriter

    numpy = pytest.importorskip("numpy")
    place = tmp_path / "ImageNet/train.ffr"
    place.mkdir(parents=True)
    writer = FileWriter(place / "PART_00000.ffr", 24)
    for number in range(24):
        memory = io.BytesIO()
        numpy.save(memory, numpy.random.default_rng(number).normal(size=8).astype("float32"))
        writer.write_one(memory.getvalue())
    writer.close()
    (place / "meta.json").write_text(json.dumps({"targets": list(range(24))}))
    where = {"HFAI_DATASETS": str(tmp_path), "HFAI_SIMULATE": "1"}
    uninterrupted = said(run("try_save.py", SAVE_TO=str(tmp_path / "a"), **where))["weights"]
    run("try_save.py", SAVE_TO=str(tmp_path / "b"), SIMULATE_SUSPEND="0.001", **where)
    second = run("try_save.py", SAVE_TO=str(tmp_path / "b"), **where)
    assert "at epoch 0, step 1" in second.stdout, second.stderr
    assert said(second)["weights"] == uninterrupted


def test_no_trainers_are_an_error_not_a_success(run: Run, tmp_path: Path) -> None:
    done = run("by_hand.py", SAVE_TO=str(tmp_path), TRAINERS="0")
    assert done.returncode != 0
    assert "nprocs is 0: there is nobody to train" in done.stderr
    assert "after the training" not in done.stdout
