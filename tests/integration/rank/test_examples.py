"""The examples, as tasks of a local cluster: interrupted training ends with the same weights."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.local.nodes import LocalNode
from hai_scheduler.adapters.local.settings import LocalSettings
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.secret import Secret
from kit.waiting import until

#: Looked for and not imported: the import takes a second in each worker, and only the examples need it.
pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")
EXAMPLES = Path(__file__).parents[3] / "examples"
NODES = tuple(LocalNode(node=Node(name=f"node-{number}")) for number in (1, 2))


class Trainer:
    """Runs a task again and again."""

    def __init__(self, folder: Path, service) -> None:
        self._folder = folder
        self._service = service
        self._number = 0
        self.cluster = LocalCluster(LocalSettings(runs_dir=folder / "runs", nodes=NODES, api_url=service.url))

    async def run(self, *options: str, tell_at: str | None = None, profile: str = "sigterm"):
        """Do a run, with a notice when its log has `tell_at`; returns the ranks and the log of rank 0."""
        self._number += 1
        self._service._notice = None
        run_id = RunId(f"7.{self._number}")
        launch = LaunchOrder(
            run_id=run_id,
            task_id=TaskId(7),
            user="alice",
            nodes=("node-1", "node-2"),
            command=(sys.executable, str(EXAMPLES / "train_digits.py"), *options),
            cwd=str(self._folder),
            env={"HAI_CHECKPOINT_DIR": str(self._folder / "checkpoints"), "OMP_NUM_THREADS": "1"},
            profile=profile,
            token=Secret("x"),
        )
        await self.cluster.launch(launch)

        async def log() -> str:
            return (await self.cluster.read_log(run_id, 0, offset=0, limit=1 << 20)).data.decode()

        async def ranks() -> tuple[RankObservation, ...]:
            return next(run.ranks for run in await self.cluster.observe() if run.run_id == run_id)

        if tell_at is not None:
            await until(f"{tell_at!r} in the log", log, met=lambda text: tell_at in text)
            self._service.notify()
        seen = await until("every rank to be gone", ranks, met=lambda ranks: all(rank.state.gone for rank in ranks))
        return seen, await log()


def weights(text: str) -> str:
    (line,) = [line for line in text.splitlines() if "weights sha256" in line]
    return line.split()[-1]


async def test_weights_do_not_depend_on_interruptions(tmp_path: Path, service) -> None:
    trainer = Trainer(tmp_path, service)
    epochs = ("--epochs", "6")
    ranks, log = await trainer.run(*epochs, "--seconds-per-epoch", "1.0", tell_at="epoch 1/6")
    assert "saved at epoch" in log
    assert [rank.done for rank in ranks] == [True, True]
    assert {rank.exit_code for rank in ranks} <= {0, 143}
    assert ranks[0].checkpoint.step == ranks[1].checkpoint.step >= 22
    _, log = await trainer.run(*epochs)
    assert f"resumed at epoch {ranks[0].checkpoint.step // 22 + 1}" in log
    (tmp_path / "checkpoints" / "digits.npz").unlink()
    _, whole = await trainer.run(*epochs)
    assert weights(log) == weights(whole)
    await trainer.cluster.close()


def test_it_is_a_plain_script_too(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("HAI_")}
    command = [sys.executable, str(EXAMPLES / "train_digits.py"), "--epochs", "2"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True, timeout=240)
    assert "epoch 2/2 loss" in done.stdout
    assert len(weights(done.stdout)) == 64


def test_a_checkpoint_of_other_options_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "train_digits.py"), "--epochs", "1", "--save-every", "1"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=240, stdout=subprocess.DEVNULL)
    done = subprocess.run([*command, "--seed", "1"], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 1
    assert "choose another --checkpoint" in done.stderr
