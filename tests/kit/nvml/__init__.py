"""A libnvidia-ml for machines without GPUs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("fake.c")


def build(folder: Path) -> Path:
    """Compile the library into a folder and return its file; the test is skipped where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    file = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", file, SOURCE], check=True)
    return file
