"""What is shown of a training under torchrun in which one process raises: its own words, not the launcher's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import Platform
from frameworks.drive import ENVIRONMENT, Driver
from kit.waiting import wait_for

pytestmark = pytest.mark.frameworks

SCRIPT = Path(__file__).with_name("scripts") / "ddp_fails.py"
#: What torchrun puts around the traceback of the process that failed.
WRAPPING = ("ChildFailedError", "torch/distributed/elastic", "Root Cause")


@pytest.fixture(scope="module")
def platform(driver: Driver) -> Platform:
    return driver.platform


@pytest.fixture(scope="module")
def failed(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The task, once it has failed."""
    folder = tmp_path_factory.mktemp("fails")
    shutil.copy(SCRIPT, folder)
    words = ["submit", "--name", "ddp-fails", "--environment", ENVIRONMENT, "--cwd", str(folder), "--"]
    task = platform.json(*words, "torchrun", "--nproc-per-node", "2", SCRIPT.name)
    ended = ("succeeded", "failed", "stopped")
    shown: dict[str, Any] = wait_for(
        "the task to end", lambda: (s := platform.json("status", str(task["id"])))["state"] in ended and s
    )
    assert shown["state"] == "failed"
    return shown


def test_the_failure_is_that_of_the_process_which_raised(failed: dict[str, Any]) -> None:
    failure = failed["failure"]
    lines = "\n".join(failure["lines"])
    assert "ValueError: shard 1 has no samples" in lines
    assert "Traceback (most recent call last):" in lines
    assert "load_shard" in lines
    assert not [word for word in WRAPPING if word in lines], lines
    assert failure["worker"] is not None


@pytest.mark.parametrize("verb", ["status", "logs"])
def test_the_user_is_shown_it(platform: Platform, failed: dict[str, Any], verb: str) -> None:
    shown = platform.hai(verb, str(failed["id"])).stdout
    _, _, why = shown.rpartition("failed first")
    assert "torchrun names" in why
    assert "ValueError: shard 1 has no samples" in why
    assert not [word for word in WRAPPING if word in why], why
