"""The parts of `make gpu` that need PyTorch, on processors: a training that is resumed, and a profile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from frameworks.drive import VENV
from gpu import training
from gpu.up import Tasks, Up

pytestmark = pytest.mark.frameworks


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tasks]:
    folder: Path = tmp_path_factory.mktemp("training")
    up = Up(folder)
    try:
        yield Tasks(up.client, folder, 1)
    finally:
        up.end()


@pytest.fixture(scope="module")
def torch() -> training.Torch:
    found = training.ask(str(VENV / "bin" / "python"))
    assert found is not None
    assert not found.cuda
    return found


def test_a_training_ends_with_the_loss_of_one_that_goes_through(at: Tasks, torch: training.Torch) -> None:
    text = training.resumed(at, torch)
    assert "gloo, on processors, 1 processes: left as saved, resumed at step" in text
    assert text.endswith("the weights are the same to the last bit")


def test_a_profile_has_steps_and_no_kernels(at: Tasks, torch: training.Torch) -> None:
    assert re.match(r"0 kernels, 0 of NCCL, on cpu: [1-9]\d* steps of ", training.profiled(at, torch))
