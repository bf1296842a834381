"""What compiled files need of a machine, from metadata and files alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from haienv.building import abi


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        (["cp311-cp311-manylinux_2_28_x86_64"], [(2, 28)]),
        (["cp311-cp311-manylinux_2_17_x86_64", "cp311-cp311-manylinux2014_x86_64"], [(2, 17)]),
        (["cp311-cp311-manylinux2010_x86_64"], [(2, 12)]),
        (["py3-none-any"], []),
        (["cp311-cp311-linux_x86_64"], None),
        (["cp311-cp311-musllinux_1_2_x86_64"], []),
    ],
)
def test_tags_of_wheels_name_a_glibc(tags: list[str], found: object) -> None:
    assert abi.of_tags("Wheel-Version: 1.0\n" + "".join(f"Tag: {tag}\n" for tag in tags)) == found


def prefix_with(top: Path, **wheels: str) -> Path:
    packages = top / "lib" / "python3.11" / "site-packages"
    for name, tag in wheels.items():
        info = packages / f"{name}-1.dist-info"
        info.mkdir(parents=True)
        (info / "WHEEL").write_text(f"Tag: {tag}\n")
        (info / "RECORD").write_text(f"{name}/core.so,,\n{name}/gone.so,,\n{name}/text.py,,\n")
        (packages / name).mkdir()
        (packages / name / "core.so").write_bytes(b"\x7fELF" + b"\0" * 60 + b"GLIBC_2.4\0GLIBC_2.33\0GLIBC_PRIVATE\0")
    return top


def test_the_highest_demand_counts_and_of_wheels_that_were_compiled_here_the_files_do(tmp_path: Path) -> None:
    one = prefix_with(tmp_path / "one", a="cp311-cp311-manylinux_2_28_x86_64", b="cp311-cp311-manylinux_2_17_x86_64")
    assert abi.glibc(one, ()) == "2.28"
    two = prefix_with(tmp_path / "two", a="cp311-cp311-manylinux_2_28_x86_64", b="cp311-cp311-linux_x86_64")
    assert abi.glibc(two, ()) == "2.33"
    three = prefix_with(tmp_path / "three", a="py3-none-any")
    assert abi.glibc(three, ()) == ""


def test_python_itself_needs_a_glibc() -> None:
    needed = abi.needs(Path(sys.executable).resolve())
    assert needed
    assert all(major == 2 for major, _ in needed)


def test_the_cuda_of_torch_is_read_from_its_own_file(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "python3.11" / "site-packages" / "torch"
    packages.mkdir(parents=True)
    assert abi.cuda(tmp_path, {"torch": "2.9", "nvidia-cuda-runtime-cu12": "12.8.90"}) == "12.8"
    (packages / "version.py").write_text(
        "from typing import Optional\nraise SystemExit('executed')\n__version__ = '2.9'\n"
        "cuda: Optional[str] = '12.6'\nhip: Optional[str] = None\n"
    )
    assert abi.cuda(tmp_path, {"torch": "2.9", "nvidia-cuda-runtime-cu12": "12.8.90"}) == "12.6"
    (packages / "version.py").write_text("cuda: Optional[str] = None\n")
    assert abi.cuda(tmp_path, {"torch": "2.9"}) is None
