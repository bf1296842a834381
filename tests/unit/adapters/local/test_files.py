"""Files that a submission names are looked for before it waits for nodes in vain."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hai_scheduler.adapters.local.files import LocalFiles


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "train.py").touch()
    (tmp_path / "run").touch()
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "python train.py --data missing.py",
        "python -u train.py",
        "python -c missing.py",
        "python -m missing.py",
        "bash -c ./missing.sh",
        "./run missing.sh",
        "torchrun missing.py",
        "python -W ignore missing.py",
        "python",
    ],
)
async def test_what_is_there_or_cannot_be_known_passes(work: Path, command: str) -> None:
    assert await LocalFiles().fault(command.split(), str(work), str(work / "new/checkpoints")) is None


@pytest.mark.parametrize("command", ["python missing.py", "python3 -u missing.py", "bash missing.py", "./missing.py"])
async def test_a_script_that_is_not_there_is_named(work: Path, command: str) -> None:
    fault = await LocalFiles().fault(command.split(), str(work), None)
    assert fault is not None
    assert fault.field == "command"
    assert "missing.py" in fault.message


async def test_a_folder_that_is_not_there_is_named(work: Path) -> None:
    fault = await LocalFiles().fault(["true"], str(work / "none"), None)
    assert fault is not None
    assert (fault.field, fault.value) == ("cwd", str(work / "none"))


async def test_the_python_of_an_environment_has_to_be_a_program(work: Path) -> None:
    assert await LocalFiles().fault(["true"], str(work), None, sys.executable) is None
    for python in (str(work / "none/python"), str(work / "train.py")):
        fault = await LocalFiles().fault(["true"], str(work), None, python)
        assert fault is not None
        assert (fault.field, fault.value) == ("environment", python)
        assert python in fault.message


async def test_checkpoints_cannot_be_kept_below_a_file(work: Path) -> None:
    fault = await LocalFiles().fault(["true"], str(work), str(work / "train.py/c"))
    assert fault is not None
    assert fault.field == "checkpoint_dir"


async def test_an_own_environment_that_is_not_here_is_nowhere(work: Path) -> None:
    fault = await LocalFiles().fault(["true"], str(work), None, own_python=str(work))
    assert fault is not None
    assert (fault.field, fault.value) == ("env.HAI_VENV", str(work))
    assert "correct --venv" in fault.message
    assert "--no-venv" in fault.message
    assert await LocalFiles().fault(["true"], str(work), None, own_python=sys.prefix) is None
    assert await LocalFiles().unseen(str(work), ()) is None
