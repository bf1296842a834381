"""The command of a batch job as its user wrote it."""

from __future__ import annotations

import pytest

from hai_client.cli.tasks.batch_script import batch_script

HEAD = "#!/bin/bash\n"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["hai-batch", "--script=job.sh", "--", HEAD + "srun a\n"], "sbatch job.sh"),
        (["/shims/hai-batch", "--script=job.sh", "--", HEAD, "--epochs", "2"], "sbatch job.sh --epochs 2"),
        (["hai-batch", "--script=my job.sh", "--", HEAD, "a b"], "sbatch 'my job.sh' 'a b'"),
        (
            ["hai-batch", "--script=job.sh", "--", HEAD + "#SBATCH -N 2\n# why\n\n#SBATCH -t 1:00:00\nsrun a\n"],
            "sbatch job.sh, with #SBATCH -N 2 -t 1:00:00",
        ),
        # Slurm ignores what comes after the first command.
        (["hai-batch", "--script=job.sh", "--", HEAD + "cd x\n#SBATCH -N 9\n"], "sbatch job.sh"),
        (["hai-batch", "--script=job.sh", "--", HEAD + "#SBATCH\nsrun a\n"], "sbatch job.sh"),
        (["hai-batch", "--", "#!/bin/sh\npython 'a b.py'"], "sbatch --wrap='python '\"'\"'a b.py'\"'\"''"),
        (["hai-batch", "--", HEAD + "a\nb\n"], "sbatch (a script of 3 lines)"),
        (["hai-batch", "--", HEAD + "#SBATCH -N 2\n"], "sbatch (a script of 2 lines), with #SBATCH -N 2"),
        (["hai-batch", "--other", "--script=a.sh", "--", HEAD, "--", "x"], "sbatch a.sh -- x"),
    ],
)
def test_a_script_is_shown_by_its_name_and_its_directives(command: list[str], shown: str) -> None:
    assert batch_script(command) == shown


@pytest.mark.parametrize(
    "command",
    [[], ["python", "train.py", "--", "x"], ["hai-batch"], ["hai-batch", "--script=a.sh"], ["hai-batch", "--"]],
)
def test_another_command_is_none(command: list[str]) -> None:
    assert batch_script(command) is None
