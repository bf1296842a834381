"""Tests of a group are run by one worker, one after the other; which they are is known by their ids."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[2]
CONFTEST = """
from kit.groups import scheduling

def pytest_xdist_make_scheduler(config, log):
    return scheduling(config, log, lambda nodeid: nodeid.partition("[")[2].partition("-")[0])
"""
SUITE = """
import os
import pytest

@pytest.mark.parametrize("name", ["a-1", "b-1", "c-1", "d-1", "a-2", "b-2", "c-2", "d-2"])
def test_which_worker(name):
    with open("ran", "a") as file:
        file.write(f"{name} {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


def group_of(suite: str, nodeid: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"conftest_of_{suite}", TESTS / suite / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        # Tests of this process may have imported what the suite's own process has not.
        warnings.simplefilter("ignore", pytest.PytestAssertRewriteWarning)
        spec.loader.exec_module(module)
    return module.group_of(nodeid)


def test_a_group_is_run_by_one_worker(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_groups.py").write_text(SUITE)
    (tmp_path / "pytest.ini").touch()
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadscope"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [*words, "test_groups.py"], cwd=tmp_path, env=env | {"PYTHONPATH": str(TESTS)}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert len(ran) == 8
    assert {worker for _, worker in ran} == {"gw0", "gw1"}
    assert len({(name[0], worker) for name, worker in ran}) == 4


@pytest.mark.parametrize(
    ("suite", "nodeid", "group"),
    [
        ("frameworks", "tests/frameworks/test_cases.py::test_a_case[hf-trainer-jit-resumes]", "hf-trainer-jit"),
        ("frameworks", "tests/frameworks/test_cases.py::test_a_case[hf-trainer-jit-word]", "hf-trainer-jit"),
        ("frameworks", "tests/frameworks/test_hfai_platform.py::test_x[try_save.py]", None),
        ("frameworks", "tests/frameworks/test_profiles.py::test_x", "test_profiles.py"),
        ("kubernetes", "tests/kubernetes/test_contract.py::test_x[real kubelets]", "test_contract real kubelets"),
        ("kubernetes", "tests/kubernetes/test_contract.py::test_x[since 1.27-3]", "test_contract since 1.27"),
        ("kubernetes", "tests/kubernetes/test_words.py::test_x", "cpus"),
        ("kubernetes", "tests/kubernetes/test_chart.py::test_x[pods]", "cpus"),
        ("kubernetes", "tests/kubernetes/test_nodes.py::test_x", "gpus"),
        ("kubernetes", "tests/kubernetes/test_faults.py::test_x", "test_faults"),
    ],
)
def test_groups_of_the_suites_that_share_something(suite: str, nodeid: str, group: str | None) -> None:
    assert group_of(suite, nodeid) == (group or nodeid)
