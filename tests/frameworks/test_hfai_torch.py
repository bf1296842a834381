"""Scripts in the style of those for the original, on this machine alone: several trainers, no platform."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from frameworks.preloaded import only_node, preloaded

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).with_name("hfai_scripts")
ABORTED_AT_ITS_END = "terminate called without an active exception"


class Run(Protocol):
    """A function that runs a script as the only node."""

    def __call__(self, script: str, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end, with these words and environment variables."""


def environment() -> dict[str, str]:
    """The environment of a script, but for its node."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HAI_", "HFAI_"))}
    # What is under test comes first; where hai_ffrecord is besides, the caller says.
    path = os.pathsep.join([str(ROOT / "client/hfai"), str(ROOT / "client"), env.get("PYTHONPATH", "")])
    return env | {"PYTHONPATH": path}


def run_afresh(script: str, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a Python of its own, which starts one for each trainer."""
    command = [sys.executable, str(SCRIPTS / script), *map(str, words)]
    env = environment() | only_node() | variables
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A function that runs a script in processes that have PyTorch already (`preloaded.py`)."""
    with preloaded(sys.executable, environment(), tmp_path_factory.mktemp("printed")) as process:

        def run_forked(script: str, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
            return process.run(SCRIPTS / script, [*map(str, words)], variables)

        yield run_forked


def said(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The lines that a script printed, by their first words.

    Now and then PyTorch aborts a trainer whose training is over, while Python ends: a thread of Gloo asks for the
    interpreter, which is gone (pytorch/pytorch issue 190489). What the trainer printed before counts all the same.
    """
    assert done.returncode == 0 or ABORTED_AT_ITS_END in done.stderr, done.stderr
    return dict(line.partition(" ")[::2] for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def alone(run: Run) -> dict[str, str]:
    """The results of the training without a pipeline."""
    return said(run("pipelines.py", "alone", 1))


@pytest.mark.parametrize("method", ["PipeDream", "GPipe", "GPipe-always", "Interleaved1F1B"])
def test_a_pipeline_of_two_stages_comes_to_the_same_weights(run: Run, alone: dict[str, str], method: str) -> None:
    found = said(run("pipelines.py", method))
    assert found["weights"] == alone["weights"], "to the last digit"
    assert found["losses"] == alone["losses"]
    assert found["value"] == alone["value"]


def test_pipelines_side_by_side_average_their_gradients(run: Run) -> None:
    found = said(run("pipelines.py", "DDP", TRAINERS="4"))
    assert found["weights"] == found["other"], "both pipelines have the same weights"
    assert found["weights"] == said(run("pipelines.py", "alone", 2))["weights"]


def test_shards_saved_by_rank_0_alone_resume_with_the_moments_of_every_rank(run: Run, tmp_path: Path) -> None:
    whole = said(run("sharded.py", "torch", 0, 6))
    for kind in ("flat", "original"):
        where = {"SAVE_TO": str(tmp_path / kind)}
        uninterrupted = said(run("sharded.py", kind, 0, 6))
        assert uninterrupted["names"] == whole["names"], "names are those of the model before it was wrapped"
        assert abs(float(uninterrupted["sum"]) - float(whole["sum"])) < 1e-4
        said(run("sharded.py", kind, 0, 3, **where))
        assert said(run("sharded.py", kind, 3, 6, **where))["weights"] == uninterrupted["weights"]


def test_sharded_models_have_try_save_too(run: Run, tmp_path: Path) -> None:
    uninterrupted = said(run("sharded.py", "flat", 0, 6))
    where = {"SAVE_TO": str(tmp_path), "HFAI_SAVE_MINUTES": "1e-9"}
    assert "weights" not in said(run("sharded.py", "try_save", 0, 3, **where))
    assert said(run("sharded.py", "try_save", 3, 6, **where))["weights"] == uninterrupted["weights"]


def test_shards_of_another_number_of_ranks_are_refused(run: Run, tmp_path: Path) -> None:
    said(run("sharded.py", "flat", 0, 3, SAVE_TO=str(tmp_path)))
    done = run("sharded.py", "flat", 3, 6, SAVE_TO=str(tmp_path), TRAINERS="3")
    assert done.returncode != 0
    assert "saved by 2 ranks and is loaded by 3" in done.stderr


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
