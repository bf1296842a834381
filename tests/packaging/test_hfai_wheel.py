"""The wheel hai-hfai: what is in it, what it asks for, and its command."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from configparser import ConfigParser
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

from hai_client.version import __version__

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "client/hfai"


@pytest.fixture(scope="module")
def hfai_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hfai")
    words = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") is not None else []
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "wheel", "--no-deps", *words]
    done = subprocess.run([*command, "-w", str(folder), str(SOURCE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("hai_hfai-*.whl")
    return built


def test_it_holds_every_module_of_its_folder_and_nothing_else(hfai_wheel: Path) -> None:
    with ZipFile(hfai_wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    there = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")}
    there |= {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("py.typed")}
    assert names == there
    assert {"hfai", "haiscale", "hf_env", "hfai_env", "hfreduce"} <= {name.partition("/")[0] for name in names}
    # A type checker looks for the mark in each package.
    assert {f"{top}/py.typed" for top in {name.partition("/")[0] for name in names}} <= names


def test_it_asks_for_little_and_not_for_torch(hfai_wheel: Path) -> None:
    with ZipFile(hfai_wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = message_from_bytes(archive.read(name))
        (name,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        points = ConfigParser()
        points.read_string(archive.read(name).decode())
    asked = {line.split(";")[0].strip() for line in metadata.get_all("Requires-Dist", [])}
    assert asked == {"hai-client<0.2,>=0.1", "numpy>=1.20", "isal>=1.6"}
    assert metadata["Requires-Python"] == ">=3.8"
    assert dict(points["console_scripts"]) == {"hfai": "hfai.cli:main"}


def test_installed_it_brings_the_command(hfai_wheel: Path, alone) -> None:
    python = str(alone.folder / "bin/python")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "--python", python, "install"]
    subprocess.run([*command, "--no-index", "--no-deps", str(hfai_wheel)], check=True)
    try:
        done = alone.run(str(alone.folder / "bin/hfai"), "--version")
        assert (done.returncode, done.stdout) == (0, f"hai {__version__}\n")
        assert alone.code("import hfai; print(hfai.task_id())") == "-1\n"
    finally:
        # Other tests want the client to be alone.
        subprocess.run([*command[:-1], "uninstall", "-y", "hai-hfai"], check=True)
