"""Scripts for the original read RANK and WORLD_SIZE everywhere, also on one node."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({"HAI_NODES": "1"}, "0 1"),
        ({"HAI_NODES": "1", "RANK": "2", "WORLD_SIZE": "4"}, "2 4"),
        ({"HAI_NODES": "2", "RANK": "1", "WORLD_SIZE": "2"}, "1 2"),
        ({}, "None None"),
    ],
    ids=["a task on one node", "a process that was counted", "two nodes", "no task"],
)
def test_the_place_of_a_script_that_imports_hfai(given: dict[str, str], seen: str) -> None:
    code = "import hfai, os; print(os.environ.get('RANK'), os.environ.get('WORLD_SIZE'))"
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), **given}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == seen
