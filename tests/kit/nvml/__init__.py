"""NVIDIA's driver for machines without GPUs: a libnvidia-ml, and a whole driver with libcuda and nvidia-smi."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("fake.c")


def build(folder: Path, source: Path = SOURCE) -> Path:
    """Compile the library into a folder and return its file; the test is skipped where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    file = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", file, source], check=True)
    return file


def build_driver(folder: Path, gpus: int) -> dict[str, str]:
    """Put a driver with that many GPUs into a folder; returns the variables with which processes find it."""
    folder.mkdir()
    (folder / "held").mkdir()
    (folder / "environment").write_text(f"FAKE_NVML_GPUS={gpus}\nFAKE_NVML_NO_GPM=1\n")
    shutil.copy(build(folder, SOURCE.with_name("driver.c")), folder / "libcuda.so.1")
    smi = folder / "nvidia-smi"
    smi.write_text(f"#!{sys.executable}\n{SOURCE.with_name('nvidia_smi.py').read_text()}")
    smi.chmod(0o755)
    return {"LD_LIBRARY_PATH": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}
