"""The locks of the frameworks hold versions and hashes, of both builds of PyTorch; nothing else is installed."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from frameworks import install, lock

HERE = Path(__file__).parent
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
PYTORCH = f"torch==2.13.0 \\\n    --hash=sha256:{'0' * 64}\n"


def names(file: str) -> list[str]:
    return [name for name, _ in lock.blocks((HERE / file).read_text())]


@pytest.mark.parametrize("file", ["requirements.lock", "torch.lock", "cuda.lock"])
def test_a_lock_holds_names_versions_and_hashes_only(file: str) -> None:
    for _, block in lock.blocks((HERE / file).read_text()):
        first, *hashes = block.splitlines()
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+( ; [^\\]+)? \\", first), first
        assert hashes, first
        assert [line for line in hashes if not HASH.fullmatch(line)] == []


def test_each_package_is_in_one_lock_and_all_that_is_asked_for_is_there() -> None:
    everything = names("requirements.lock") + names("torch.lock") + names("cuda.lock")
    assert len(everything) == len(set(everything))
    asked = re.findall(r"^([a-z][a-z0-9-]*)", (HERE / "requirements.in").read_text(), re.MULTILINE)
    assert set(asked) - set(everything) == set()


def test_pytorch_is_pinned_for_cpus_as_well_and_alone_in_its_lock() -> None:
    assert names("torch.lock") == ["torch"]
    text = (HERE / "torch.lock").read_text()
    [(version, wheels)] = lock.CPU_WHEELS.items()
    assert f"torch=={version} " in text
    assert all(wheel in text for wheel in wheels)


def test_libraries_of_cuda_are_in_a_lock_of_their_own() -> None:
    assert [name for name in names("requirements.lock") if name.startswith(lock.CUDA)] == []
    assert "nvidia-cublas" in names("cuda.lock")


def test_a_resolution_is_split_whole() -> None:
    other = f"numpy==2.4.6 ; python_version > '3' \\\n    --hash=sha256:{'1' * 64}\n"
    cuda = f"nvidia-cublas==13.1 \\\n    --hash=sha256:{'2' * 64}\n"
    parts = lock.split(other + cuda + PYTORCH)
    assert (parts["requirements.lock"], parts["cuda.lock"]) == (other, cuda)
    assert parts["torch.lock"].startswith(PYTORCH.rstrip() + " \\\n")
    assert parts["torch.lock"].count("--hash") == 2


def test_a_new_pytorch_whose_wheel_for_cpus_is_not_known_is_refused() -> None:
    with pytest.raises(SystemExit, match="add its hash"):
        lock.with_cpu_wheels(PYTORCH.replace("2.13.0", "2.14.0"))


@pytest.mark.parametrize(
    ("requirements", "locks"),
    [
        (["filelock", "sympy>=1.13.3"], ["torch.lock", "requirements.lock"]),
        (
            ["filelock", "nvidia-cublas==13.1; x == 'y'"],
            ["torch.lock", "cuda.lock", "requirements.lock"],
        ),
    ],
    ids=["for CPUs", "with CUDA"],
)
def test_nothing_is_installed_without_a_hash_and_cuda_only_where_its_build_is(
    monkeypatch: pytest.MonkeyPatch, requirements: list[str], locks: list[str]
) -> None:
    ran: list[list[str]] = []

    def run(words: list[str], **options: Any) -> None:
        assert options == {"check": True}
        ran.append(words)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: requirements)
    install.main()
    assert [Path(words[-1]).name for words in ran] == locks
    for words in ran:
        assert {"--require-hashes", "--no-deps", "--only-binary"} <= set(words)
