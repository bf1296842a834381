"""Which kernel a notebook gets that runs as a task, and which Python runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from hai_client import notebook_kernel
from hai_client.notebook_kernel import NATIVE, NoKernel, manager, run_elsewhere


@pytest.fixture(autouse=True)
def no_other_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    specs = pytest.importorskip("jupyter_client.kernelspec")
    monkeypatch.setattr(specs.KernelSpecManager, "find_kernel_specs", lambda _: {NATIVE: str(tmp_path)})


@pytest.mark.parametrize(
    ("metadata", "note"),
    [
        ({}, ""),
        ({"kernelspec": {"name": "python3"}}, ""),
        ({"kernelspec": {"name": "torch", "language": "python"}}, "names the kernel 'torch', which is not installed"),
        ({"kernelspec": {"name": "torch"}, "language_info": {"name": "Python"}}, "runs with /venv/bin/python"),
    ],
)
def test_a_notebook_in_python_runs_with_the_tasks_python(
    metadata: dict[str, Any], note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = manager(metadata, str(tmp_path), "/venv/bin/python")
    assert (found.kernel_name, found.transport) == (NATIVE, "ipc")
    assert found.connection_file == str(tmp_path / "kernel.json")
    assert found.kernel_spec_manager.get_kernel_spec(NATIVE).argv[0] == "/venv/bin/python"
    assert note in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kernel", "pinned", "note"),
    [
        ("haienv-users-ann-vision", "users/ann/vision@3", ""),
        ("haienv-users-ann-lee-vision-0a1b2c3d", "users/Ann-Lee/vision@3", ""),
        ("haienv-base-torch", "base/torch@1", ""),
        ("haienv-base-torch", "users/ann/vision@3", "pinned to users/ann/vision@3, which it runs with"),
        ("haienv-users-ann-vision", "", "which this task does not use"),
        ("haienv-users-ann-vision-x", "users/ann/vision@3", "pinned to users/ann/vision@3"),
    ],
)
def test_a_notebook_of_the_pinned_environment_says_nothing(
    kernel: str, pinned: str, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("HAIENV", pinned)
    found = manager({"kernelspec": {"name": kernel, "language": "python"}}, str(tmp_path), "/venv/bin/python")
    assert found.kernel_name == NATIVE
    out = capsys.readouterr().out
    assert (note in out) if note else out == ""
    assert out.count("\n") <= 1


def test_without_a_python_it_is_that_of_this_process(tmp_path: Path) -> None:
    specs = manager({}, str(tmp_path), None).kernel_spec_manager
    assert specs.get_kernel_spec(NATIVE).argv[0] == sys.executable


@pytest.mark.parametrize(
    "metadata",
    [
        {"kernelspec": {"name": "ir", "language": "R"}},
        {"kernelspec": {"name": "ir"}, "language_info": {"name": "r"}},
    ],
)
def test_a_notebook_in_another_language_needs_its_kernel(metadata: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(NoKernel, match="no kernel 'ir' here, and the notebook is not in Python but in r; install it"):
        manager(metadata, str(tmp_path), None)


class Became(Exception):
    """The process would be another program now."""


def a_python(folder: Path, name: str, *, can: bool) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\nexit {0 if can else 1}\n")
    program.chmod(0o755)
    return program


def test_the_first_python_of_the_path_that_can_runs_the_notebook(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def become(program: str, words: list[str]) -> None:
        raise Became(program, words)

    a_python(tmp_path / "one", "python", can=False)
    (tmp_path / "one" / "python3").write_text("not executable")
    right = a_python(tmp_path / "two", "python3", can=True)
    a_python(tmp_path / "three", "python", can=True)
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in ("missing", "one", "two", "three")))
    monkeypatch.setattr(notebook_kernel.os, "execv", become)
    with pytest.raises(Became) as became:
        run_elsewhere(["nb.ipynb", "--out", "x"])
    program, words = became.value.args
    assert program == str(right)
    assert words == [str(right), "-m", "hai_client.notebook", "nb.ipynb", "--out", "x", "--python", sys.executable]


def test_where_no_python_can_nothing_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a_python(tmp_path / "one", "python", can=False)
    (tmp_path / "own").mkdir()
    own = a_python(tmp_path / "own", "python", can=True)
    monkeypatch.setattr(notebook_kernel.sys, "executable", str(own))
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in ("one", "own")))
    monkeypatch.setattr(notebook_kernel.os, "execv", lambda *_: pytest.fail("it must not become another Python"))
    run_elsewhere([])
