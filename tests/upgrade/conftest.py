"""The last release, installed from its own locks into an environment of its own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ci import last_release

ROOT = Path(__file__).parents[2]
#: What a platform on one machine is made of; the panel is for users' servers.
PARTS = ("client", "client/slurm", "haienv", ".")


@dataclass(frozen=True)
class Release:
    """A release that is installed."""

    tree: Path  #: Its sources.
    bin: Path  #: The programs of its environment.


@pytest.fixture(scope="session")
def last(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The last release."""
    folder = tmp_path_factory.mktemp("last-release")
    return installed(checked_out(folder / "tree"), folder / "environment")


def checked_out(folder: Path) -> Path:
    """The sources of the last release."""
    if not last_release.is_here():
        pytest.skip(last_release.LACKS)
    packed = subprocess.run(["git", "archive", last_release.COMMIT], cwd=ROOT, capture_output=True, check=True).stdout
    folder.mkdir()
    subprocess.run(["tar", "-x"], cwd=folder, input=packed, check=True)
    return folder


def installed(tree: Path, environment: Path) -> Release:
    """Install what the locks of a tree name, and the tree as wheels."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    install(tree, python)
    return Release(tree, environment / "bin")


def install(tree: Path, python: Path) -> None:
    """Install a tree into an environment, in place of what is there."""
    tools = [sys.executable, str(ROOT / "tools" / "install.py")]
    subprocess.run([*tools, str(tree / "requirements.lock"), str(python)], check=True)
    ours = [str(tree / part) for part in PARTS]
    uv = [str(Path(sys.executable).parent / "uv"), "pip", "install", "--quiet", "--python", str(python)]
    subprocess.run([*uv, "--no-index", "--no-deps", "--no-build-isolation", "--reinstall", *ours], check=True)
