"""`make gpu` as a program: without a GPU, and on a driver of the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpu.table import FAILED, NOT_SHOWN, OK, NotShown, Table
from gpu.training import find
from gpu.up import missing
from kit import nvml

ROOT = Path(__file__).parents[2]


def make_gpu(out: Path, env: dict[str, str], minutes: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpu", "--out", str(out), "--minutes", minutes]
    paths = {"PYTHONPATH": f"{ROOT / 'tests'}:{ROOT / 'client'}"}
    return subprocess.run(command, env=os.environ | paths | env, capture_output=True, text=True, check=False)


def test_without_a_gpu_it_is_skipped_in_words(tmp_path: Path) -> None:
    done = make_gpu(tmp_path, {"LD_LIBRARY_PATH": str(nvml.build(tmp_path).parent)}, "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("skipped: there is no NVIDIA GPU that answers (nvmlInit_v2 says 9)")


def test_without_nvidia_smi_it_is_skipped_in_words(tmp_path: Path) -> None:
    library = nvml.build(tmp_path)
    done = make_gpu(tmp_path, {"LD_LIBRARY_PATH": str(library.parent), "FAKE_NVML_GPUS": "1", "PATH": ""}, "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("skipped: nvidia-smi")


def test_where_gpus_are_left_to_others_it_is_skipped_in_words(tmp_path: Path) -> None:
    done = make_gpu(tmp_path, nvml.build_driver(tmp_path / "driver", 2) | {"CUDA_VISIBLE_DEVICES": "1"}, "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("skipped: CUDA_VISIBLE_DEVICES leaves GPUs out")


@pytest.mark.parametrize(
    ("more", "status", "idle", "says"),
    [
        ({}, 0, OK, "memory 0 (0)"),
        ({"FAKE_SMI_MEMORY": "600"}, 1, FAILED, "GPU 0: memory: HAI reads 0, nvidia-smi 600 before and 600 after"),
    ],
)
def test_the_driver_is_compared_with_nvidia_smi(
    tmp_path: Path, more: dict[str, str], status: int, idle: str, says: str
) -> None:
    env = nvml.build_driver(tmp_path / "driver", 2)
    # There is no time to start a platform.
    done = make_gpu(tmp_path / "out", env | more | {"FAKE_SMI_MIG": "Disabled"}, "0.9")
    assert (done.returncode, done.stderr) == (status, "")
    written = json.loads((tmp_path / "out" / "gpu.json").read_text())
    states = {line["part"]: (line["state"], line["text"]) for line in written["parts"]}
    assert written["GPU"] == "2 x NVIDIA Test 80GB"
    assert states["the driver's GPUs"][0] == OK
    assert states["MIG"] == (NOT_SHOWN, "MIG is off (nvidia-smi says Disabled)")
    assert states["NVML beside nvidia-smi, idle"][0] == states["NVML beside nvidia-smi, busy"][0] == idle
    assert says in states["NVML beside nvidia-smi, idle"][1]
    assert states["`hai up` finds the GPUs"] == (NOT_SHOWN, "no time was left: it takes 60 s")
    assert states["idle GPUs"][0] == NOT_SHOWN
    assert "| MIG | not shown | MIG is off (nvidia-smi says Disabled) |" in (tmp_path / "out/gpu.md").read_text()


def test_a_part_that_fails_is_a_line_and_the_others_go_on(tmp_path: Path) -> None:
    said: list[str] = []
    table = Table({"GPU": "1 x T"}, said.append, float("inf"), tmp_path)
    for error in (AssertionError("3 | 4\n5"), NotShown("one GPU"), ZeroDivisionError("x"), None):

        def part(error: Exception | None = error) -> str:
            if error is not None:
                raise error
            return "7 W"

        table.show("a", part)
    assert [(line["state"], line["text"]) for line in table.lines] == [
        (FAILED, "3 | 4 5"),
        (NOT_SHOWN, "one GPU"),
        (FAILED, "ZeroDivisionError: x"),
        (OK, "7 W"),
    ]
    assert table.failed
    assert "| a | failed | 3 \\| 4 5 |\n| a | not shown | one GPU |" in (tmp_path / "gpu.md").read_text()
    assert said[3] == "ok         a: 7 W"


def test_a_python_without_pytorch_is_named_with_what_to_install() -> None:
    with pytest.raises(NotShown, match=r"is in none of /no/python: install it there \(pip install torch numpy\)"):
        find("/no/python")


def test_this_python_has_what_hai_up_needs() -> None:
    assert missing() == []
