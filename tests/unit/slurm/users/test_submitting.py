"""`sbatch` and `srun` on the user's side: what they submit, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hai_slurm.shared.options import Words
from hai_slurm.users.request import asked
from hai_slurm.users.script import MAX_BYTES

Run = Callable[..., tuple[int, str, str]]


BASH = "#!/bin/bash\n"


def sent(platform: Any) -> dict[str, Any]:
    (call,) = platform.said("POST", "/tasks")
    body: dict[str, Any] = call.body
    return body


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
        (
            [],
            b"\xef\xbb\xbf#!/bin/sh\necho\n",
            "begins with a byte order mark, before its #!: save it as UTF-8 without BOM",
        ),
        ([], "#!/bin/sh\necho\n".encode("utf-16"), "the script is UTF-16: save it as UTF-8 without BOM"),
        (["job\udce9"], "", "cannot be read"),
        (
            ["--export=A=\udce9", "--wrap=a"],
            "",
            "env: the value of A, '\\xe9', is not UTF-8: set it again",
        ),
        (
            ["--wrap=echo \udce9"],
            "",
            "'#!/bin/sh echo \\xe9 ' is not UTF-8: rename the file that it is, or put it into a file",
        ),
        (["--comment=\udce9", "--wrap=a"], "", "tags: '\\xe9' is not UTF-8: write it in UTF-8"),
        (
            ["-D", "/d\udce9", "--wrap=a"],
            "",
            "cwd: '/d\\xe9' is not UTF-8: rename the folder, or start in another one",
        ),
        ([], BASH + "x" * MAX_BYTES, "longer than 100 KiB"),
        (["--wrap=a", "b"], "", "give a script or --wrap"),
        (["--array=1"], "", "--array=1: HAI knows no arrays"),
    ],
)
def test_what_cannot_be_submitted_is_said_in_a_line(
    slurm: Run, platform: Any, words: list[str], stdin: str | bytes, message: str
) -> None:
    code, out, err = slurm("sbatch", *words, stdin=stdin)
    assert (code, out) == (1, "")
    assert err.startswith("sbatch: error: ")
    assert message in err
    assert platform.said("POST", "/tasks") == []


def test_a_shell_with_an_odd_variable_can_submit(
    slurm: Run, platform: Any, clean_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LESSMARK", "\udcff")
    code, out, err = slurm("sbatch", stdin=BASH + "echo ok\n")
    assert (code, out) == (0, "Submitted batch job 41\n")
    assert err == "sbatch: the variable LESSMARK is left out: its value, '\\xff', is not UTF-8\n"
    assert "LESSMARK" not in sent(platform)["env"]


def test_a_script_of_other_bytes_runs_as_it_is(slurm: Run, platform: Any, tmp_path: Path) -> None:
    script = b"#!/bin/bash\n#SBATCH -N 2\n# donn\xe9es\necho \xff\n"
    assert slurm("sbatch", stdin=script)[:2] == (0, "Submitted batch job 41\n")
    body = sent(platform)
    assert body["nodes"] == 2
    words = body["command"]
    assert "--encoding=latin-1" in words
    assert words[-1].encode("latin-1") == script


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
