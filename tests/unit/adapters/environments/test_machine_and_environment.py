"""An environment that cannot run on this machine is refused when it is named, not when a rank dies of it."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import pytest

from hai_scheduler.adapters.environments.folder import HaienvFolder
from hai_scheduler.adapters.environments.this_machine import this_machine
from hai_scheduler.core.workspace.abi import Machine
from hai_scheduler.ports.haienvs import HaienvFault
from kit.builders import a_pin
from kit.haienv_folders import publish

NVIDIA = """NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023
GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)
"""
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root@x)\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An environment for glibc 2.34 and CUDA 13."""
    publish(tmp_path, a_pin())
    path = tmp_path / "users/ann/vision/generations/3/manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "glibc": "2.34", "cuda": "13.0"}))
    return tmp_path


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (Machine(glibc="2.31"), "users/ann/vision@3 needs glibc 2.34, and the nodes have 2.31"),
        (Machine(machine="aarch64"), "users/ann/vision@3 is for x86_64, and the nodes are for aarch64"),
        (Machine(driver="535.104.05"), "needs NVIDIA's driver 580 or newer, and the nodes have 535.104.05"),
    ],
)
async def test_what_cannot_run_here_is_refused_by_name(root: Path, machine: Machine, says: str) -> None:
    with pytest.raises(HaienvFault, match=says):
        await HaienvFolder(root, machine=machine).find("ann", (), "vision")


@pytest.mark.parametrize("machine", [None, Machine(machine="x86_64", glibc="2.34", driver="580.65.06")])
async def test_what_can_or_might_run_here_is_found(root: Path, machine: Machine | None) -> None:
    assert (await HaienvFolder(root, machine=machine).find("ann", (), "vision")).generation == 3


OLD_IMAGE = Machine(machine="x86_64", glibc="2.31", name="the image torch")


async def test_where_tasks_run_in_images_that_of_the_task_counts(root: Path) -> None:
    with pytest.raises(HaienvFault, match=r"users/ann/vision@3 needs glibc 2\.34, and the image torch has 2\.31"):
        await HaienvFolder(root).find("ann", (), "vision", image=OLD_IMAGE)
    assert (await HaienvFolder(root).find("ann", (), "vision", image=Machine())).generation == 3
    here = HaienvFolder(root, machine=Machine(machine="x86_64", glibc="2.36"))
    assert (await here.find("ann", (), "vision", image=OLD_IMAGE)).generation == 3


@pytest.mark.parametrize(("text", "driver"), [(NVIDIA, "535.104.05"), (OPEN, "580.65.06"), ("x", ""), (None, "")])
def test_this_machine_says_what_it_has(tmp_path: Path, text: str | None, driver: str) -> None:
    file = tmp_path / "version"
    if text is not None:
        file.write_text(text)
    found = this_machine(file)
    assert (found.machine, found.driver) == (platform.machine(), driver)
    assert found.glibc == (os.confstr("CS_GNU_LIBC_VERSION") or "").removeprefix("glibc ")
