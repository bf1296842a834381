"""Running a notebook as a task."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")


def write(folder: Path, *cells: str) -> Path:
    document = nbformat.v4.new_notebook()
    document.cells = [nbformat.v4.new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(cells)]
    path = folder / "train.ipynb"
    nbformat.write(document, path)
    return path


def start(path: Path, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hai_client.notebook", str(path)],
        env={**os.environ, "HAI_TASK_ID": "41", "IPYTHONDIR": str(path.parent / "ipython"), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def outputs(path: Path) -> list[str]:
    document = nbformat.read(path.with_name("train.hai-41.ipynb"), as_version=4)
    return ["".join(output.get("text", "") for output in cell.outputs) for cell in document.cells]


def test_outputs_go_to_a_copy_and_to_the_log_and_a_failing_cell_is_shown(tmp_path: Path) -> None:
    path = write(tmp_path, "print('one')", "import os\nprint(os.getcwd())", "1 / 0", "print('never')")
    source = path.read_bytes()
    process = start(path)
    log, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert outputs(path)[:2] == ["one\n", f"{tmp_path}\n"]
    assert outputs(path)[3] == ""
    assert "one\n" in log
    assert "ZeroDivisionError: division by zero" in log
    assert "hai: cell 3 of 4 failed: ZeroDivisionError" in log
    assert path.read_bytes() == source


def test_told_to_leave_it_keeps_the_outputs_and_goes(tmp_path: Path) -> None:
    path = write(tmp_path, "print('one')", "import time\nprint('two')\ntime.sleep(600)")
    process = start(path)
    wait_for(process, "two")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143
    assert outputs(path) == ["one\n", "two\n"]


def test_a_notebook_that_polls_leaves_by_itself(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    path = write(
        tmp_path,
        "from hai_client import job\nimport time",
        "job.should_suspend()\nprint('polls')",
        "while not job.should_suspend():\n    time.sleep(0.01)\njob.suspended(step=4)",
    )
    process = start(path, HAI_RUNTIME_DIR=str(tmp_path))
    wait_for(process, "polls")
    (tmp_path / "notice.json").write_text("{}")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert [path.read_text().count('"saved"') for path in sorted((tmp_path / "reports").glob("*.json"))] == [1, 0]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    process = start(tmp_path / "none.ipynb")
    log, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert log == f"hai: {tmp_path}/none.ipynb: No such file or directory\n"


def test_without_nbclient_the_remedy_is_named(tmp_path: Path) -> None:
    (tmp_path / "nbclient.py").write_text("raise ModuleNotFoundError(name='nbclient')")
    process = start(write(tmp_path, "1"), PYTHONPATH=str(tmp_path))
    log, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "nbclient is not installed" in log
    assert "pip install 'hai-client[notebook]'" in log


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdout is not None
    end = time.monotonic() + 60
    for line in process.stdout:
        if text in line:
            return
        assert time.monotonic() < end
    raise AssertionError(f"{text!r} was not printed")
