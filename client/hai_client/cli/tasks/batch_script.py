"""Shows the command of a batch job as it was submitted, without the text of the script."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath

_NAMED = "--script="


def batch_script(command: Sequence[str]) -> str | None:
    """Return for example `sbatch job.sh --epochs 2, with #SBATCH -N 2 -t 1:00:00`; None: `sbatch` did not submit it.

    Args:
        command: The words of the task's command.
    """
    words = list(command)
    if not words or PurePath(words[0]).name != "hai-batch" or "--" not in words[:-1]:
        return None
    at = words.index("--")
    text, arguments = words[at + 1], words[at + 2 :]
    file = next((word[len(_NAMED) :] for word in words[:at] if word.startswith(_NAMED)), "")
    found = _directives(text)
    lines = text.splitlines()
    if not file and not found and len(lines) == 2:
        # The script that `--wrap` makes.
        return f"sbatch --wrap={shlex.quote(lines[1])}"
    called = ["sbatch", *([file] if file else []), *arguments]
    script = shlex.join(called) if file else f"{shlex.join(called)} (a script of {len(lines)} lines)"
    return f"{script}, with #SBATCH {' '.join(found)}" if found else script


def _directives(text: str) -> list[str]:
    """Return the options in the `#SBATCH` lines before the first command; Slurm ignores later ones."""
    found = []
    for line in text.split("\n"):
        if line.startswith("#SBATCH"):
            found.append(line[len("#SBATCH") :].strip())
        elif line.strip() and not line.lstrip().startswith("#"):
            break
    return [words for words in found if words]
