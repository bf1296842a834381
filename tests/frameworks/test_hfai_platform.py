"""Scripts in the style of those for the original on the real platform: two nodes, one or two trainers on each.

An urgent task interrupts them in the middle. They save, leave and are resumed, and come to the weights of a training
of as many trainers without platform and interruption, to the last digit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.conftest import ROOT, Platform
from frameworks.drive import ENVIRONMENT, VENV, Driver
from frameworks.preloaded import Preloaded, preloaded
from kit.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.frameworks

SCRIPTS = Path(__file__).with_name("hfai_scripts")
#: Where the scripts hold until they are interrupted: in the middle of an epoch.
HOLD_AT = "1,2"
EPOCHS, STEPS = 3, 6
PYTHON_PATH = os.pathsep.join(str(ROOT / part) for part in ("client/hfai", "client"))


@pytest.fixture
def torch_platform(driver: Driver) -> Platform:
    """The platform of the suite, whose tasks may have PyTorch."""
    return driver.platform


@pytest.fixture(scope="module")
def outside(driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preloaded]:
    """Runs scripts without a platform, after `driver` has found the frameworks."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HAI_", "HFAI_"))}
    folder = tmp_path_factory.mktemp("printed")
    with preloaded(str(VENV / "bin" / "python"), env | {"PYTHONPATH": PYTHON_PATH}, folder) as process:
        yield process


def submit(platform: Platform, script: str, place: Path, *options: str) -> int:
    words = ["submit", "--nodes", "2", "--environment", ENVIRONMENT, "-e", f"PYTHONPATH={PYTHON_PATH}"]
    words += ["-e", f"SAVE_TO={place}", "-e", f"HOLD_UNTIL={place}/gate", *options]
    # As much time as it takes on a machine that is busy; who has said that it is done is ended at once.
    words += ["--grace", f"{PATIENCE:.0f}s", "--", "python", *str(SCRIPTS / script).split()]
    return int(platform.json(*words)["id"])


def log_of(platform: Platform, task: int, rank: int = 0) -> list[str]:
    return platform.hai("logs", str(task), "-r", str(rank)).stdout.splitlines()


def finish(platform: Platform, task: int) -> list[str]:
    """The log of a task that ends well."""
    over = ("succeeded", "failed", "stopped")
    shown = wait_for("the task to end", lambda: (s := platform.json("status", str(task)))["state"] in over and s)
    log = log_of(platform, task)
    assert shown["state"] == "succeeded", "\n".join([*log, *log_of(platform, task, 1)])
    return log


def weights_in(log: list[str]) -> str:
    found = [line for line in log if line.startswith("weights ")]
    assert len(found) == 1, log
    return found[0]


@pytest.mark.parametrize(
    ("script", "trainers", "saved", "resumed"),
    [
        ("try_save.py", 2, "latest.pt", r"hfai: resumed from .*/latest.pt at epoch 1, step 2"),
        ("by_hand.py", 1, "model.pt", r"resumed at 1,2"),
        ("agreed.py fsdp", 1, "latest.pt", r"resumed at 1,2"),
        ("agreed.py pipeline", 2, "latest.RANK001.pt", r"resumed at 1,2"),
    ],
)
def test_an_interrupted_training_comes_to_the_weights_of_an_undisturbed_one(
    torch_platform: Platform,
    outside: Preloaded,
    tmp_path: Path,
    script: str,
    trainers: int,
    saved: str,
    resumed: str,
) -> None:
    place = tmp_path / "cut"
    place.mkdir()
    task = submit(torch_platform, script, place, "-e", f"HOLD_AT={HOLD_AT}", "-e", f"TRAINERS={trainers}")
    wait_for("the training to hold", lambda: f"holding at {HOLD_AT}" in log_of(torch_platform, task))
    urgent = torch_platform.json(
        "submit", "--nodes", "4", "--priority", "VERY_HIGH", "--name", "urgent", "--", "true", user="dee"
    )["id"]
    wait_for("the notice", lambda: torch_platform.json("status", str(task))["runs"][0]["ranks"][0]["notified_at"])
    (place / "gate").touch()
    log = finish(torch_platform, task)
    assert torch_platform.json("status", str(urgent), user="dee")["state"] == "succeeded"

    first, second = torch_platform.json("status", str(task))["runs"]
    assert first["reason"] == "preempted"
    assert first["ended_at"] < first["notice"]["deadline"], "it left when it had saved, not when its time was over"
    # What the platform says of its saving is what it did.
    assert first["left"] == "saved"
    assert (place / saved).exists()
    assert [line for line in log if re.fullmatch(resumed, line)], log
    done = [line for line in log if line.startswith("step ")]
    everything = [f"step {epoch},{step}" for epoch in range(EPOCHS) for step in range(1, STEPS + 1)]
    # The step at whose end it left was done, and is not told of.
    assert done == [line for line in everything if line != f"step {HOLD_AT}"]
    assert [line for line in log if line == "after the training"] == (["after the training"] if "by" in script else [])
    file, *words = script.split()
    whole = outside.run(SCRIPTS / file, words, {"SAVE_TO": str(tmp_path / "whole"), "TRAINERS": str(2 * trainers)})
    assert whole.returncode == 0, whole.stderr
    assert weights_in(log) == weights_in(whole.stdout.splitlines())
    assert second["ended_at"]
