"""The thread that reads GPUs."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hai_client.metrics.gpus import FRESH_S, GpuReader, read_all
from kit import nvml
from kit.waiting import wait_for


class Fixed:
    def __init__(self, use: float) -> None:
        self.use = use

    def read(self) -> dict[str, float]:
        return {"use": self.use}


def test_each_figure_has_the_number_of_its_gpu() -> None:
    assert read_all([Fixed(5), Fixed(7)]) == {"gpu0_use": 5, "gpu1_use": 7}


def test_figures_that_are_old_are_none() -> None:
    reader = GpuReader({})
    reader._latest = (100.0, {"gpu0_use": 5})
    assert reader.read(100.0 + FRESH_S / 2) == {"gpu0_use": 5}
    assert reader.read(100.0 + FRESH_S) == {}


@pytest.mark.parametrize(("hangs", "seen"), [(False, True), (True, False)])
def test_a_process_ends_at_once_though_the_driver_hangs(tmp_path: Path, hangs: bool, seen: bool) -> None:
    library = nvml.build(tmp_path)
    code = """
import sys, time
from hai_client.metrics.gpus import GpuReader
reader = GpuReader({})
reader.start()
end = time.monotonic() + float(sys.argv[1])
while not reader.read(time.monotonic()) and time.monotonic() < end:
    time.sleep(0.01)
print(sorted(reader.read(time.monotonic())))
reader.stop()
"""
    environ = {"LD_LIBRARY_PATH": str(library.parent), "FAKE_NVML_GPUS": "1", "PATH": ""}
    if hangs:
        environ["FAKE_NVML_HANGS"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", code, "0.5" if hangs else "30"],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ("gpu0_use" in done.stdout) is seen


def test_a_machine_without_gpus_has_no_figures_and_no_thread_that_stays() -> None:
    reader = GpuReader({"CUDA_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": ""})
    reader.start()
    wait_for("the thread to end", lambda: not any(thread.name == "gpus" for thread in threading.enumerate()))
    assert reader.read(time.monotonic()) == {}
