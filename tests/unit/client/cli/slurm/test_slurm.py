"""Slurm's commands on the user's side: what an ordinary batch script asks for, and what is said of it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hai_client.cli.slurm import main
from hai_client.cli.slurm.request import asked, exports, seconds_of, signal_of
from hai_client.cli.slurm.script import MAX_BYTES, directives
from hai_client.slurm.options import BadOption, Words
from unit.client import fake_platform as fakes

Run = Callable[..., tuple[int, str, str]]
BASH = "#!/bin/bash\n"


@pytest.fixture
def slurm(platform: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one of the commands in this process against the fake, as alice."""
    monkeypatch.setenv("HAI_URL", platform.url)
    monkeypatch.setenv("HAI_TOKEN", fakes.TOKEN)

    def run(name: str, *words: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = main(name, words)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def sent(platform: Any) -> dict[str, Any]:
    (call,) = platform.said("POST", "/tasks")
    body: dict[str, Any] = call.body
    return body


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
        ("--job-name=digits", "name", "digits"),
        ("-J 'a b/c'", "name", "a-b-c"),
        ("--nodes=1", "name", "train"),
        ("--partition=a100", "group", "a100"),
        ("--qos=high", "priority", "HIGH"),
        ("--chdir=sub", "cwd", "/w/sub"),
        ("--chdir=/abs", "cwd", "/abs"),
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
        ("--signal=KILL@60", r"--signal=KILL@60: HAI sends USR1, USR2, TERM, INT"),
        ("--export=A-B=1", r"'A-B' is no name of a variable"),
        ("--job-name='x", r"line 2: .*No closing quotation"),
    ],
)
def test_what_is_not_understood_is_named_with_its_line(line: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        fields(line)


def test_directives_end_where_the_first_command_begins() -> None:
    text = BASH + "#SBATCH -N 2\n\n# a word\n##SBATCH -N 3\n #SBATCH -N 4\nmodule load x\n#SBATCH -N 5\n"
    assert directives(text).given == {"nodes": "2"}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 300), ("1:30", 90), ("2:00:00", 7200), ("1-0", 86400), ("1-2:30", 95400), ("0-0:0:5", 5), ("0", None),
     ("UNLIMITED", None)],
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
    assert exports("ALL", env) == ({"A": "1"}, ["--path=/p"])
    assert exports("ALL,B=2", env) == ({"A": "1", "B": "2"}, ["--path=/p"])
    assert exports("NONE", env) == ({}, [])
    assert exports("A,C,PATH", env) == ({"A": "1"}, ["--path=/p"])


def test_sbatch_says_the_number_as_programs_read_it(slurm: Run, platform: Any, clean_environment: Path) -> None:
    (clean_environment / "job.sh").write_text(BASH + "#SBATCH -N 2\n#SBATCH --mail-type=END\nsrun true\n")
    code, out, err = slurm("sbatch", "-N", "3", "job.sh", "--epochs", "2")
    assert (code, out) == (0, "Submitted batch job 41\n")
    assert err == (
        "sbatch: line 3: --mail-type=END is left out: HAI sends no mail; `hai logs -f` and the panel show how it goes\n"
    )
    body = sent(platform)
    assert (body["nodes"], body["profile"], body["name"]) == (3, "slurm", "job")
    assert body["command"][0] == "hai-batch"
    assert body["command"][1] == "--script=job.sh"
    assert body["command"][-4:] == [
        "--", BASH + "#SBATCH -N 2\n#SBATCH --mail-type=END\nsrun true\n", "--epochs", "2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (
            ["--script=job.sh", "--path=/b", "--", BASH + "# a\n#SBATCH -N 2\n\n#SBATCH --time=1\nb\n", "-x", "a b"],
            "sbatch job.sh -x 'a b', with #SBATCH -N 2 --time=1",
        ),
        (["--script=job.sh", "--", BASH + "srun a\n#SBATCH -N 2\n"], "sbatch job.sh"),
        (["--", "#!/bin/sh\nhostname -f\n"], "sbatch --wrap='hostname -f'"),
        (["--", BASH + "#SBATCH -N 2\nsrun a\n", "b"], "sbatch b (a script of 3 lines), with #SBATCH -N 2"),
    ],
    ids=["file", "not behind a command", "wrap", "pipe"],
)  # fmt: skip
def test_status_shows_a_batch_script_by_its_name(hai: Any, platform: Any, command: list[str], shown: str) -> None:
    platform.add("digits", command=["hai-batch", *command])
    assert f"  command     {shown}\n" in hai("status", "digits").out


def test_a_script_may_come_from_a_pipe_or_from_a_word(slurm: Run, platform: Any) -> None:
    assert slurm("sbatch", "--parsable", stdin=BASH + "hostname\n")[:2] == (0, "41\n")
    assert sent(platform)["command"][-1] == BASH + "hostname\n"
    assert slurm("sbatch", "-Q", "--wrap", "hostname", "--mem=1G") == (0, "Submitted batch job 42\n", "")
    assert platform.said("POST", "/tasks")[-1].body["command"][-1] == "#!/bin/sh\nhostname\n"


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (["none.sh"], "", "none.sh: cannot be read: No such file or directory"),
        ([], "echo\n", "its first line must be #!"),
        ([], "#!/bin/sh\r\necho\r\n", "line breaks of DOS"),
        ([], BASH + "x" * MAX_BYTES, "longer than 100 KiB"),
        (["--wrap=a", "b"], "", "give a script or --wrap"),
        (["--array=1"], "", "--array=1: HAI knows no arrays"),
    ],
)
def test_what_cannot_be_submitted_is_said_in_a_line(
    slurm: Run, platform: Any, words: list[str], stdin: str, message: str
) -> None:
    code, out, err = slurm("sbatch", *words, stdin=stdin)
    assert (code, out) == (1, "")
    assert err.startswith("sbatch: error: ")
    assert message in err
    assert platform.said("POST", "/tasks") == []


def test_squeue_and_sacct_show_tasks(slurm: Run, platform: Any) -> None:
    platform.add("digits", state="running", node_names=["node-1", "node-2"])
    code, out, _ = slurm("squeue", "-h", "-o", "%i|%j|%t|%D|%R")
    assert (code, out) == (0, "41|digits|R|2|node-1,node-2\n")
    code, out, _ = slurm("sacct", "-o", "JobID,State,NodeList", "--parsable2", "-j", "41", "-j", "999")
    assert (code, out) == (0, "JobID|State|NodeList\n41|RUNNING|node-1,node-2\n")


def test_scancel_stops_tasks_and_names_those_that_are_not_there(slurm: Run, platform: Any) -> None:
    platform.add("digits")
    code, _, err = slurm("scancel", "41", "999")
    assert (code, err) == (1, "scancel: error: Kill job error on job id 999: Invalid job id specified\n")
    assert len(platform.said("POST", "/tasks/41/stop")) == 1
    assert slurm("scancel")[0] == 1
    assert "HAI sends no signals by hand" in slurm("scancel", "-s", "USR1", "41")[2]


def test_scontrol_steers_and_shows(slurm: Run, platform: Any) -> None:
    platform.add("digits")
    assert slurm("scontrol", "show", "hostnames", "n[1-2]")[:2] == (0, "n1\nn2\n")
    assert slurm("scontrol", "show", "job", "41")[1].startswith("JobId=41 JobName=digits UserId=alice")
    assert slurm("scontrol", "hold", "41")[0] == 0
    assert slurm("scontrol", "release", "41")[0] == 0
    assert [len(platform.said("POST", f"/tasks/41/{verb}")) for verb in ("hold", "resume")] == [1, 1]
    assert "not known" in slurm("scontrol", "update", "JobId=41")[2]


def test_srun_submits_and_starts_several_on_each_node(slurm: Run, platform: Any) -> None:
    words = asked(Words(), name="x", cwd="/w", env={}).fields
    assert words["profile"] == "slurm"
    assert "nodes cannot be chosen" in slurm("srun", "-w", "node-1", "true")[2]
    assert "do not take as many each" in slurm("srun", "-N2", "-n3", "true")[2]


def test_env_puts_the_commands_on_path(hai: Callable[..., Any]) -> None:
    result = hai("slurm", "env")
    assert result.code == 0
    line = result.out.strip()
    assert line.startswith("export PATH=")
    assert line.endswith(':"$PATH"')
    folder = Path(line.removeprefix("export PATH=").partition(":")[0])
    assert {"sbatch", "srun", "squeue", "scancel", "sacct", "scontrol"} <= {each.name for each in folder.iterdir()}
