"""The SDK in real trainings, which a rehearsal interrupts and starts again under the real supervisor."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "sdk"
PYTHON = (sys.executable,)
LOOP = str(ROOT / "examples/train_ddp.py")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2")


@dataclass
class Rehearsed:
    code: int
    facts: dict[str, Any]
    #: What the runs printed.
    text: str

    def step(self) -> int:
        """The step of the checkpoint that was saved on the notice."""
        return int(self.facts["first"]["saved"]["step"])


def without_a_run(home: Path) -> dict[str, str]:
    """The environment of a training that is outside of any run, with that home."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HAI_", "PET_", "SLURM_"))}
    path = os.pathsep.join([str(ROOT / "client"), *filter(None, [env.get("PYTHONPATH")])])
    return {**env, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HOME": str(home)}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return without_a_run(tmp_path)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The weights of an uninterrupted run of the loop."""
    place = tmp_path_factory.mktemp("undisturbed")
    done = subprocess.run(
        [*TORCHRUN, LOOP, "--steps", "400", "--checkpoints", "whole"],
        cwd=place, env=without_a_run(place), capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    return weights(done.stdout)


@pytest.fixture
def rehearse(tmp_path: Path, environ: dict[str, str]) -> Callable[..., Rehearsed]:
    def run(*command: str, when: str, then: str = "10m", profile: str = "cooperative") -> Rehearsed:
        options = ["--json", "--when", when, "--grace", "60", "--then", then, "--profile", profile]
        done = subprocess.run(
            [sys.executable, "-m", "hai_client", "rehearse", *options, "--", *command],
            cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
        assert done.stdout, done.stderr
        return Rehearsed(done.returncode, json.loads(done.stdout), done.stderr)

    return run


def weights(text: str) -> str:
    (found,) = re.findall(r"weights sha256 (\w+)", text)
    return str(found)


@pytest.mark.parametrize("profile", ["sigterm", "slurm"])
def test_a_loop_ends_with_the_weights_of_an_uninterrupted_run(rehearse, undisturbed: str, profile: str) -> None:
    done = rehearse(*TORCHRUN, LOOP, "--steps", "400", "--seconds-per-step", "0.04", when="step 50/", profile=profile)
    assert done.code == 0, done.text
    assert 0 < done.step() < 400
    assert f"run 2 | resumed at step {done.step()}\n" in done.text
    assert (done.facts["second"]["how"], done.facts["second"]["exit_code"]) == ("told", 0)
    assert weights(done.text) == undisturbed


def test_ranks_that_only_ask_leave_after_the_same_step(rehearse) -> None:
    done = rehearse(*TORCHRUN, str(SCRIPTS / "polls.py"), when="step 20", then="1s")
    left = re.findall(r"run 1 \| rank (\d) of 2 leaves after step (\d+)", done.text)
    assert sorted(rank for rank, _ in left) == ["0", "1"], done.text
    assert len({step for _, step in left}) == 1
    assert (done.facts["left"], done.step()) == ("saved", int(left[0][1]) + 1)


def test_code_that_asks_on_rank_0_alone_goes_on_as_before(rehearse) -> None:
    done = rehearse(*TORCHRUN, str(SCRIPTS / "polls.py"), "--only-first", when="step 20", then="1s")
    assert done.facts["left"] == "saved", done.text
    assert len(re.findall(r"run 1 \| rank \d of 2 leaves", done.text)) == 2


@pytest.mark.skipif(importlib.util.find_spec("lightning") is None, reason="lightning is not installed")
@pytest.mark.parametrize("devices", [1, 2])
def test_the_lightning_callback_saves_and_goes_on_at_the_step(rehearse, devices) -> None:
    start = TORCHRUN if devices == 2 else PYTHON
    # 16 batches an epoch, or 8 on each of two.
    epochs, steps = (12, 192) if devices == 1 else (24, 192)
    done = rehearse(*start, str(SCRIPTS / "lightning_train.py"), str(devices), str(epochs), when="batch 40")
    assert done.code == 0, done.text
    assert 0 < done.step() < steps
    assert (done.facts["second"]["how"], Path(done.facts["second"]["path"]).name) == ("read", "hai.ckpt")
    assert f"run 2 | ended at step {steps}" in done.text


@pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers is not installed")
def test_the_trainer_callback_saves_and_goes_on_at_the_step(rehearse) -> None:
    done = rehearse(*PYTHON, str(SCRIPTS / "transformers_train.py"), "300", when="batch 40")
    assert done.code == 0, done.text
    assert 0 < done.step() < 300
    assert f"checkpoint-{done.step()}/" in done.facts["second"]["path"]
    # The run that trains to the end also does the code after `train`.
    assert "run 1 | ended" not in done.text
    assert "run 2 | ended at step 300" in done.text
