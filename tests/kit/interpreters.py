"""New processes of Python: of the version that runs the tests, and of others on this machine."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def said_by(code: str) -> str:
    """What a new Python process prints that runs this code, which must not fail."""
    return subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout


def interpreter(version: str) -> str:
    """The path of a Python of that version (`3.8`); the test is skipped where there is none.

    `HAI_TEST_PYTHON38` and the like name it; else it is looked for on PATH, at pyenv's and at uv's.
    """
    variable = f"HAI_TEST_PYTHON{version.replace('.', '')}"
    # The test may have set HOME to a folder of its own.
    home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    kept = (
        *sorted((home / ".pyenv/versions").glob(f"{version}.*/bin/python")),
        *sorted((home / ".local/share/uv/python").glob(f"cpython-{version}.*/bin/python")),
    )
    for found in (os.environ.get(variable), shutil.which(f"python{version}"), *kept):
        if found and _is(str(found), version):
            return str(found)
    pytest.skip(f"there is no Python {version} here: install one, or set {variable} to its path")


def _is(program: str, version: str) -> bool:
    """Whether `program` runs and is of that version: a shim of pyenv may do neither."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([program, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.stdout.strip() == version
