"""Files that are submitted run as one expects, and variables of ranks are not lost on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hai_client.cli.submitting.scripts import command_of, unexpanded
from unit.client.conftest import Hai

NOTEBOOK = ["python", "-m", "hai_client.notebook"]


def sent(platform: Any) -> dict[str, Any]:
    body: dict[str, Any] = platform.said("POST", "/tasks")[-1].body
    return body


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        (["train.py", "--lr", "1"], ["python", "-u", "train.py", "--lr", "1"]),
        (["src/train.py"], ["python", "-u", "src/train.py"]),
        (["run.sh", "a b"], ["bash", "run.sh", "a b"]),
        (["nb.ipynb"], [*NOTEBOOK, "nb.ipynb"]),
        (["NB.IPYNB", "--output", "x"], [*NOTEBOOK, "NB.IPYNB", "--output", "x"]),
        (["-odd.py"], ["python", "-u", "./-odd.py"]),
        (["python", "nb.ipynb"], [*NOTEBOOK, "nb.ipynb"]),
        (["/opt/bin/python3.11", "-u", "nb.ipynb"], ["/opt/bin/python3.11", "-m", "hai_client.notebook", "nb.ipynb"]),
        (["./tool.py", "x"], ["./tool.py", "x"]),
        (["python", "train.py", "nb.ipynb"], ["python", "train.py", "nb.ipynb"]),
        (["python", "-m", "jupyter", "nb.ipynb"], ["python", "-m", "jupyter", "nb.ipynb"]),
        (["torchrun", "train.py"], ["torchrun", "train.py"]),
        (["train"], ["train"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_file_is_run_by_what_it_is(tmp_path: Path, typed: list[str], command: list[str]) -> None:
    for name, mode in (("tool.py", 0o755), ("train.py", 0o755)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    assert command_of(typed, str(tmp_path)) == command


def test_submit_and_the_original_form_agree_on_notebooks(hai: Hai, platform: Any, clean_environment: Path) -> None:
    (clean_environment / "nb.ipynb").write_text("{}")
    hai("submit", "nb.ipynb")
    first = sent(platform)
    hai("python", "nb.ipynb", "--")
    assert (first["command"], first["name"]) == ([*NOTEBOOK, "nb.ipynb"], "nb")
    assert (sent(platform)["command"], sent(platform)["name"]) == (first["command"], "nb")


def test_a_line_of_shell_is_for_bash_and_named_for_what_it_runs(hai: Hai, platform: Any) -> None:
    line = "cd src && torchrun train.py --master $MASTER_ADDR"
    result = hai("submit", "-n", "2", "--shell", line)
    assert (result.code, result.err) == (0, "")
    body = sent(platform)
    assert (body["command"], body["name"], body["nodes"]) == (["bash", "-c", line], "train", 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--shell", "a", "--", "b"],
            "shell: the line is all that runs, and 'b' stands beside it; put it into the line",
        ),
        (["--shell", " "], "shell: the line is empty; write for example --shell 'torchrun train.py > $HAI_RANK.txt'"),
    ],
)
def test_a_line_that_cannot_be_meant_is_refused(hai: Hai, platform: Any, words: list[str], message: str) -> None:
    result = hai("submit", *words)
    assert (result.code, result.err) == (2, f"hai: {message}\n")
    assert not platform.said("POST", "/tasks")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["torchrun", "--master_addr", "$MASTER_ADDR", "train.py"], "MASTER_ADDR"),
        (["echo", "rank ${HAI_RANK}!"], "HAI_RANK"),
        (["python", "train.py", "--node=$SLURM_NODEID"], "SLURM_NODEID"),
    ],
)
def test_a_variable_that_is_not_expanded_is_explained_and_the_task_submitted(
    hai: Hai, platform: Any, command: list[str], name: str
) -> None:
    result = hai("submit", "--", *command)
    assert result.code == 0
    assert result.err.startswith(f"hai: your command has ${name}, which no shell will expand: use --shell")
    assert sent(platform)["command"] == command


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "-c", "echo $RANK"],
        ["/bin/sh", "-ec", "echo $RANK"],
        ["nice", "bash", "-c", "echo $MASTER_ADDR"],
        ["echo", "$HOME", "costs 5$"],
        ["echo", "$RANKING"],
        ["echo", "MASTER_ADDR"],
    ],
    ids=lambda value: " ".join(value),
)
def test_what_a_shell_expands_or_no_rank_has_needs_no_word(command: list[str]) -> None:
    assert unexpanded(command) is None
