"""Which lines of a batch script are directives."""

from __future__ import annotations

from hai_client.cli.slurm.script import directives

BASH = "#!/bin/bash\n"


def test_directives_end_where_the_first_command_begins() -> None:
    text = BASH + "#SBATCH -N 2\n\n# a word\n##SBATCH -N 3\n #SBATCH -N 4\nmodule load x\n#SBATCH -N 5\n"
    assert directives(text).given == {"nodes": "2"}
