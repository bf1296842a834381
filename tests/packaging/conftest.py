"""The wheels of the platform and of its client, and environments that hold them and nothing else."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]


def pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def build(source: Path, folder: Path) -> Path:
    # A hatchling that is there spares its download.
    ready = importlib.util.find_spec("hatchling") is not None
    pip("wheel", "--no-deps", *(["--no-build-isolation"] if ready else []), "--wheel-dir", str(folder), str(source))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel `hai-platform`, built from the working tree."""
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def client_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel `hai-client`, built from the working tree."""
    return build(ROOT / "client", tmp_path_factory.mktemp("client-wheel"))


@pytest.fixture(scope="session")
def env_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel `hai-env`, built from the working tree."""
    return build(ROOT / "haienv", tmp_path_factory.mktemp("env-wheel"))


@pytest.fixture(scope="session")
def slurm_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel `hai-slurm`, built from the working tree."""
    return build(ROOT / "client/slurm", tmp_path_factory.mktemp("slurm-wheel"))


@pytest.fixture(scope="session")
def names(wheel: Path) -> list[str]:
    """The files in the wheel."""
    with ZipFile(wheel) as archive:
        return archive.namelist()


@dataclass(frozen=True)
class Alone:
    """An environment with the wheel and nothing else, and an empty home."""

    folder: Path
    home: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def run(self, *command: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run a command with nothing of this process's environment."""
        path = os.pathsep.join([str(self.folder / "bin"), "/usr/bin", "/bin"])
        env = {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", **extra}
        return subprocess.run(
            command,
            cwd=self.home,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
            stdin=subprocess.DEVNULL,
        )

    def hai(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.folder / "bin" / "hai"), *words)

    def code(self, text: str, *flags: str, words: Sequence[str] = (), **extra: str) -> str:
        """What a program prints."""
        done = self.run(self.python, *flags, "-c", text, *words, **extra)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture(scope="session")
def alone(client_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """The client's wheel, installed where there is nothing else and nothing can be fetched."""
    return installed(sys.executable, tmp_path_factory, client_wheel)


@pytest.fixture(scope="session")
def platform(
    wheel: Path, client_wheel: Path, env_wheel: Path, slurm_wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Alone:
    """The wheel of the platform with those of ours that it needs, without any extra."""
    return installed(sys.executable, tmp_path_factory, wheel, client_wheel, env_wheel, slurm_wheel)


@pytest.fixture(scope="session")
def client_on(client_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Alone]:
    """The client's wheel alone, on another Python."""
    return lambda python: installed(python, tmp_path_factory, client_wheel)


def installed(python: str, folders: pytest.TempPathFactory, *wheels: Path) -> Alone:
    """An environment of that Python with these wheels and what they need of each other."""
    folder, home = folders.mktemp("alone"), folders.mktemp("home")
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
    # uv knows Pythons that the newest pip knows no more.
    uv = str(Path(sys.executable).parent / "uv")
    command = [uv, "pip", "install", "--quiet", "--no-config", "--no-index", "--python", str(folder / "bin/python")]
    done = subprocess.run([*command, *map(str, wheels)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Alone(folder, home)
