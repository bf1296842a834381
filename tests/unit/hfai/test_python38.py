"""hai-hfai is installed into images with a Python of their own, from 3.8 on."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path

import pytest

from unit.client.test_python38 import newer_in

SOURCE = Path(__file__).parents[3] / "client/hfai"
NAMES = sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_written_for_python_3_8(name: str) -> None:
    tree = ast.parse((SOURCE / name).read_text(encoding="utf-8"), filename=name, feature_version=(3, 8))
    assert list(newer_in(tree)) == []


def test_a_real_python_3_8_imports_what_needs_no_torch() -> None:
    python = os.environ.get("HAI_TEST_PYTHON38")
    if not python:
        pytest.skip("set HAI_TEST_PYTHON38 to the path of a python3.8")
    code = (
        "import sys, hfai.cli, hf_env, hfai_env, haiscale, hfreduce.torch, hfai\n"
        "assert hfai.cli.translate(['python', 'a.py', '--', '-p', '8'])[-1] == 'BELOW_NORMAL'\n"
        "print(sys.version_info[:2], hfai.receive_suspend_command(), hfai.task_id())"
    )
    env = {"PYTHONPATH": os.pathsep.join([str(SOURCE), str(SOURCE.parent)]), "PATH": os.environ["PATH"]}
    done = subprocess.run([python, "-W", "error", "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("(3, 8) False -1\n", "")
