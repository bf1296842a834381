"""Users' own Python, notebooks and shell lines on the whole platform; `hai` from other Pythons."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import ROOT, Platform
from kit.interpreters import interpreter
from kit.waiting import wait_for

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A venv with a package that no other environment has."""
    folder = tmp_path_factory.mktemp("own") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "marker.py").write_text("print('the marker of', __import__('sys').prefix)\n")
    return folder


def activated(platform: Platform, venv: Path) -> dict[str, str]:
    """The environment of a shell in which it is activated; `hai` is the platform's."""
    path = os.pathsep.join([str(venv / "bin"), str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    return platform.env | {"VIRTUAL_ENV": str(venv), "PATH": path}


def hai(env: dict[str, str], cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "hai"), *words]
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def ended(platform: Platform, task: str) -> dict[str, Any]:
    def look() -> dict[str, Any]:
        shown: dict[str, Any] = platform.json("status", task)
        return shown if shown["state"] in ("succeeded", "failed", "stopped") else {}

    return wait_for(f"task {task} to end", look)


def test_an_activated_venv_is_what_the_task_runs_with(platform: Platform, venv: Path, tmp_path: Path) -> None:
    done = hai(
        activated(platform, venv), tmp_path, "submit", "--name", "own", "-f", "--", "python", "-c", "import marker"
    )
    assert f"with the Python of {venv}; --no-venv for the platform's" in done.stdout
    assert f"the marker of {venv}" in done.stdout


def test_without_it_the_platforms_runs(platform: Platform, venv: Path, tmp_path: Path) -> None:
    words = ("submit", "--no-venv", "--name", "plain", "--", "python", "-c", "import marker")
    hai(activated(platform, venv), tmp_path, *words)
    assert ended(platform, "plain")["state"] == "failed"
    assert "No module named 'marker'" in platform.hai("logs", "plain").stdout


def test_a_venv_that_is_not_there_is_refused(platform: Platform, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).parent / "hai"), "submit", "--venv", "/no/such", "--", "python", "-V"]
    done = subprocess.run(command, env=platform.env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "there is no Python in '/no/such' on the platform's machine" in done.stderr
    assert "correct --venv" in done.stderr


def test_files_and_lines_of_shell_run_as_one_expects(platform: Platform, venv: Path, tmp_path: Path) -> None:
    env = activated(platform, venv)
    (tmp_path / "train.py").write_text("import marker, sys; print('words', sys.argv[1:])")
    (tmp_path / "run.sh").write_text('echo "shell $1 rank $HAI_RANK"; python -c "import marker"')
    assert "words ['--lr', '1']" in hai(env, tmp_path, "submit", "-f", "train.py", "--lr", "1").stdout
    shown = hai(env, tmp_path, "submit", "-f", "run.sh", "a b").stdout
    assert "shell a b rank 0" in shown
    assert f"the marker of {venv}" in shown
    assert (
        "master 127.0.0.1 of 1"
        in hai(env, tmp_path, "submit", "-f", "--shell", "echo master $MASTER_ADDR of $HAI_NODES").stdout
    )


def test_a_notebook_is_submitted_like_any_file(platform: Platform, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print('from a cell')")])
    nbformat.write(document, tmp_path / "nb.ipynb")
    shown = hai(platform.env, tmp_path, "submit", "-f", "nb.ipynb").stdout
    assert "from a cell" in shown
    assert "WARNING" not in shown
    (kept,) = tmp_path.glob("nb.hai-*.ipynb")
    assert nbformat.read(kept, as_version=4).cells[0].outputs[0].text == "from a cell\n"


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_the_command_of_another_python_submits_lists_and_shows_logs(
    platform: Platform, tmp_path: Path, version: str
) -> None:
    python = interpreter(version)
    env = {**platform.env, "PYTHONPATH": str(ROOT / "client"), "PYTHONDONTWRITEBYTECODE": "1"}

    def there(*words: str) -> str:
        command = [python, "-W", "error", "-m", "hai_client", *words]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    task = json.loads(there("submit", "--json", "--no-venv", "--name", "old", "--", "echo", f"hello from {version}"))
    ended(platform, str(task["id"]))
    assert f"hello from {version}" in there("logs", str(task["id"]))
    assert "old" in there("list", "--all")
    for words in (("status", "old"), ("describe", "old"), ("decisions", "old"), ("nodes",), ("quota",), ("whoami",)):
        assert there(*words)
    assert "hello" in there("submit", "-f", "--no-venv", "--name", "followed", "--", "echo", "hello")
