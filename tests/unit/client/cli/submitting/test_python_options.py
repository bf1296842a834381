"""With whose Python a submission runs: the activated environment's, the one that is named, or the platform's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hai_client import own_python
from hai_client.wire.schema import TaskRequest
from unit.client.conftest import Hai


def make(folder: Path, *, conda: bool = False) -> str:
    """Something that looks like an environment; its python says where it is."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").write_text(f"#!/bin/sh\necho {folder}\n")
    (folder / "bin/python").chmod(0o755)
    if conda:
        (folder / "conda-meta").mkdir()
    else:
        (folder / "pyvenv.cfg").touch()
    return str(folder)


def activate(monkeypatch: pytest.MonkeyPatch, folder: str, variable: str = "VIRTUAL_ENV") -> None:
    monkeypatch.setenv(variable, folder)
    monkeypatch.setenv("PATH", f"{folder}/bin{os.pathsep}{os.environ['PATH']}")


def sent(platform: Any) -> dict[str, Any]:
    body: dict[str, Any] = platform.said("POST", "/tasks")[-1].body
    return body


def test_an_activated_venv_is_used_and_said_in_the_answer(
    hai: Hai, platform: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv = make(tmp_path / "torch")
    activate(monkeypatch, venv)
    result = hai("submit", "--", "python", "train.py")
    assert sent(platform)["env"] == {"HAI_VENV": venv}
    assert f"  with the Python of {venv}; --no-venv for the platform's" in result.out.splitlines()


def test_nothing_is_said_and_sent_where_nothing_is_activated(hai: Hai, platform: Any) -> None:
    assert "Python" not in hai("submit", "--", "python", "train.py").out
    assert sent(platform)["env"] == {}


def test_a_conda_environment_is_known_by_its_name_too(
    hai: Hai, platform: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conda = make(tmp_path / "envs/torch", conda=True)
    activate(monkeypatch, conda, "CONDA_PREFIX")
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "my-torch")
    hai("submit", "--", "true")
    assert sent(platform)["env"] == {"HAI_VENV": conda, "CONDA_PREFIX": conda, "CONDA_DEFAULT_ENV": "my-torch"}


def test_of_two_the_one_that_comes_first_on_the_path_counts(
    hai: Hai, platform: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conda, venv = make(tmp_path / "base", conda=True), make(tmp_path / "mine")
    activate(monkeypatch, venv)
    activate(monkeypatch, conda, "CONDA_PREFIX")
    hai("submit", "--", "true")
    assert sent(platform)["env"]["HAI_VENV"] == conda
    activate(monkeypatch, venv)
    hai("submit", "--", "true")
    assert sent(platform)["env"]["HAI_VENV"] == venv


def test_a_haienv_is_found_by_its_programs(
    hai: Hai, platform: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    haienv = make(tmp_path / "torch_0", conda=True)
    activate(monkeypatch, haienv, "UNRELATED")
    hai("submit", "--", "true")
    assert sent(platform)["env"] == {}
    monkeypatch.setenv("HF_ENV_NAME", "torch")
    hai("submit", "--", "true")
    assert sent(platform)["env"]["HAI_VENV"] == haienv


@pytest.mark.parametrize("state", ["not on the path", "removed", "no environment"])
def test_a_variable_that_was_left_behind_is_not_believed(
    hai: Hai, platform: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    folder = tmp_path / "old"
    if state == "not on the path":
        monkeypatch.setenv("VIRTUAL_ENV", make(folder))
    else:
        activate(monkeypatch, str(folder))
    if state == "no environment":
        (folder / "bin").mkdir(parents=True)
    hai("submit", "--", "true")
    assert sent(platform)["env"] == {}


@pytest.mark.parametrize(
    "words", [("--no-venv",), ("--environment", "torch"), ("-e", "HAI_VENV=/opt/other")], ids=lambda words: words[0]
)
def test_what_is_asked_for_wins_over_what_is_activated(
    hai: Hai, platform: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    activate(monkeypatch, make(tmp_path / "torch"))
    hai("submit", *words, "--", "true")
    assert sent(platform)["env"].get("HAI_VENV", "") == ("/opt/other" if "-e" in words else "")


def test_a_folder_that_is_named_wins_over_everything(
    hai: Hai, platform: Any, tmp_path: Path, clean_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    activate(monkeypatch, make(tmp_path / "torch"))
    named = make(clean_environment / "mine")
    hai("submit", "--venv", "mine", "--environment", "torch", "--", "true")
    assert (sent(platform)["env"], sent(platform)["environment"]) == ({"HAI_VENV": named}, "torch")


def test_a_folder_that_is_only_on_the_nodes_is_taken_with_a_word(hai: Hai, platform: Any) -> None:
    result = hai("submit", "--venv", "/opt/nowhere/torch", "--", "true")
    assert sent(platform)["env"] == {"HAI_VENV": "/opt/nowhere/torch"}
    assert result.err == "hai: there is no /opt/nowhere/torch on this machine; it is looked for on the nodes\n"


@pytest.mark.parametrize("name", ["no-such", "."])
def test_a_folder_without_a_python_is_refused(hai: Hai, platform: Any, clean_environment: Path, name: str) -> None:
    result = hai("submit", "--venv", name, "--", "true")
    where = os.path.normpath(clean_environment / name / "bin")
    assert result.code == 2
    assert result.err == f"hai: venv: there is no Python in {where}; give the folder of a venv or conda environment\n"
    assert not platform.said("POST", "/tasks")


def test_both_options_at_once_are_refused(hai: Hai) -> None:
    result = hai("submit", "--venv", "/x", "--no-venv", "--", "true")
    assert result.code == 2
    assert "not allowed with" in result.err


@pytest.mark.parametrize("verb", ["python", "run"])
def test_the_other_ways_of_submitting_take_it_too(
    hai: Hai, platform: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    venv = make(tmp_path / "torch")
    activate(monkeypatch, venv)
    Path("digits.py").touch()
    Path("digits.yml").write_text("version: 2\nname: digits\nspec:\n  workspace: .\n")
    assert hai(*({"python": ("python", "digits.py", "--"), "run": ("run", "digits.yml")}[verb])).code == 0
    assert sent(platform)["env"]["HAI_VENV"] == venv


def test_what_the_service_doubts_is_shown_beside_the_answer(hai: Hai, platform: Any) -> None:
    doubt = "env.HAI_VENV: your tasks see no files of the cluster"
    platform.after = [lambda _rules: None, lambda call: platform.tasks[41].update(warnings=[doubt])]
    result = hai("submit", "-e", "HAI_VENV=/opt/nowhere", "--", "true")
    assert (result.code, result.err) == (0, f"hai: {doubt}\n")


# --- notebooks


KERNEL = """
import subprocess, sys
code = "from hai_client import own_python; print(own_python.noticed())"
sys.stdout.write(subprocess.run(["sh", "-c", sys.argv[1] + ' -c "$0"', code], capture_output=True, text=True).stdout)
"""


@pytest.mark.parametrize("hub", [False, True], ids=["its own", "that of the user's server"])
def test_a_shell_below_a_kernel_has_the_kernels_python(tmp_path: Path, hub: bool) -> None:
    """As with `!hai submit` in a cell, where nothing is activated."""
    venv = tmp_path / "kernel"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    if hub:
        (venv / "bin/jupyterhub-singleuser").touch()
    (tmp_path / "ipykernel_launcher.py").write_text(KERNEL)
    env = {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(own_python.__file__).parents[1])]),
        "PATH": "/usr/bin:/bin",
    }
    env |= {"JUPYTERHUB_SERVICE_PREFIX": "/user/ann/"} if hub else {}
    command = [str(venv / "bin/python"), "-m", "ipykernel_launcher", sys.executable]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ("None" if hub else str(venv))


def test_a_notebooks_own_submission_runs_with_its_kernels_python(
    client: Any, platform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = TaskRequest(name="t", command=("python",), cwd="/", env={"A": "1"})
    client.submit(request)
    assert sent(platform)["env"] == {"A": "1"}
    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", sys)
    monkeypatch.setattr(own_python, "is_environment", lambda folder: folder == sys.prefix)
    client.submit(request)
    assert sent(platform)["env"] == {"A": "1", "HAI_VENV": sys.prefix}
    client.submit(TaskRequest(name="t", command=("python",), cwd="/", environment="torch"))
    assert sent(platform)["env"] == {}
    client.submit(TaskRequest(name="t", command=("python",), cwd="/", env={"HAI_VENV": ""}))
    assert sent(platform)["env"] == {"HAI_VENV": ""}
