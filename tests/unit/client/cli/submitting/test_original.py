"""`hai python`, `hai bash` and `hai exec`: the original's forms of a submission."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hai_client.names import fits
from unit.client.conftest import Hai


def sent(platform: Any) -> dict[str, Any]:
    (call,) = platform.said("POST", "/tasks")
    body: dict[str, Any] = call.body
    return body


@pytest.mark.parametrize(
    ("words", "command", "nodes"),
    [
        (["python", "digits.py", "--", "-n", "2"], ["python", "-u", "digits.py"], 2),
        (
            ["python", "digits.py", "--lr", "0.1", "-n", "5", "--"],
            ["python", "-u", "digits.py", "--lr", "0.1", "-n", "5"],
            1,
        ),
        (["python", "digits.py", "--", "own", "--", "-n", "2"], ["python", "-u", "digits.py", "--", "own"], 2),
        (["python", "digits.py", "++", "own", "--", "-n", "2"], ["python", "-u", "digits.py", "++", "own"], 2),
        (["bash", "run.sh", "a b", "--", "--nodes", "3"], ["bash", "run.sh", "a b"], 3),
        (["exec", "./train", "-x", "--", "--nodes=3"], ["./train", "-x"], 3),
    ],
)
def test_an_original_form_is_split_at_its_last_separator(
    hai: Hai, platform: Any, clean_environment: Path, words: list[str], command: list[str], nodes: int
) -> None:
    for name in ("digits.py", "run.sh"):
        (clean_environment / name).touch()
    assert hai(*words).code == 0
    assert (sent(platform)["command"], sent(platform)["nodes"]) == (command, nodes)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["python", "src/digits.py", "other.py", "--"], "digits"),
        (["exec", "./train.bin", "--"], "train"),
        (["python", "src/digits.py", "--", "--name", "mine"], "mine"),
    ],
)
def test_an_original_form_is_named_for_its_file(
    hai: Hai, platform: Any, clean_environment: Path, words: list[str], name: str
) -> None:
    (clean_environment / "src").mkdir()
    (clean_environment / "src/digits.py").touch()
    hai(*words)
    assert sent(platform)["name"] == name
    assert fits(name)


def test_original_options_and_numbers_are_understood(hai: Hai, platform: Any, clean_environment: Path) -> None:
    (clean_environment / "digits.py").touch()
    words = ["--", "-n", "2", "-g", "a100", "-p", "30", "-e", "A=1", "--environments", "B=2", "-f"]
    assert hai("python", "digits.py", *words).code == 0
    body = sent(platform)
    assert (body["priority"], body["group"], body["env"]) == ("HIGH", "a100", {"A": "1", "B": "2"})


def here(*words: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "PYTHONPATH": os.pathsep.join(sys.path), **more}
    line = [sys.executable, "-m", "hai_client", *words]
    return subprocess.run(line, cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False)


SHOW = "import os, sys; print(sys.argv[1:], {k: os.environ[k] for k in sorted(os.environ) if k in %r}); sys.exit(5)"


SEEN = ("HAI_STATE", "HAI_RANK", "WORLD_SIZE", "RANK")


def test_without_separator_the_script_runs_here_with_its_own_words_and_status(clean_environment: Path) -> None:
    (clean_environment / "show.py").write_text(SHOW % (SEEN,))
    result = here("python", "show.py", "-n", "2", "--json", cwd=clean_environment)
    assert (result.returncode, result.stdout, result.stderr) == (5, "['-n', '2', '--json'] {}\n", "")


def test_with_plus_signs_an_interruption_is_rehearsed_here(clean_environment: Path) -> None:
    (clean_environment / "show.py").write_text(SHOW % (SEEN,))
    result = here("python", "show.py", "a", "++", "-ss", "60", "--life_state", "7", cwd=clean_environment)
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "run 1 | ['a'] {'HAI_RANK': '0', 'HAI_STATE': '7'}"
    assert "ended by itself" in lines[1]
    assert "with status 5" in lines[1]
    assert lines[-1].startswith("nothing was rehearsed")
    assert "hai: a rehearsal: 60 s from now it is told to leave" in result.stderr


def test_a_notebook_runs_here_with_the_python_that_is_activated(clean_environment: Path) -> None:
    pytest.importorskip("nbclient")
    venv = clean_environment / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").touch()
    # It tells of itself and is no kernel.
    (venv / "bin/python").write_text('#!/bin/sh\necho "$0" > kernel\n')
    (venv / "bin/python").chmod(0o755)
    cell = {"cell_type": "code", "id": "a", "source": "1", "metadata": {}, "outputs": [], "execution_count": None}
    (clean_environment / "nb.ipynb").write_text(
        json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    path = f"{venv}/bin{os.pathsep}{os.environ['PATH']}"
    result = here("python", "nb.ipynb", cwd=clean_environment, VIRTUAL_ENV=str(venv), PATH=path)
    assert result.returncode == 1
    assert (clean_environment / "kernel").read_text() == f"{venv}/bin/python\n"
    assert result.stderr.splitlines()[-1].startswith("hai: the kernel did not start: ")
    assert f"is ipykernel installed in {venv}/bin/python?" in result.stderr
    assert "Traceback" not in result.stderr
