"""A libnvidia-ml for machines without GPUs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("fake.c")


def build(folder: Path, *, always: int = 0) -> Path:
    """Compile the library into a folder and return its file; the test is skipped where there is no C compiler.

    Args:
        folder: Where it goes.
        always: How many GPUs it has, whatever the environment says, with figures that move; 0: see fake.c.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    file = folder / "libnvidia-ml.so.1"
    defined = [f"-DALWAYS={always}"] if always else []
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", *defined, "-o", file, SOURCE], check=True)
    return file
