"""Installs the frameworks into the virtual environment that runs this: `make .venv-frameworks/.installed`.

    .venv-frameworks/bin/python tests/frameworks/install.py

Everything comes with the hashes of the locks, and nothing that they do not name. Which build of PyTorch that is, the
settings of pip decide (`lock.py`): the one for CPUs if they name a place that has it; else that of the index, and
CUDA's libraries with it.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).parent
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps")


def install(lock: str) -> None:
    """Install what a lock names. Its packages are all that are needed, so none is looked for."""
    subprocess.run([*PIP, "--require-hashes", "--only-binary", ":all:", "-r", str(HERE / lock)], check=True)


def wants_cuda(requirements: list[str]) -> bool:
    """Whether a build of PyTorch needs libraries of CUDA, from its list of requirements."""
    return any(line.startswith(("nvidia-", "cuda-")) for line in requirements)


def collect_rarely() -> None:
    """Let the Pythons of this environment look for garbage more rarely.

    What PyTorch imports are half a million objects that stay: Python looks through all of them several times meanwhile,
    an eighth of the processor time of an import.
    """
    line = "import gc; gc.set_threshold(50_000, 20, 100)\n"
    Path(sysconfig.get_path("purelib"), "hai_tests.pth").write_text(line)


def main() -> None:
    """Install PyTorch, what its build needs, and the rest."""
    install("torch.lock")
    if wants_cuda(importlib.metadata.requires("torch") or []):
        install("cuda.lock")
    install("requirements.lock")
    collect_rarely()


if __name__ == "__main__":
    main()
