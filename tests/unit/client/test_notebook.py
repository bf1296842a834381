"""Running a notebook as a task."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import hai_client

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
ipykernel = pytest.importorskip("ipykernel")


def write(folder: Path, *cells: str, kernel: dict[str, str] | None = None) -> Path:
    document = nbformat.v4.new_notebook(metadata={} if kernel is None else {"kernelspec": kernel})
    document.cells = [nbformat.v4.new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(cells)]
    path = folder / "train.ipynb"
    nbformat.write(document, path)
    return path


def start(
    path: Path,
    *,
    program: str = sys.executable,
    arguments: Sequence[str] = (),
    cwd: Path | None = None,
    **env: str,
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [program, "-m", "hai_client.notebook", str(path), *arguments],
        cwd=cwd,
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


@pytest.mark.parametrize("seen", [True, False])
def test_outputs_are_not_written_into_a_snapshot(tmp_path: Path, seen: bool) -> None:
    """They go to the folder of the submission, or to the task's own where a node does not see that one."""
    tree, home, own = tmp_path / "tree", tmp_path / "home", tmp_path / "own"
    (tree / "work").mkdir(parents=True)
    if seen:
        (home / "work").mkdir(parents=True)
    write(tree / "work", "print('one')")
    before = set(tree.rglob("*.ipynb"))
    code = {"HAI_SNAPSHOT": "1" * 64, "HAI_SUBMIT_DIR": str(home), "HAI_CHECKPOINT_DIR": str(own)}
    process = start(Path("work/train.ipynb"), cwd=tree, **code, IPYTHONDIR=str(tmp_path / "ipython"))
    log, _ = process.communicate(timeout=60)
    assert process.returncode == 0, log
    assert outputs((home / "work" if seen else own) / "train.ipynb") == ["one\n"]
    assert set(tree.rglob("*.ipynb")) == before


def test_told_to_leave_it_keeps_the_outputs_and_goes(tmp_path: Path) -> None:
    path = write(tmp_path, "print('one')", "import time\nprint('two')\ntime.sleep(600)")
    process = start(path)
    lines_up_to(process, "two")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143
    assert outputs(path) == ["one\n", "two\n"]


def test_its_log_has_no_words_of_the_kernels_own(tmp_path: Path) -> None:
    """Neither on the transport at the start, nor a traceback of its sockets at the notice."""
    path = write(tmp_path, "import time\nprint('one')\ntime.sleep(600)", "print('never')")
    process = start(path)
    assert lines_up_to(process, "one") == ["hai: cell 1 of 2\n", "one\n"]
    process.send_signal(signal.SIGTERM)
    log, _ = process.communicate(timeout=30)
    assert (process.returncode, log) == (143, "hai: told to leave; the outputs so far are kept\n")
    document = nbformat.read(path.with_name("train.hai-41.ipynb"), as_version=4)
    assert [output.output_type for cell in document.cells for output in cell.outputs] == ["stream"]


def test_told_while_its_kernel_starts_it_leaves_and_begins_no_cell(tmp_path: Path) -> None:
    """As the kernel does: it tells the runner before it is ready."""
    path = write(tmp_path, "open('begun', 'w')")
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nkill -TERM $PPID\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    process = start(path, arguments=("--python", str(program)))
    log, _ = process.communicate(timeout=60)
    assert (process.returncode, log.splitlines()[-1]) == (143, "hai: told to leave; the outputs so far are kept")
    assert not (tmp_path / "begun").exists()


def test_a_cell_may_save_when_it_is_interrupted(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "import time\nprint('one')\ntry:\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    open('saved', 'w')",
        "open('next', 'w')",
    )
    process = start(path)
    lines_up_to(process, "one")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143
    assert ((tmp_path / "saved").exists(), (tmp_path / "next").exists()) == (True, False)


def test_each_run_of_a_task_keeps_its_outputs(tmp_path: Path) -> None:
    path = write(tmp_path, "import os\nprint(os.environ['HAI_RUN'])")
    for run in ("1", "2", "2", "4"):
        process = start(path, HAI_RUN=run)
        log, _ = process.communicate(timeout=60)
        assert process.returncode == 0, log
    kept = {
        file.name: nbformat.read(file, as_version=4).cells[0].outputs[0].text
        for file in tmp_path.glob("train.hai-41*.ipynb")
    }
    assert kept == {"train.hai-41.ipynb": "4\n", "train.hai-41.run1.ipynb": "1\n", "train.hai-41.run2.ipynb": "2\n"}
    assert f"are kept in {tmp_path}/train.hai-41.run2.ipynb" in log


def test_ranks_do_not_write_over_each_other(tmp_path: Path) -> None:
    path = write(tmp_path, "print('one')")
    process = start(path, HAI_RANK="3")
    process.communicate(timeout=60)
    assert [file.name for file in tmp_path.glob("train.hai*")] == ["train.hai-41.rank3.ipynb"]


def test_a_python_without_nbclient_is_the_kernel_of_one_that_has_it(tmp_path: Path) -> None:
    """As with a venv that has ipykernel alone, and the platform's Python behind it on PATH."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    for found in Path(ipykernel.__file__).parents[1].iterdir():
        if not found.name.startswith(("nbclient", "nbformat", "_editable", "__pycache__")):
            (site / found.name).symlink_to(found)
    path = write(tmp_path, "import sys\nprint(sys.prefix)")
    process = start(
        path,
        program=str(venv / "bin/python"),
        PATH=os.pathsep.join([str(venv / "bin"), str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        PYTHONPATH=str(Path(hai_client.__file__).parents[1]),
    )
    log, _ = process.communicate(timeout=60)
    assert process.returncode == 0, log
    assert outputs(path) == [f"{venv}\n"]


def test_a_kernel_of_another_language_that_is_missing_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "1", kernel={"name": "ir", "language": "R", "display_name": "R"})
    process = start(path)
    log, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "hai: there is no kernel 'ir' here, and the notebook is not in Python but in r; install it" in log


def test_a_kernel_of_python_that_is_missing_is_replaced_with_a_word(tmp_path: Path) -> None:
    kernel = {"name": "mine", "language": "python", "display_name": "Mine"}
    path = write(tmp_path, "import sys\nprint(sys.prefix)", kernel=kernel)
    process = start(path)
    log, _ = process.communicate(timeout=60)
    assert (process.returncode, outputs(path)) == (0, [f"{sys.prefix}\n"])
    assert (
        f"hai: the notebook names the kernel 'mine', which is not installed here; it runs with {sys.executable}" in log
    )


def test_a_notebook_that_polls_leaves_by_itself(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    path = write(
        tmp_path,
        "from hai_client import job\nimport time",
        "job.should_suspend()\nprint('polls')",
        "while not job.should_suspend():\n    time.sleep(0.01)\njob.suspended(step=4)",
    )
    process = start(path, HAI_RUNTIME_DIR=str(tmp_path))
    lines_up_to(process, "polls")
    (tmp_path / "notice.json").write_text("{}")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert [path.read_text().count('"saved"') for path in sorted((tmp_path / "reports").glob("*.json"))] == [1, 0]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["import sys\nsys.exit(0)", "print(2)"], "hai: cell 1 has ended the notebook: 1 more cell was not run\n"),
        (["1", "import sys\nsys.exit(0)", "2", "3"], "hai: cell 2 has ended the notebook: 2 more cells were not run\n"),
        (["import sys\nsys.exit(0)"], None),
    ],
)
def test_a_notebook_that_a_cell_ends_says_what_was_not_run(tmp_path: Path, cells: list[str], said: str | None) -> None:
    process = start(write(tmp_path, *cells))
    log, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert (said in log) if said else ("has ended" not in log)


def test_a_byte_order_mark_does_not_matter_and_other_bytes_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, "print('one')")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    process = start(path)
    log, _ = process.communicate(timeout=60)
    assert (process.returncode, outputs(path)) == (0, ["one\n"]), log
    path.write_bytes(path.read_bytes()[3:].replace(b"one", b"\xe9"))
    process = start(path)
    log, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert re.search(r"train\.ipynb is not UTF-8: .* at byte \d+; save it as UTF-8\n$", log)


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


def lines_up_to(process: subprocess.Popen[str], text: str) -> list[str]:
    """What it printed up to that text."""
    assert process.stdout is not None
    end, lines = time.monotonic() + 60, []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return lines
        assert time.monotonic() < end
    raise AssertionError(f"{text!r} was not printed")
