"""From the options of a batch script to a request for a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hai_slurm.shared.getting import BadOption
from hai_slurm.users.request import asked, exports, seconds_of, signal_of
from hai_slurm.users.script import directives

Run = Callable[..., tuple[int, str, str]]


BASH = "#!/bin/bash\n"


def fields(*lines: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """What a script with these directives asks for."""
    words = directives(BASH + "".join(f"#SBATCH {line}\n" for line in lines))
    return asked(words, name="train.sh", cwd="/w", env=env or {}).fields


def batch(*lines: str) -> tuple[str, ...]:
    """What `hai-batch` is told by these directives."""
    words = directives(BASH + "".join(f"#SBATCH {line}\n" for line in lines))
    return asked(words, name="train.sh", cwd="/w", env={}).batch


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("--nodes=2", "nodes", 2),
        ("-N 2", "nodes", 2),
        ("-N2-4", "nodes", 2),
        ("--ntasks=8 --ntasks-per-node=4", "nodes", 2),
        ("--ntasks=9 --ntasks-per-node=4", "nodes", 3),
        ("--ntasks=4", "nodes", 1),
        ("--gpus-per-node=4", "gpus", 4),
        ("--gpus-per-node=a100:4", "gpus", 4),
        ("--gres=gpu:2", "gpus", 2),
        ("--gres=gpu:a100:2", "gpus", 2),
        ("--gres=gpu", "gpus", 1),
        ("-N2 --gpus=8", "gpus", 4),
        ("--gpus-per-task=1 --ntasks-per-node=4", "gpus", 4),
        ("--nodes=2", "gpus", None),
        ("--time=90", "time_limit_s", 5400.0),
        ("-t 1-12", "time_limit_s", 129_600.0),
        # No GPUs asked for: whole nodes, as everywhere in HAI.
        ("--gpus=0", "gpus", None),
        ("--gpus=none", "gpus", None),
        ("--gpus-per-node=0", "gpus", None),
        ("--gpus-per-node=a100:0", "gpus", None),
        ("--gpus-per-task=0", "gpus", None),
        ("--gres=gpu:0", "gpus", None),
        ("--ntasks-per-gpu=1", "gpus", None),
        ("-n 4 --ntasks-per-gpu=2", "gpus", 2),
        ("-N 2 -n 8 --ntasks-per-gpu=1", "gpus", 4),
        ("--gres=gpu:2 --ntasks-per-gpu=2", "gpus", 2),
        ("--job-name=digits", "name", "digits"),
        ("-J 'a b/c'", "name", "a-b-c"),
        ("--nodes=1", "name", "train"),
        ("--partition=a100", "group", "a100"),
        ("--qos=high", "priority", "HIGH"),
        ("--chdir=sub", "cwd", "/w/sub"),
        ("--chdir=/abs", "cwd", "/abs"),
        ("--checkpoint-dir=saved", "checkpoint_dir", "/w/saved"),
        ("--chdir=sub --checkpoint-dir saved", "checkpoint_dir", "/w/sub/saved"),
        ("--nodes=1", "checkpoint_dir", None),
        ("--comment='a run'", "tags", ("a run",)),
        ("--hold", "hold", True),
        ("--requeue", "profile", "slurm"),
        ("--signal=B:USR1@300", "grace_s", 300.0),
        ("--signal=USR1", "grace_s", None),
        ("--nodes=3 # as many as we may", "nodes", 3),
    ],
)
def test_a_directive_is_understood(line: str, field: str, value: object) -> None:
    assert fields(line)[field] == value


def test_what_steps_need_to_know_goes_with_the_script() -> None:
    lines = ("--ntasks-per-node=4 --ntasks=8", "-o %j.out -e %j.err --open-mode=append", "-c 8 --signal=B:USR1@60")
    assert set(batch(*lines)) >= {
        "--ntasks-per-node=4",
        "--ntasks=8",
        "--output=%j.out",
        "--error=%j.err",
        "--open-mode=append",
        "--cpus-per-task=8",
        "--signal-shell",
    }
    assert "--signal-shell" not in batch("--signal=USR1@60")
    assert "--ntasks-per-node=4" in batch("--gres=gpu:2 --ntasks-per-gpu=2")
    assert not [word for word in batch("--gpus-per-task=0") if "gpus" in word]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--array=1-10", r"line 2: --array=1-10: HAI knows no arrays: submit the script in a loop"),
        ("--dependency=afterok:1", r"line 2: --dependency=afterok:1: HAI knows no dependencies"),
        ("--frobnicate", r"line 2: --frobnicate: not an option that HAI knows of"),
        ("train.py", r"line 2: 'train.py' is no option"),
        ("--nodes=two", r"--nodes=two: give a whole number"),
        ("--nodes", r"line 2: --nodes: a value is missing"),
        ("--gres=shard:1", r"--gres=shard:1: HAI gives out GPUs alone"),
        ("-N 3 --gpus=8", r"--gpus=8: 3 nodes cannot share them evenly; say --gpus-per-node"),
        ("--time=soon", r"--time=soon: write minutes"),
        ("--time=1h", r"--time=1h: write minutes"),
        ("--time=2:", r"--time=2:: write minutes"),
        ("--time=1-1:", r"--time=1-1:: write minutes"),
        ("--time=:30", r"--time=:30: write minutes"),
        ("--gpus=many", r"--gpus=many: give a number of GPUs"),
        ("--tres-per-task=cpu:2", r"line 2: --tres-per-task=cpu:2: name GPUs with --gpus-per-task"),
        ("--signal=KILL@60", r"--signal=KILL@60: HAI sends USR1, USR2, TERM, INT"),
        ("--export=A-B=1", r"'A-B' is no name of a variable"),
        ("--job-name='x", r"line 2: .*No closing quotation"),
    ],
)
def test_what_is_not_understood_is_named_with_its_line(line: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        fields(line)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 300), ("1:30", 90), ("2:00:00", 7200), ("1-0", 86400), ("1-2:30", 95400), ("0-0:0:5", 5), ("0", None),
     ("1-", 86400), ("1-2", 93600), ("1-2:3:4", 93784), ("90:90", 5490), ("UNLIMITED", None), ("infinite", None),
     ("-1", None)],
)  # fmt: skip
def test_lengths_of_time_are_those_of_slurm(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("USR1", (False, "USR1", None)),
        ("SIGUSR2@90", (False, "USR2", 90.0)),
        ("B:10@60", (True, "USR1", 60.0)),
        ("BR:term", (True, "TERM", None)),
        ("R:INT", (False, "INT", None)),
    ],
)
def test_signals_are_read_as_slurm_writes_them(text: str, found: tuple[bool, str, float | None]) -> None:
    assert signal_of(text) == found


def test_variables_are_handed_on_as_with_slurm_but_for_those_of_the_session() -> None:
    env = {"PATH": "/p", "A": "1", "HOME": "/h", "HAI_TOKEN": "secret", "SLURM_JOB_ID": "4", "RANK": "3",
           "JUPYTERHUB_API_TOKEN": "secret", "BASH_FUNC_x%%": "f", "SSH_AUTH_SOCK": "s"}  # fmt: skip
    assert exports("ALL", env) == ({"A": "1"}, ["--path=/p"], [])
    assert exports("ALL,B=2", env) == ({"A": "1", "B": "2"}, ["--path=/p"], [])
    assert exports("NONE", env) == ({}, [], [])
    assert exports("A,C,PATH", env) == ({"A": "1"}, ["--path=/p"], [])


def test_what_nobody_has_named_is_left_out_if_it_is_not_utf8() -> None:
    """Slurm hands the bytes on; here a line says what is not handed on, and the shell can submit."""
    env = {"LESSMARK": "\udcff", "A": "1", "PATH": "/p:/d\udce9"}
    assert exports("ALL", env) == (
        {"A": "1"},
        ["--path=/p"],
        [
            "the variable LESSMARK is left out: its value, '\\xff', is not UTF-8",
            "PATH: '/d\\xe9' is left out: it is not UTF-8",
        ],
    )
    # What is named is refused with its name when it is sent, not left out.
    assert exports("LESSMARK", env) == ({"LESSMARK": "\udcff"}, [], [])
