"""The command `hfai`: `hai` with the options of the original's command.

`hfai python train.py -- -n 8 -p 30` submits, `hfai python train.py` runs the script here. Options of the original that
HAI has under another name are translated; options without a meaning here are left out with a message.
"""

from __future__ import annotations

import sys
from typing import Sequence

from hfai.client._words import NEAREST

#: Verbs after which options follow the last `--`.
_STARTS = frozenset({"bash", "exec", "python"})
#: Flags of the original without a meaning here, and why.
_WITHOUT = {
    "--force": "nothing is copied to the cluster",
    "--no_checksum": "nothing is copied to the cluster",
    "--no_diff": "nothing is copied to the cluster",
    "--no_hfignore": "nothing is copied to the cluster",
    "--no_zip": "nothing is copied to the cluster",
    "--no_inherit": "name the Python with --environment",
}
#: The original's name for its own default group.
_GROUPS = ("default",)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see `hai_client.cli.main` for what it returns."""
    from hai_client.cli import main as hai

    return hai(translate(list(sys.argv[1:] if argv is None else argv)))


def translate(words: list[str]) -> list[str]:
    """Return the arguments for `hai`. Only options after the last `--` of a submission are changed."""
    if not words or words[0] not in _STARTS or "--" not in words:
        return words
    at = len(words) - 1 - words[::-1].index("--")
    return [*words[: at + 1], *_options(words[at + 1 :])]


def _options(words: list[str]) -> list[str]:
    kept: list[str] = []
    for word in words:
        if word in _WITHOUT:
            print(f"hfai: {word} is left out: {_WITHOUT[word]}", file=sys.stderr)
        elif kept and kept[-1] in ("-p", "--priority"):
            kept.append(NEAREST.get(word, word))
        elif word in _GROUPS and kept and kept[-1] in ("-g", "--group"):
            # HAI's own default is the group that has the GPU nodes.
            kept.pop()
        else:
            kept.append(word)
    return kept
