"""Which lines of a batch script are directives."""

from __future__ import annotations

import pytest

from hai_slurm.users.script import directives

BASH = "#!/bin/bash\n"


def test_directives_end_where_the_first_command_begins() -> None:
    text = BASH + "#SBATCH -N 2\n\n# a word\n##SBATCH -N 3\n #SBATCH -N 4\nmodule load x\n#SBATCH -N 5\n"
    assert directives(text).given == {"nodes": "2"}


@pytest.mark.parametrize("letter", ["\x85", "\u2028", "\x0c", "\x1c"])
def test_a_line_ends_where_it_ends_for_a_shell(letter: str) -> None:
    # In scripts of Windows-1252 `\x85` is the three dots.
    assert directives(f"{BASH}# and so on{letter} it goes\n#SBATCH -N 2\n").given == {"nodes": "2"}
