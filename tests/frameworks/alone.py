"""Scripts in the style of those for the original, on this machine alone: several trainers, no platform."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from frameworks.preloaded import only_node, preloaded

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).with_name("hfai_scripts")
ABORTED_AT_ITS_END = "terminate called without an active exception"


class Run(Protocol):
    """A function that runs a script as the only node."""

    def __call__(self, script: str, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end, with these words and environment variables."""


def environment() -> dict[str, str]:
    """The environment of a script, but for its node."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HAI_", "HFAI_"))}
    # What is under test comes first; where hai_ffrecord is besides, the caller says.
    path = os.pathsep.join([str(ROOT / "client/hfai"), str(ROOT / "client"), env.get("PYTHONPATH", "")])
    return env | {"PYTHONPATH": path}


def run_afresh(script: str, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a Python of its own, which starts one for each trainer."""
    command = [sys.executable, str(SCRIPTS / script), *map(str, words)]
    env = environment() | only_node() | variables
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)


@contextmanager
def forking(printed: Path) -> Iterator[Run]:
    """A function that runs a script in processes that have PyTorch already (`preloaded.py`).

    Args:
        printed: A folder for what they print.
    """
    with preloaded(sys.executable, environment(), printed) as process:

        def run_forked(script: str, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
            return process.run(SCRIPTS / script, [*map(str, words)], variables)

        yield run_forked


def said(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The lines that a script printed, by their first words.

    Now and then PyTorch aborts a trainer whose training is over, while Python ends: a thread of Gloo asks for the
    interpreter, which is gone (pytorch/pytorch issue 190489). What the trainer printed before counts all the same.
    """
    assert done.returncode == 0 or ABORTED_AT_ITS_END in done.stderr, done.stderr
    return dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
