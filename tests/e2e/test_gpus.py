"""Tasks on the GPUs of a driver of the tests, on a real `hai up`: the parts of `make gpu` that need no PyTorch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpu import tasks
from gpu.__main__ import found_by
from gpu.card import cards
from gpu.up import Tasks, Up
from kit import nvml

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("gpus")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in nvml.build_driver(folder / "driver", 2).items():
            patch.setenv(name, value)
        made = Up(folder)
        try:
            yield made
        finally:
            made.end()


@pytest.fixture
def at(up: Up, tmp_path: Path) -> Iterator[Tasks]:
    made = Tasks(up.client, tmp_path, 2)
    yield made
    made.stop_all()


def test_the_start_finds_the_gpus(up: Up) -> None:
    assert found_by(up, 2).endswith("1, with 2 GPUs")


def test_tasks_see_what_they_were_given(at: Tasks) -> None:
    assert tasks.sees(at, cards()).startswith("CUDA_VISIBLE_DEVICES=0,1: CUDA shows GPU-")
    assert {word[:7] for word in tasks.two_share(at, cards()).split(", ")} == {"0: GPU-", "1: GPU-"}


def test_the_memory_of_who_left_is_free(at: Tasks) -> None:
    assert "in use at the next rank's first line: 0 MiB, 0 MiB" in tasks.freed(at, cards())


def test_what_is_sampled_is_what_nvidia_smi_says(at: Tasks) -> None:
    # Numbers are kept to about half a per cent.
    assert re.search(r"use 9\d[\d.]* \(90\), memory 8[67]\d\d \(8692\), power 35\d[\d.]* \(350.5\)", tasks.sampled(at))
